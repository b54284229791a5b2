"""What liars do to records: means, claims and authors that are not true."""

import numpy as np

from colme.graph import IntArray
from colme.sim.engines.engine import World
from colme.sim.engines.liars import Liars
from colme.sim.engines.measure import Array, BoolArray, FloatArray


class Lies:
    """Of the liars among some origins. Arrays have an entry for each record of a board."""

    def __init__(self, world: World, liars: Liars, origins: IntArray) -> None:
        self._world, self._liars, self._origins = world, liars, origins
        self._lying = ~world.honest[origins]

    def told(self, t: int, means: Array, sd: FloatArray) -> FloatArray:
        """[O, runs]: what they say instead of what they would have released in round t.

        `means` [M, runs] are everybody's exact ones, `sd` [O, runs] those of honest releases.
        """
        everybodys = np.zeros(means.shape)
        everybodys[self._origins] = sd
        told = self._liars.tell(t, means, self._world.truth_at(t), everybodys)
        return np.asarray(told[self._origins])

    def lying(self, origin: int) -> BoolArray:
        """[runs]: in which of them an origin lies."""
        return np.asarray(self._lying[origin])

    def authors(self, origins: IntArray, lane: int) -> IntArray:
        """With those who do not exist: their records say what their inventors' do."""
        return np.repeat(origins, 1 + self._liars.invented * self._lying[origins, lane])

    def counts(self, counts: IntArray, origins: IntArray, lane: int) -> IntArray:
        """As they are claimed."""
        claimed = (counts * self._liars.count_times).astype(np.int64)
        return np.where(self._lying[origins, lane], claimed, counts)

    def variances(self, variances: FloatArray, origins: IntArray, lane: int) -> FloatArray:
        """As they are declared."""
        none = self._lying[origins, lane] & self._liars.no_variance
        return np.where(none, 0.0, variances)

    def squares(
        self, squares: FloatArray, origins: IntArray, lane: int, flat: FloatArray
    ) -> FloatArray:
        """As they are released; `flat` are those of data that do not vary."""
        none = self._lying[origins, lane] & self._liars.no_variance
        return np.where(none, flat, squares)
