"""What every baseline offers the simulator."""

from dataclasses import dataclass
from math import sqrt
from typing import Final, Protocol

from colme.graph import Graph, IntArray
from colme.rules.release import Profile
from colme.sim.engines.engine import Cost
from colme.sim.engines.measure import Array

MEAN_BYTES: Final = 8
COUNT_BYTES: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What a baseline is made for: one run at one epsilon."""

    graph: Graph
    classes: IntArray
    """The truth. Only those that are told it in their papers look at it."""
    profile: Profile
    """One for all, as their papers have it: with the largest variance of any class."""

    @property
    def sigma(self) -> float:
        """The standard deviation of a sample."""
        return sqrt(self.profile.sigma2)


class Baseline(Protocol):
    """An algorithm that continues from one chunk of rounds to the next."""

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """Run the rounds first, first + 1, ...: one row each, one column per agent.

        `data` and `noise` are running means, of an agent's samples and of its Laplace(0, 1) draws;
        every agent has one sample per round. Every agent's estimates go into `answers`.
        """
        ...

    def cost(self) -> Cost:
        """What the latest round cost; before any round, what the first one will."""
        ...

    def accepted(self) -> Array | None:
        """Who keeps whom: per edge of the graph, or as a matrix (row: who decides), or None."""
        ...
