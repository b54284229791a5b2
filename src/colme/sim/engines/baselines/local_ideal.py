"""Local (Proposition 1) has its own samples alone; Ideal (Proposition 3) knows everything.

Both are exact means over groups of agents: over oneself, and over one's connected component of
one's own class. Ideal is a bound, not an algorithm.
"""

from typing import ClassVar, Literal

import numpy as np

from colme.graph import IntArray
from colme.sim.engines.baselines.base import (
    COUNT_BYTES,
    MEAN_BYTES,
    Baseline,
    BaselineTable,
    Run,
)
from colme.sim.engines.engine import Cost
from colme.sim.kernel.arrays import Array


class GroupMeans:
    """The exact mean over one's group; `groups` labels the agents."""

    def __init__(self, groups: IntArray) -> None:
        _, self._group, self._sizes = np.unique(groups, return_inverse=True, return_counts=True)
        self._order = np.argsort(self._group, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """See `Baseline`. All counts are equal, so this is the mean of the means."""
        # Column by column in double precision, also where the data are single.
        together = data[:, self._order].astype(np.float64)
        means = np.add.reduceat(together, self._starts, axis=1) / self._sizes
        answers[:] = means[:, self._group]

    def cost(self) -> Cost:
        """As if every agent sent its mean and count to every other one of its group."""
        others = float((self._sizes * (self._sizes - 1)).sum() / self._sizes.sum())
        return Cost(others, others * (MEAN_BYTES + COUNT_BYTES), 2 + 2 * others)

    def accepted(self) -> None:
        """Nobody decides anything."""
        return


class LocalTable(BaselineTable):
    """No options."""

    allows_paces: ClassVar[bool] = True
    """Each looks at its own samples alone."""
    allows_liars: ClassVar[bool] = True
    """Nobody is listened to."""

    algorithm: Literal["local"]

    def make(self, run: Run) -> Baseline:
        """Everyone is a group of its own."""
        return GroupMeans(np.arange(run.graph.agents))


class IdealTable(BaselineTable):
    """No options."""

    allows_liars: ClassVar[bool] = True
    """It knows who lies."""

    algorithm: Literal["ideal"]

    def make(self, run: Run) -> Baseline:
        """A group is a connected component of agents of one class."""
        return GroupMeans(run.graph.components(run.classes))
