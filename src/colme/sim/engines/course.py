"""Where the true means go: how far each is from where it began, round by round."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from colme.graph import IntArray
from colme.sim.engines.measure import FloatArray

BLOCK: Final = 64
"""Rounds of a walk that are drawn at a time."""


class Course(ABC):
    """A drift of the truth, in all lanes of a batch."""

    @abstractmethod
    def at(self, t: int) -> FloatArray:
        """[M, lanes]: how far everybody's mean has moved by round t."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jumped(Course):
    """Some move once, and stay."""

    round: int
    by: FloatArray
    """[M, lanes]"""

    def at(self, t: int) -> FloatArray:
        """Nothing, then all."""
        return self.by if t >= self.round else np.zeros_like(self.by)


class Walked(Course):
    """Everybody takes a random step a round, from the second on.

    `steps(block)` are those of rounds BLOCK * block + 1, ...: [BLOCK, walkers, lanes]; `walker`,
    [M, lanes], says which of them an agent is. Any round can be asked for.
    """

    def __init__(self, steps: Callable[[int], FloatArray], walker: IntArray) -> None:
        self._steps, self._walker = steps, walker
        self._starts = [np.zeros(())]
        """Where the walkers are before each block, as far as they have been followed."""
        self._block, self._path = -1, np.zeros((0, 0, 0))

    def at(self, t: int) -> FloatArray:
        """The sum of all steps so far."""
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
