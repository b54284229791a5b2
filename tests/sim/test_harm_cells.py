"""The cells of `colme reproduce harm`: what the table asks for is there, and can be read."""

import pytest

from colme.sim.figures import figure3, harm
from colme.sim.figures.harm import Row
from colme.sim.figures.readings import Gain, OfBeside, OfClassIdeal, Reading
from colme.sim.study import Study

CELLS = {row.name: row for row in harm.rows()}


def at(reading: Reading) -> int | None:
    """The round that it is read at, if there is one."""
    return reading.t if isinstance(reading, Gain | OfBeside | OfClassIdeal) else None


def test_every_cell_has_a_name_of_its_own() -> None:
    assert len(CELLS) == len(list(harm.rows()))


@pytest.mark.parametrize("row", CELLS.values(), ids=CELLS)
def test_what_a_cell_is_read_at_is_recorded(row: Row) -> None:
    assert isinstance(row.scenario.recorded, list)
    for reading in row.readings:
        assert at(reading) in {None, *row.scenario.recorded}
    if row.beside is not None:
        assert row.beside.changed(graph=row.scenario.graph) == row.scenario


def test_a_quick_look_is_at_a_few_cells_of_few_runs() -> None:
    quick = list(harm.rows(quick=True, seed=3))
    assert {row.name for row in quick} < CELLS.keys()
    assert {(row.scenario.runs, row.scenario.seed) for row in quick} == {(harm.QUICK_RUNS, 3)}


def test_figure3_records_at_most_eighty_rounds() -> None:
    study = Study(figure3.study(), 5)
    assert len(study.recorded) <= 80
    assert study.recorded[-1] == 30_000


def test_who_is_asked_on_a_graph_is_asked_on_the_complete_one() -> None:
    """A number would be others on each, where those who hold the same board answer, too."""
    pairs = [(row.scenario, row.beside) for row in harm.rows() if row.beside is not None]
    assert len(pairs) == 5
    for scenario, beside in pairs:
        asked, others = (one.algorithms[0].model_dump()["measured"] for one in (scenario, beside))
        assert isinstance(asked, list)
        assert asked == others
        assert len(asked) >= harm.ASKED
