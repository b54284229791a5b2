"""`colme reproduce figure3` and `harm`: what they write, and that they go on where they stopped."""

import json
import os
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from colme.cli import workers
from colme.cli.app import run
from colme.sim.figures import figure1, figure3, harm
from colme.sim.figures.readings import Gain, Harm, OfBeside
from colme.sim.scenario import Scenario
from colme.sim.study import load, on_cluster

RELAY = {"name": "relay", "algorithm": "relay", "measured": 6}
SMALL = Scenario.build(
    agents=20,
    graph={"degree": 4},
    epsilon=4.0,
    rounds=40,
    runs=8,
    recorded=[1, 10, 40],
    eventful=False,
    algorithms=[RELAY],
)
ROWS = [
    harm.Row(
        name="as it is",
        scenario=SMALL,
        readings=(Gain(t=10, bar=5.0, goal=1e-9), Harm(bar=1e-9, goal=1e-9)),
    ),
    harm.Row(
        name="against itself",
        scenario=SMALL.changed(seed=2),
        readings=(OfBeside(t=40, bar=1.1, goal=1.02),),
        beside=SMALL.changed(seed=2),
    ),
]


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(harm, "rows", lambda **_: iter(ROWS))
    return tmp_path / "harm"


@pytest.mark.slow
def test_where_nobody_says_who_computes_harm_is_the_same_from_processes(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(workers, "WORTH_PROCESSES", 1)
    started = []

    def noted(where: str) -> AbstractContextManager[Executor]:
        started.append(where)
        return on_cluster(where)

    monkeypatch.setattr(workers, "on_cluster", noted)
    assert run(["reproduce", "harm", "--out", str(out)]) == 0
    assert started == ["local:2"]
    assert run(["reproduce", "harm", "--out", str(tmp_path / "one"), "--threads", "1"]) == 0
    assert (out / "harm.json").read_bytes() == (tmp_path / "one" / "harm.json").read_bytes()
    assert len(started) == 1


def test_harm_is_a_table_for_people_and_for_programs(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "harm", "--out", str(out)]) == 0
    assert "2 of 3 pass" in capsys.readouterr().out
    lines = json.loads((out / "harm.json").read_text())
    assert [line["cell"] for line in lines] == ["as it is", "as it is", "against itself"]
    assert [(line["meets_bar"], line["meets_goal"]) for line in lines] == [
        (True, False),
        (False, False),
        (True, True),
    ]
    assert (lines[2]["value"], lines[2]["error"]) == (1.0, 0.0)
    table = (out / "harm.md").read_text().splitlines()
    assert table[0] == "| cell | what | measured | bar | goal | verdict |"
    assert [line.split(" | ")[-1] for line in table[2:]] == ["passes |", "fails |", "goal |"]


def test_a_cell_that_is_finished_is_not_computed_again(
    out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["reproduce", "harm", "--only", "against", "--out", str(out)]) == 0
    assert len(list((out / "cells").iterdir())) == 1
    assert run(["reproduce", "harm", "--force", "--out", str(out)]) == 0
    assert len(list((out / "cells").iterdir())) == 2
    first = (out / "harm.md").read_text()
    monkeypatch.setattr("colme.sim.study.simulate", None)  # nothing is left to do
    assert run(["reproduce", "harm", "--out", str(out)]) == 0
    assert (out / "harm.md").read_text() == first
    capsys.readouterr()


def test_no_such_cell(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "harm", "--only", "nothing", "--out", str(out)]) == 2
    assert "--only: saw 'nothing', expected a part of" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.slow
def test_figure3_writes_three_pages_and_their_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SMALL.changed(
        recorded=6, epsilon=[1.0, 4.0], algorithms=["paper", "tracking", {"algorithm": "relay"}]
    )
    monkeypatch.setattr(figure3, "study", lambda *_, **__: small)
    assert run(["reproduce", "figure3", "--quick", "--out", str(tmp_path)]) == 0
    assert "MSE / Local, 8 runs" in capsys.readouterr().out
    pictures = {f"figure3{page}.png" for page in ("", "-error", "-traffic")}
    assert pictures <= {path.name for path in tmp_path.iterdir()}
    assert load(tmp_path / "figure3.nc").algorithm.values.tolist() == ["paper", "tracking", "relay"]


def test_of_the_claims_only_those_that_fail_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [figure1.Claim("one", "0.5", True), figure1.Claim("other", "7", False)]
    monkeypatch.setattr(figure1, "study", lambda *_: SMALL)
    monkeypatch.setattr(figure1, "theorem_study", lambda *_: SMALL)
    monkeypatch.setattr(figure1, "claims", lambda *_: iter(claims))
    command = ["reproduce", "figure1", "--quick", "--out", str(tmp_path)]
    assert run(command) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("1 of 2 claims of Sec. V hold")
    assert second == "fails  other: 7"
    assert (tmp_path / "claims.txt").read_text() == "holds  one: 0.5\nfails  other: 7\n"
    assert run([*command, "--verbose"]) == 0
    assert "holds  one: 0.5" in capsys.readouterr().out
