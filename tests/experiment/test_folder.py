"""An output folder belongs to one study: others are refused, and what is done is not done again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from colme.cli.app import BAD_INPUT, run
from colme.errors import ConfigError
from colme.report import curves
from colme.sim.figures import comparison, figure1
from colme.sim.results import load
from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation
from colme.studies.study import StudyExperiment

SMALL = "--agents 20 --degree 4 --algorithm oracle --rounds 20 --runs 4"
TINY = Scenario.build(
    agents=20,
    graph={"degree": 4},
    epsilon=4.0,
    rounds=20,
    runs=8,
    recorded=[10, 20],
    eventful=False,
    algorithms=[{"name": "relay", "algorithm": "relay", "measured": 4}],
)
DATA = "site,value\n" + "".join(
    f"{site},{(7 * i + site) % 10}\n" for site in range(6) for i in range(30)
)
STUDY = "--site site --value value --bounds 0,10 --epsilon 4 --samples 10 --runs 2"


def simulated(out: Path, *options: str) -> int:
    return run(["simulate", *SMALL.split(), "--out", str(out), *options])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with a result in it."""
    folder = tmp_path / "out"
    assert simulated(folder) == 0
    return folder


def no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on nothing can be computed."""
    monkeypatch.setattr(Simulation, "compute", None)
    monkeypatch.setattr(StudyExperiment, "compute", None)


def test_another_study_is_refused_with_the_fields_that_differ(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (out / "result.nc").read_bytes()
    assert simulated(out, "--seed", "7", "--epsilon", "2") == BAD_INPUT
    told = capsys.readouterr().err
    assert "epsilon [1.0] there, [2.0] here" in told
    assert "seed 1 there, 7 here" in told
    assert "--force" in told
    assert "rounds" not in told
    assert (out / "result.nc").read_bytes() == before


def test_where_much_differs_a_few_fields_are_named(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", "--out", str(out)]) == BAD_INPUT
    assert "more'" in capsys.readouterr().err


def test_with_force_the_other_goes_with_its_figures_and_its_batches(out: Path) -> None:
    assert run(["plot", str(out)]) == 0
    batches = out / "unfinished-0123"
    batches.mkdir()
    (batches / "0.part").touch()
    (out / "notes.txt").write_text("mine")
    assert simulated(out, "--seed", "7", "--force") == 0
    assert {path.name for path in out.iterdir()} == {"asked.json", "notes.txt", "result.nc"}
    assert load(out).attrs["seed"] == 7


def test_what_is_done_is_not_done_again_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert simulated(tmp_path) == 0
    first = capsys.readouterr().out
    with monkeypatch.context() as patch:
        no_more(patch)
        assert simulated(tmp_path) == 0
        again = capsys.readouterr().out
        assert simulated(tmp_path, "--json") == 0
        assert json.loads(capsys.readouterr().out)["attributes"]["seed"] == 1
    assert "Already done, nothing was computed again" in again
    assert again.splitlines()[:5] == first.splitlines()[:5]
    (tmp_path / "result.nc").write_bytes(b"no result")
    assert simulated(tmp_path, "--force") == 0
    assert "Saved" in capsys.readouterr().out
    assert load(tmp_path).attrs["seed"] == 1


def test_a_result_that_was_deleted_is_computed_again(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / "result.nc").unlink()
    assert simulated(out) == 0
    assert "Already done" not in capsys.readouterr().out
    assert (out / "result.nc").exists()


def test_a_result_of_which_nothing_is_known_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the versions before wrote them."""
    (tmp_path / "result.nc").write_text("whatever")
    assert simulated(tmp_path) == BAD_INPUT
    assert "result.nc" in capsys.readouterr().err
    assert (tmp_path / "result.nc").read_text() == "whatever"
    assert simulated(tmp_path, "--force") == 0
    assert load(tmp_path).attrs["seed"] == 1


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"asked": 3, "files": 4}'])
def test_a_damaged_note_is_another_studys(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "asked.json").write_text(content)
    assert simulated(tmp_path) == BAD_INPUT
    assert "--force" in capsys.readouterr().err


def test_a_note_can_not_make_it_remove_what_is_elsewhere(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "precious").touch()
    (out / "asked.json").write_text('{"asked": {"seed": 3}, "files": ["../precious"]}')
    assert simulated(out, "--force") == 0
    assert (tmp_path / "precious").exists()


def of_study(tmp_path: Path) -> list[str]:
    data = tmp_path / "data.csv"
    data.write_text(DATA)
    return ["study", str(data), *STUDY.split()]


def drawn(_figure: object, folder: Path, name: str) -> list[Path]:
    """In no time."""
    (folder / f"{name}.png").touch()
    return [folder / f"{name}.png"]


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "figure1": lambda _: ["reproduce", "figure1"],
    "comparison": lambda _: ["reproduce", "comparison"],
    "study": of_study,
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_knows_its_folder(
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paper = TINY.changed(
        agents=44,  # among 22, graphs of degree 20 are hard to find
        graph={"degree": [20, 5]},
        epsilon=[1.0, 2.0, 4.0, float("inf")],
        rounds=100,
        runs=2,
    )
    rules = ["oracle", "bernstein", "optimistic"]
    theorem = {"name": "theorem 1", "algorithm": "oracle", "alpha": "theorem"}
    free = {"recorded": None, "eventful": True}
    monkeypatch.setattr(
        figure1, "study", lambda _, seed: paper.changed(seed=seed, algorithms=rules, **free)
    )
    monkeypatch.setattr(
        figure1,
        "theorem_study",
        lambda _, seed: paper.changed(seed=seed, algorithms=[theorem], **free),
    )
    monkeypatch.setattr(
        comparison, "settings", lambda seed, **_: {"paper": TINY.changed(seed=seed)}
    )
    monkeypatch.setattr(curves, "save", drawn)
    out = tmp_path / "out"
    command = [*COMMANDS[name](tmp_path), "--out", str(out)]
    assert run(command) == 0
    assert "Saved" in capsys.readouterr().out.replace("\n", " ")
    with monkeypatch.context() as patch:
        no_more(patch)
        assert run(command) == 0
        assert "Already done" in capsys.readouterr().out
        assert run([*command, "--seed", "9"]) == BAD_INPUT
        assert "seed 1 there, 9 here" in capsys.readouterr().err
        assert simulated(out) == BAD_INPUT
        assert "command" in capsys.readouterr().err
    assert run([*command, "--seed", "9", "--force"]) == 0
    assert '"seed": 9' in (out / "asked.json").read_text()


def test_what_is_not_finished_is_not_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise ConfigError("study", "this", "another")

    with monkeypatch.context() as patch:
        patch.setattr(Simulation, "compute", failing)
        assert simulated(tmp_path) == BAD_INPUT
    capsys.readouterr()
    assert run(["plot", str(tmp_path)]) == BAD_INPUT
    told = capsys.readouterr().err
    assert "not finished" in told
    assert "once more" in told
    assert simulated(tmp_path) == 0
    assert run(["plot", str(tmp_path)]) == 0
