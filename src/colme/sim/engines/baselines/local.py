"""Local (Proposition 1): every agent trusts its own samples alone."""

from typing import Literal

from colme.sim.engines.baselines.baseline import Run
from colme.sim.engines.baselines.contest import BaselineTable
from colme.sim.engines.engine import Cost
from colme.sim.engines.measure import Array


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
