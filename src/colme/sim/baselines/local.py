"""Local (Proposition 1): every agent trusts its own samples alone."""

from colme.sim.baselines.baseline import Array, Cost


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
