"""`python -m research harm`: its cells, what it writes, and that it goes on where it stopped."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from colme.cli.app import run_app
from colme.sim.scenario import Scenario
from research import cells, harm
from research.__main__ import app
from research.cells import Row
from research.readings import (
    Coverage,
    Gain,
    Harm,
    Measured,
    OfBeside,
    OfClassIdeal,
    Reading,
    Verdict,
)

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
    cells.Row(
        name="as it is",
        scenario=SMALL,
        readings=(Gain(t=10, bar=5.0, goal=1e-9), Harm(bar=1e-9, goal=1e-9)),
    ),
    cells.Row(
        name="against itself",
        scenario=SMALL.changed(seed=2),
        readings=(OfBeside(t=40, bar=1.1, goal=1.02),),
        beside=SMALL.changed(seed=2),
    ),
]


def research(arguments: Sequence[str]) -> int:
    return run_app(app, arguments, "research")


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cells, "rows", lambda **_: iter(ROWS))
    return tmp_path / "harm"


def test_harm_is_a_table_for_people_and_for_programs(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert research(["harm", "--out", str(out)]) == 0
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
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert research(["harm", "--only", "against", "--out", str(out)]) == 0
    assert len(list((out / "cells").iterdir())) == 1
    assert research(["harm", "--out", str(out)]) == 0
    assert len(list((out / "cells").iterdir())) == 2
    first = (out / "harm.md").read_text()
    monkeypatch.setattr("colme.sim.simulation.Simulation.compute", None)  # nothing is left to do
    assert research(["harm", "--out", str(out)]) == 0
    assert (out / "harm.md").read_text() == first


def test_no_such_cell(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert research(["harm", "--only", "nothing", "--out", str(out)]) == 2
    assert "--only: saw 'nothing', expected a part of" in capsys.readouterr().err
    assert not out.exists()


def test_every_cell_has_its_estimate_and_its_bar_in_its_row() -> None:
    worst, coverage = Harm(bar=1.08, goal=1.02), Coverage(first=21, bar=0.9, goal=0.93)
    verdicts = [
        Verdict.of("kind", worst, Measured(0.9, 0.01, 0.02)),
        Verdict.of("kind", coverage, Measured(0.96, 0.01, 0.02)),
        Verdict.of("unkind", worst, Measured(1.3, 0.1, 0.2)),
        Verdict.of("neither", Gain(t=30, bar=1.0, goal=0.5), Measured(0.7, 0.1, 0.2)),
    ]
    assert [one.word for one in verdicts] == ["goal", "goal", "fails", "passes"]
    figure = harm.worst_and_least(verdicts)
    assert figure is not None
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["kind", "unkind"]
    points = [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))  # type: ignore[index, arg-type]
        for line in left.lines
        if line.get_marker() in ("o", "|") and len(line.get_xdata()) == 1  # type: ignore[arg-type]
    ]
    assert {(0.9, 0.0), (1.3, 1.0), (1.08, 0.0), (1.08, 1.0)} <= set(points)
    assert any(line.get_xdata()[0] == 0.96 for line in right.lines)  # type: ignore[index]


def test_where_there_is_nothing_to_draw_there_is_no_picture() -> None:
    verdict = Verdict.of("neither", Gain(t=30, bar=1.0, goal=0.5), Measured(0.7, 0.1, 0.2))
    assert harm.worst_and_least([verdict]) is None


CELLS = {row.name: row for row in cells.rows()}


def at(reading: Reading) -> int | None:
    """The round that it is read at, if there is one."""
    return reading.t if isinstance(reading, Gain | OfBeside | OfClassIdeal) else None


def test_every_cell_has_a_name_of_its_own() -> None:
    assert len(CELLS) == len(list(cells.rows()))


@pytest.mark.parametrize("row", CELLS.values(), ids=CELLS)
def test_what_a_cell_is_read_at_is_recorded(row: Row) -> None:
    assert isinstance(row.scenario.recorded, list)
    for reading in row.readings:
        assert at(reading) in {None, *row.scenario.recorded}
    if row.beside is not None:
        assert row.beside.changed(graph=row.scenario.graph) == row.scenario


def test_a_quick_look_is_at_a_few_cells_of_few_runs() -> None:
    quick = list(cells.rows(quick=True, seed=3))
    assert {row.name for row in quick} < CELLS.keys()
    assert {(row.scenario.runs, row.scenario.seed) for row in quick} == {(cells.QUICK_RUNS, 3)}


def test_who_is_asked_on_a_graph_is_asked_on_the_complete_one() -> None:
    """A number would be others on each, where those who hold the same board answer, too."""
    pairs = [(row.scenario, row.beside) for row in cells.rows() if row.beside is not None]
    assert len(pairs) == 5
    for scenario, beside in pairs:
        asked, others = (one.algorithms[0].model_dump()["measured"] for one in (scenario, beside))
        assert isinstance(asked, list)
        assert asked == others
        assert len(asked) >= cells.ASKED
