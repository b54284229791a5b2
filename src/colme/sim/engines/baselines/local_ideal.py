"""Local (Proposition 1) has its own samples alone; Ideal (Proposition 3) knows everything."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from colme.graph import IntArray
from colme.sim.engines.baselines.base import COUNT_BYTES, MEAN_BYTES, BaselineTable, Run
from colme.sim.engines.engine import (
    Cost,
)
from colme.sim.kernel import Array


class Local:
    """Each agent's estimate is the mean of its own samples."""

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """See `Baseline`."""
        answers[:] = data

    def cost(self) -> Cost:
        """Nothing is sent; a mean and its count are kept."""
        return Cost(messages=0, payload=0, memory=2)

    def accepted(self) -> None:
        """Nobody decides anything."""
        return


class LocalTable(BaselineTable):
    """No options."""

    algorithm: Literal["local"]

    @property
    def allows_paces(self) -> bool:
        """Each looks at its own samples alone."""
        return True

    @property
    def allows_liars(self) -> bool:
        """Nobody is listened to."""
        return True

    def make(self, run: Run) -> Local:
        """Nothing to know."""
        return Local()


class Ideal:
    """The exact mean over one's connected component of one's own class: a bound, not an algorithm.

    `components` labels the agents, equal within a component: `graph.components(classes)`.
    """

    def __init__(self, components: Sequence[int] | IntArray) -> None:
        _, self._component, self._sizes = np.unique(
            np.asarray(components), return_inverse=True, return_counts=True
        )
        self._order = np.argsort(self._component, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """See `Baseline`. All counts are equal, so this is the mean of the means."""
        # Column by column in double precision, also where the data are single.
        together = data[:, self._order].astype(np.float64)
        means = np.add.reduceat(together, self._starts, axis=1) / self._sizes
        answers[:] = means[:, self._component]

    def cost(self) -> Cost:
        """As if every agent sent its mean and count to every other one of its component."""
        others = float((self._sizes * (self._sizes - 1)).sum() / self._sizes.sum())
        return Cost(others, others * (MEAN_BYTES + COUNT_BYTES), 2 + 2 * others)

    def accepted(self) -> None:
        """Nobody decides anything."""
        return


class IdealTable(BaselineTable):
    """No options."""

    algorithm: Literal["ideal"]

    @property
    def allows_liars(self) -> bool:
        """It knows who lies."""
        return True

    def make(self, run: Run) -> Ideal:
        """It knows the truth."""
        return Ideal(run.graph.components(run.classes))
