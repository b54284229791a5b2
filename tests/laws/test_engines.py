"""What every engine of the simulator must meet: those of the package, and a user's own."""

from collections.abc import Sequence
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest
import xarray as xr

from colme.algorithms import resolved
from colme.rules.decision import ThresholdRule
from colme.rules.release import Release
from colme.sim.engines import (
    MEASURED,
    Baseline,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    Record,
    Run,
    World,
    of_answers,
)
from colme.sim.prepare import Prepared
from colme.sim.scenario import NAMES, Scenario
from colme.sim.simulation import simulate

ROUNDS = 70
RUNS = 3


class Shrinking(ThresholdRule):
    """A rule that looks at the means: no table can hold it."""

    def threshold(self, mine: Release, theirs: Release) -> float:
        spread = sqrt(mine.variance + theirs.variance)
        return 0.5 * spread + 0.01 * abs(mine.mean * theirs.mean)


class Halfway:
    """A baseline of one's own: everyone answers half its mean."""

    def __init__(self, run: Run, *, part: float = 0.5) -> None:
        self._part = part

    def advance(self, first: int, data: Any, noise: Any, answers: Any) -> None:
        answers[:] = self._part * data

    def cost(self) -> Cost:
        return Cost(messages=0, payload=0, memory=2)

    def accepted(self) -> None:
        return None


_: type[Baseline] = Halfway


class Nowhere(Engine):
    """An engine of one's own: everyone answers 0."""

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: Any = None) -> None:
        super().__init__(world, entrants, prepared)
        self.rounds = 0

    def advance(self, chunk: Chunk) -> None:
        self.rounds = chunk.last
        if chunk.row is not None:
            truth = self.world.truth
            values = of_answers(np.zeros_like(truth), chunk.data[-1], truth, 0.05)
            for cell in self.record:
                self.note(cell, chunk.row, values)

    def cost(self, cell: Cell) -> Sequence[Cost]:
        return [Cost(messages=1, payload=8, memory=1)] * self.world.runs


EVERY: dict[str, object] = {
    **{name: name for name in NAMES if resolved(name) != "relay"},
    # Of an answer, a fit, one is enough.
    "relay": {"algorithm": "relay", "measured": 1},
    "relay, released": {"algorithm": "relay", "variance": "released", "measured": 1},
    "tracking, released": {"algorithm": "tracking", "variance": "released"},
    "a rule of one's own": {"algorithm": "paper", "rule": Shrinking()},
    "a baseline of one's own": {"algorithm": Halfway, "part": 0.25},
    "an engine of one's own": Nowhere,
}
each = pytest.mark.parametrize("algorithm", EVERY)


def scenario(algorithm: str, **changes: Any) -> Scenario:
    fields: dict[str, Any] = {
        "agents": 12,
        "graph": {"degree": 4},
        "epsilon": [4.0, float("inf")],
        "rounds": ROUNDS,
        "recorded": 6,
        "eventful": False,
        "runs": 32,
        "seed": 4,
        "algorithms": [EVERY[algorithm]],
    }
    return Scenario.build(**(fields | changes))


def recorded(study: Prepared, runs: int = RUNS, cuts: Sequence[int] = ()) -> dict[Cell, Record]:
    batch = study.batch(0, runs)
    start = 1
    for stop in (*cuts, ROUNDS):
        batch.advance(start, stop)
        start = stop + 1
    return {cell: one for engine in batch.engines for cell, one in engine.measured().items()}


def study_of(algorithm: str) -> Prepared:
    return Prepared(scenario(algorithm), 4)


@cache
def simulated(algorithm: str) -> xr.Dataset:
    """What others are held against: simulated once for all of them."""
    return simulate(scenario(algorithm), dtype=np.float32)


@each
def test_it_records_everything_that_is_measured_for_each_of_its_cells(algorithm: str) -> None:
    study = study_of(algorithm)
    record = recorded(study)
    assert set(study.cells) == record.keys()
    for measured in record.values():
        assert measured.keys() == MEASURED.keys()
        for name, values in measured.items():
            assert values.shape == (len(study.recorded), RUNS), name
            everybody = name == "alone" and np.isnan(values).all()  # then the batch knows it
            assert everybody or np.isfinite(values).all(), name
            assert everybody or (values >= 0).all(), name
        assert (measured["error"] > 0).all()
        assert (measured["memory"] > 0).all()
        assert (measured["local"] <= 12).all()
        assert (measured["missed"] <= measured["within"]).all()
        assert (measured["mixed_up"] <= measured["between"]).all()
        assert (measured["covered"] <= measured["intervals"]).all()


@each
def test_it_can_be_cut_anywhere(algorithm: str) -> None:
    whole, cut = (
        recorded(study_of(algorithm)),
        recorded(study_of(algorithm), cuts=(1, 2, 9, 10, 50)),
    )
    assert_same(whole, cut)


@each
def test_a_run_does_not_depend_on_those_beside_it(algorithm: str) -> None:
    few, many = recorded(study_of(algorithm), runs=2), recorded(study_of(algorithm), runs=RUNS)
    assert_same(few, {cell: {k: v[:, :2] for k, v in one.items()} for cell, one in many.items()})


@each
def test_it_sees_the_same_data_beside_others_as_alone(algorithm: str) -> None:
    others = [{"algorithm": "local", "name": "L"}, {"algorithm": "oracle", "name": "O"}]
    alone = simulated(algorithm)
    beside = simulate(scenario(algorithm, algorithms=[others[0], EVERY[algorithm], others[1]]))
    label = alone.algorithm.values
    assert alone.drop_attrs().equals(beside.drop_attrs().sel(algorithm=label))


@each
def test_it_starts_from_the_same_seed_and_no_other(algorithm: str) -> None:
    one = simulated(algorithm)
    assert one.identical(simulate(scenario(algorithm), dtype=np.float32))
    other = simulate(scenario(algorithm, seed=5))
    assert not np.array_equal(one.mse.values, other.mse.values)


@pytest.mark.slow
@each
def test_double_precision_tells_the_same(algorithm: str) -> None:
    """Where no decision flips by rounding, float32 is off by its rounding alone."""
    double = simulate(scenario(algorithm), dtype=np.float64)
    np.testing.assert_allclose(simulated(algorithm).mse, double.mse, rtol=0.02)


def assert_same(one: dict[Cell, Record], other: dict[Cell, Record]) -> None:
    assert one.keys() == other.keys()
    for cell in one:
        for name in MEASURED:
            np.testing.assert_array_equal(one[cell][name], other[cell][name], f"{cell} {name}")
