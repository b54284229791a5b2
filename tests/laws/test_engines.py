"""What every engine of the simulator must meet: those of the package, and a user's own."""

from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest

from colme import testing
from colme.algorithms import resolved
from colme.rules.decision import ThresholdRule
from colme.rules.release import Release
from colme.sim.engines import (
    Baseline,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    Run,
    World,
    of_answers,
)
from colme.sim.scenario import NAMES
from colme.testing import ENGINE_LAWS, EngineTrial, check_engine


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
            values = of_answers(self.answer(chunk), chunk.data[-1], truth, 0.05)
            for cell in self.record:
                self.note(cell, chunk.row, values)

    def answer(self, chunk: Chunk) -> Any:
        return np.zeros_like(self.world.truth)

    def cost(self, cell: Cell) -> Sequence[Cost]:
        return [Cost(messages=1, payload=8, memory=1)] * self.world.runs


EVERY: dict[str, object] = {
    **{name: name for name in NAMES if resolved(name) != "relay"},
    # Of an answer, a fit, one is enough.
    "relay": {"algorithm": "relay", "measured": 1},
    "relay, released": {"algorithm": "relay", "variance": "released", "measured": 1},
    "a rule of one's own": {"algorithm": "paper", "rule": Shrinking()},
    "a baseline of one's own": {"algorithm": Halfway, "part": 0.25},
    "an engine of one's own": Nowhere,
}
SLOW = testing.double_precision_tells_the_same


@cache
def trial(algorithm: str) -> EngineTrial:
    """Kept, with what others are compared with: simulated once for all laws."""
    return EngineTrial(EVERY[algorithm])


@pytest.mark.parametrize(
    "law",
    [pytest.param(law, marks=pytest.mark.slow if law is SLOW else ()) for law in ENGINE_LAWS],
    ids=lambda law: law.__name__,
)
@pytest.mark.parametrize("algorithm", EVERY)
def test_every_engine_keeps_every_law(algorithm: str, law: Callable[[EngineTrial], None]) -> None:
    law(trial(algorithm))


class Silent(Nowhere):
    """It records nothing."""

    def note(self, cell: Cell, row: int, values: dict[str, Any]) -> None:
        pass


class Counting(Nowhere):
    """It answers with the number of chunks."""

    chunks = 0

    def advance(self, chunk: Chunk) -> None:
        self.chunks += 1
        super().advance(chunk)

    def answer(self, chunk: Chunk) -> Any:
        return np.full_like(self.world.truth, self.chunks)


class Crowded(Nowhere):
    """It answers with the number of runs."""

    def answer(self, chunk: Chunk) -> Any:
        return np.full_like(self.world.truth, self.world.runs)


class Restless(Nowhere):
    """Its answers come from a generator that nobody seeds anew."""

    generator = np.random.default_rng(1)

    def answer(self, chunk: Chunk) -> Any:
        return self.generator.normal(size=self.world.truth.shape)


BROKEN: dict[Callable[[EngineTrial], None], type[Engine]] = {
    testing.it_records_all_that_is_measured: Silent,
    testing.it_can_be_cut_anywhere: Counting,
    testing.a_run_does_not_depend_on_those_beside_it: Crowded,
    testing.it_sees_the_same_data_beside_others_as_alone: Restless,
    testing.it_depends_on_the_seed_and_nothing_else: Restless,
}


def test_every_law_can_be_broken_and_the_check_finds_it() -> None:
    assert {*BROKEN, SLOW} == set(ENGINE_LAWS)
    for law, engine in BROKEN.items():
        with pytest.raises(AssertionError):
            law(EngineTrial(engine))
    with pytest.raises(AssertionError):
        check_engine(Restless)
