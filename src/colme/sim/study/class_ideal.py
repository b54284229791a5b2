"""The Ideal of a whole class: all its exact means together, wherever they are on the graph."""

import numpy as np

from colme.sim.engines import FloatArray, World
from colme.sim.kernel import Array


class ClassIdeal:
    """What agents would answer that knew everybody's class and everybody's exact mean.

    A class has the agents that began with the same mean. Liars are in none.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        agents, runs = world.honest.shape
        # A number for each class of each run.
        self._group = world.in_runs(world.mean_groups) + agents * np.arange(runs)
        self._size = agents * runs

    def errors(self, t: int, means: Array) -> FloatArray:
        """[runs]: their squared errors in round t, summed over agents; `means` is [M, runs]."""
        world = self._world
        weights = world.counts(t)[:, None] * world.honest
        total, weight = (
            np.bincount(self._group.ravel(), values.ravel(), self._size)
            for values in (weights * means.astype(np.float64), weights)
        )
        together = total / np.maximum(weight, 1.0)  # A class of liars alone is not looked at.
        deviation = together[self._group] - world.truth_at(t)
        return np.asarray((deviation**2 * world.honest).sum(axis=0))
