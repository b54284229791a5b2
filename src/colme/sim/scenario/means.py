"""The true means: where they begin, and how they move while they are learned.

Means are of a few classes, or of everybody its own, drawn anew for each run. A drift is a table for
each kind, with the options that it has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.random import Generator
from pydantic import BeforeValidator, Field

from colme.config import KindBy, Table
from colme.experiment.streams import RandomStream, generator
from colme.graph import IntArray
from colme.sim.engines import Course, FloatArray

CUT = 4.0
"""Spreads from the centre at which a normal population ends, so that bounds can hold it."""


AFTER = (0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
"""Rounds from a jump on that are recorded."""

BLOCK: Final = 64
"""Rounds of a walk that are drawn at a time."""


class DrawnMeans(Table):
    """A population in which no two agents have the same mean."""

    spread: float = Field(0.1, gt=0, lt=inf)
    """The standard deviation of the means."""
    centre: float = Field(0.5, gt=-inf, lt=inf)
    """Their average."""

    @property
    def reach(self) -> float:
        """How far from the centre a mean can be."""
        raise NotImplementedError

    def draw(self, agents: int, generator: Generator) -> FloatArray:
        """Everybody's."""
        raise NotImplementedError


class UniformMeans(DrawnMeans):
    """Evenly spread."""

    distribution: Literal["uniform"]

    @property
    def reach(self) -> float:
        """Half the width of the distribution."""
        return self.spread * 3**0.5

    def draw(self, agents: int, generator: Generator) -> FloatArray:
        """Uniform around the centre."""
        return self.centre + generator.uniform(-self.reach, self.reach, agents)


class NormalMeans(DrawnMeans):
    """Normal, cut at `CUT` spreads."""

    distribution: Literal["normal"]

    @property
    def reach(self) -> float:
        """Where it is cut."""
        return CUT * self.spread

    def draw(self, agents: int, generator: Generator) -> FloatArray:
        """Who would be beyond the cut is at it."""
        deviations = generator.normal(0, self.spread, agents)
        return self.centre + deviations.clip(-self.reach, self.reach)


_KINDS = {"uniform": UniformMeans, "normal": NormalMeans}


def _drawn(value: Any) -> Any:
    return KindBy("distribution").pick(_KINDS, value) if isinstance(value, Mapping) else value


Means = Annotated[
    Annotated[list[float], Field(min_length=1)] | UniformMeans | NormalMeans,
    BeforeValidator(_drawn),
]
"""A list, one for each class; or a distribution."""


class Drift(Table):
    """What all kinds offer."""

    def course(self, means: FloatArray, alike: IntArray, seed: int, runs: Sequence[int]) -> Course:
        """Of agents with these means, [M, lanes], of which those that are `alike` are a class."""
        raise NotImplementedError

    def eventful(self, rounds: int) -> IntArray:
        """The rounds in which something happens, of so many."""
        return np.zeros(0, np.int64)


class Jump(Drift):
    """Some agents, drawn anew for each run, move once: from round `at` on their samples do."""

    kind: Literal["jump"] = "jump"
    at: int = Field(ge=1)
    """The round."""
    share: float = Field(1.0, gt=0, le=1)
    """Of the agents that move."""
    by: float | None = Field(None, gt=-inf, lt=inf)
    """How far; if it is not given, each to the mean of another class, drawn at random."""

    def course(self, means: FloatArray, alike: IntArray, seed: int, runs: Sequence[int]) -> Course:
        """Drawn before the first round."""
        by = np.zeros(means.shape)
        for lane, run in enumerate(runs):
            lots = generator(seed, RandomStream.JUMP, run)
            agents = len(means)
            movers = lots.choice(agents, round(self.share * agents), replace=False)
            moved = self.by if self.by is not None else _elsewhere(means[:, lane], lots)
            by[movers, lane] = np.broadcast_to(moved, agents)[movers]
        return _Jumped(self.at, by)

    def eventful(self, rounds: int) -> IntArray:
        """The last one before, the jump's own, the next, and some more."""
        around = np.array([self.at - 1, *(self.at + after for after in AFTER)])
        return around[(around >= 1) & (around <= rounds)]


class Walk(Drift):
    """A Gaussian step a round, from the second on: every agent its own, or every class."""

    kind: Literal["walk"]
    step: float = Field(gt=0, lt=inf)
    """The standard deviation of a step."""
    of: Literal["agents", "classes"] = "agents"
    """Who takes steps of its own."""

    def course(self, means: FloatArray, alike: IntArray, seed: int, runs: Sequence[int]) -> Course:
        """Drawn as far as it is asked for."""
        agents = len(means)
        alone = np.broadcast_to(np.arange(agents)[:, None], means.shape)

        def steps(block: int) -> FloatArray:
            return np.stack(
                [
                    generator(seed, RandomStream.WALK, run, block).normal(
                        scale=self.step, size=(BLOCK, agents)
                    )
                    for run in runs
                ],
                axis=-1,
            )

        return _Walked(steps, alike if self.of == "classes" else alone)


AnyDrift = Annotated[Jump | Walk, KindBy("kind", default="jump")]
"""One of them, by its name."""


def _elsewhere(means: FloatArray, generator: Generator) -> FloatArray:
    """How far it is for everybody to the mean of another class; nowhere if there is none."""
    places, own = np.unique(means, return_inverse=True)
    if len(places) == 1:
        return np.zeros_like(means)
    others = generator.integers(len(places) - 1, size=len(means))
    return np.asarray(places[others + (others >= own)] - means)


@dataclass(frozen=True, slots=True, eq=False)
class _Jumped:
    """Means that move once, in round `round`, by so much: [M, lanes]."""

    round: int
    by: FloatArray

    def at(self, t: int) -> FloatArray:
        """See `Course`."""
        return self.by if t >= self.round else np.zeros_like(self.by)


class _Walked:
    """Means that take a random step a round, from the second on.

    `steps(block)` are those of rounds BLOCK * block + 1, ...: [BLOCK, walkers, lanes]; `walker`,
    [M, lanes], says which of them an agent takes. Any round can be asked for.
    """

    def __init__(self, steps: Callable[[int], FloatArray], walker: IntArray) -> None:
        self._steps, self._walker = steps, walker
        self._starts = [np.zeros(())]
        """Where the walkers are before each block, as far as they have been followed."""
        self._block, self._path = -1, np.zeros((0, 0, 0))

    def at(self, t: int) -> FloatArray:
        """See `Course`: the sum of all steps so far."""
        block, row = divmod(t - 1, BLOCK)
        if block != self._block:
            for known in range(min(len(self._starts) - 1, block), block + 1):
                self._follow(known)
        return np.take_along_axis(self._path[row], self._walker, axis=0)

    def _follow(self, block: int) -> None:
        steps = self._steps(block)
        if block == 0:
            steps[0] = 0.0  # The first round is where they begin.
        self._path = self._starts[block] + np.cumsum(steps, axis=0)
        self._block = block
        if block == len(self._starts) - 1:
            self._starts.append(self._path[-1])
