"""How the truth moves: a table for each kind of drift, with the options that it has."""

from collections.abc import Sequence
from math import inf
from typing import Annotated, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from colme.config import KindBy, Table
from colme.graph import IntArray
from colme.sim.engines import BLOCK, Course, FloatArray, Jumped, Walked

AFTER = (0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
"""Rounds from a jump on that are recorded."""

_JUMP, _WALK = 12, 13  # random streams; the others are in scenario.py


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
            generator = np.random.default_rng([seed, _JUMP, run])
            agents = len(means)
            movers = generator.choice(agents, round(self.share * agents), replace=False)
            moved = self.by if self.by is not None else _elsewhere(means[:, lane], generator)
            by[movers, lane] = np.broadcast_to(moved, agents)[movers]
        return Jumped(round=self.at, by=by)

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
                    np.random.default_rng([seed, _WALK, run, block]).normal(
                        scale=self.step, size=(BLOCK, agents)
                    )
                    for run in runs
                ],
                axis=-1,
            )

        return Walked(steps, alike if self.of == "classes" else alone)


AnyDrift = Annotated[Jump | Walk, KindBy("kind", default="jump")]
"""One of them, by its name."""


def _elsewhere(means: FloatArray, generator: Generator) -> FloatArray:
    """How far it is for everybody to the mean of another class; nowhere if there is none."""
    places, own = np.unique(means, return_inverse=True)
    if len(places) == 1:
        return np.zeros_like(means)
    others = generator.integers(len(places) - 1, size=len(means))
    return np.asarray(places[others + (others >= own)] - means)
