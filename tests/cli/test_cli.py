"""The command line: what it prints, and how it refuses."""

import json
import math
import re
from pathlib import Path

import pytest

from colme import __version__
from colme.cli.app import run


def test_plan_as_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "--agents 200 --degree 5 --means 0.2,0.4,0.8 --sigma 0.5 --epsilon 1"
    arguments += " --algorithm paper"
    assert run(["plan", *arguments.split(), "--seed", "1", "--json"]) == 0
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert printed.err == ""
    assert answer["local"] == pytest.approx(0.25)
    assert answer["ideal"] < answer["local"] < answer["theorem1"]
    assert answer["sigma2_dp"] == pytest.approx(6)
    assert answer["collaboration_pays"] is False
    assert answer["smallest_epsilon"] == pytest.approx(math.sqrt(6 / answer["corollary1_bound"]))
    (paper,) = answer["forecasts"]
    assert (paper["pays"], paper["pays_from"], paper["curve"][0]["ratio"]) == (False, None, None)


def test_classes_with_equal_means_are_one_class(capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for means in ("0.5", "0.5,0.5", "0.4,0.6"):
        run(["plan", "--means", means, "--json", "--algorithm", "paper"])
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["ideal"] == answers[1]["ideal"] < answers[2]["ideal"]


def test_where_nobody_can_meet_no_epsilon_makes_it_pay(capsys: pytest.CaptureFixture[str]) -> None:
    nobody = ["plan", "--degree", "0", "--algorithm", "paper"]
    assert run([*nobody, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["smallest_epsilon"] is None
    assert answer["collaboration_pays"] is False
    assert [one["pays_from"] for one in answer["forecasts"]] == [None]
    assert run(nobody) == 0
    printed = capsys.readouterr().out
    assert "No epsilon makes the paper's algorithm pay" in printed
    assert "No epsilon makes it pay, with 30,000 samples each." in printed


def test_plan_for_people_answers_the_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "--agents 20 --degree 5 --means 0.2,0.8 --epsilon 4 --samples 1000"
    assert run(["plan", *small.split(), "--out", str(tmp_path / "new")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "At epsilon = 4 relay pays from about" in printed
    assert "at 1,000 the expected error is 0." in printed
    assert "with 1,000 samples each." in printed
    assert "bounds twice as wide" in printed
    assert "half the agents" in printed
    assert "The paper's algorithm pays for every epsilon above" in printed
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "plan.png",
        "plan.svg",
        "plan.pdf",
    }


def test_the_demonstration_says_first_what_it_is_worth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    assert run(["demo", "--rounds", "40", "--epsilon", "4", "--out", str(out)]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    told = re.fullmatch(
        r"Together they are off by (\S+), alone by (\S+):.* (\S+) times as many samples\.", first
    )
    assert told is not None
    together, alone, times = map(float, told.groups())
    assert together < alone
    assert times == pytest.approx((alone / together) ** 2, rel=0.05)
    text = "\n".join(others)
    for words in ("Local:", "Ideal:", "epsilon = 4 (event level", "What to do next"):
        assert words in text
    assert {path.name for path in out.iterdir()} == {"demo.png", "demo.svg", "demo.pdf"}


SMALL = "--agents 20 --degree 4 --epsilon 2,inf --algorithm oracle,bernstein --rounds 50 --runs 8"


def test_simulate_as_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *SMALL.split(), "--seed", "3", "--json"]) == 0
    printed = capsys.readouterr()
    # Off a terminal a line every ten seconds, where it takes so long.
    assert all(line.startswith("simulating: ") for line in printed.err.splitlines())
    answer = json.loads(printed.out)
    assert answer["coordinates"]["epsilon"] == [2.0, "inf"]
    mse = answer["variables"]["mse"]
    assert mse["dimensions"] == ["algorithm", "epsilon", "degree", "t"]
    assert len(mse["values"][1][0][0]) == len(answer["coordinates"]["t"])
    assert answer["attributes"]["scenario"]["seed"] == 3


def test_simulate_saves_a_result_that_plot_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert run(["simulate", *SMALL.split(), "--out", str(out)]) == 0
    assert "MSE / Local" in capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {"asked.json", "result.nc"}
    assert run(["plot", str(out)]) == 0
    pictures = {"mse.png", "mse.svg", "mse.pdf"}
    assert {path.name for path in out.iterdir()} == {"asked.json", "result.nc"} | pictures


def test_flags_override_a_scenario_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text("agents = 20\nrounds = 30\nruns = 4\n[graph]\ndegree = 4\n")
    assert run(["simulate", str(path), "--rounds", "10", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["coordinates"]["t"][-1] == 10
    assert answer["attributes"]["runs"] == 4


@pytest.mark.parametrize("refused", ["simulate --degree 300", "demo --epsilon 0"])
def test_bad_input_leaves_nothing_behind(refused: str, tmp_path: Path) -> None:
    assert run([*refused.split(), "--out", str(tmp_path / "out")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_not_be_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run(["simulate", *SMALL.split(), "--out", str(tmp_path / "file" / "out")]) == 2
    assert "--out: saw" in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"colme {__version__}\n"
    assert run([]) == 0
    assert "plan" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("plan --epsilon 0", "epsilon: saw 0.0, expected greater than 0"),
        ("plan --epsilon nan", "epsilon: saw nan"),
        ("plan --sigma -1", "sigma: saw -1.0"),
        ("plan --degree 300", "degree: saw 300, expected 0 to agents - 1 = 199"),
        ("plan --agents 31 --degree 5", "31 agents x 5 is odd"),
        ("plan --bounds 3,1", "--bounds: saw '3,1', expected two numbers, the lower one first"),
        ("plan --means a,b", "--means: saw 'a,b'"),
        ("plan --agents many", "'--agents': expected a whole number"),
        ("plan --sigma wide", "'--sigma': expected a number"),
        ("plan --samples 1", "'--samples'"),
        ("plan --algorithm relais", "algorithm: saw 'relais', expected 'relay', perhaps"),
        ("demo --epsilon -1", "epsilon: saw -1.0"),
        ("simulate --epsilon 0 --json", "epsilon.0: saw 0.0, expected greater than 0"),
        ("simulate --algorithm magic --json", "algorithms.0.algorithm: saw 'magic'"),
        ("simulate --degree five --json", "--degree: saw 'five'"),
        ("simulate nowhere.toml --json", "scenario: saw 'nowhere.toml'"),
        (
            "plot nowhere",
            "result: saw 'nowhere', expected a result of colme simulate (no such file)",
        ),
        ("reproduce figure1", "'--out'"),
        ("nothing", "No such command 'nothing'"),
        ("plan --nothing", "No such option: --nothing"),
        # A slip, and a value given twice: before anything is run.
        ("simulate --rund 1", "--runs"),
        ("simulate --epsilon 4,4", "epsilon: saw [4"),
        ("simulate --degree 4,4", "degree: saw [4"),
        (
            "study nowhere.csv --site who --value hours --bounds 0,10 --epsilon 1 --json",
            "nowhere.csv",
        ),
        # What was retired names its successor, and what has moved its remedy.
        ("plan --algorithm tracking", "'relay'"),
        ("simulate --json --algorithm tracking", "'relay'"),
        ("fleet --algorithm tracking", "'relay'"),
        ("theory --json", "colme plan"),
        ("plot result --size=8x5", "colme.report.drawing"),
        ("reproduce harm --out x", "python -m research harm"),
        ("reproduce figure1 --verbose", "claims.txt"),
        ("bench --node --json", "python -m benchmarks"),
        ("compare --out x", "colme reproduce comparison"),
    ],
)
def test_bad_input_is_refused_in_one_line_with_exit_code_2(
    arguments: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("colme: ")
    assert printed.err.count("\n") == 1
    assert text in printed.err


def test_a_folder_of_something_else_is_named_with_what_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And never with the words of a library about its calls."""
    assert run(["plot", str(tmp_path)]) == 2
    assert "(there is no result.nc in it)" in capsys.readouterr().err
    (tmp_path / "figure1.nc").write_text("no NetCDF")
    assert run(["plot", str(tmp_path)]) == 2
    assert "(one of these in it: figure1.nc)" in capsys.readouterr().err
    assert run(["plot", str(tmp_path / "figure1.nc")]) == 2
    assert "(this is no NetCDF file, or can't be read)" in capsys.readouterr().err
