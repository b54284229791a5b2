"""What agents have seen: the kernel's draws, moved along with the truth and thinned out by pace."""

import numpy as np

from colme.sim.engines import FloatArray, World
from colme.sim.kernel import Array, RunningMeans, zeros


class Samples:
    """The running means of samples that drift, or that do not come in every round.

    Every round's draws are made, whoever takes them: an agent's samples do not depend on the pace
    of the others.
    """

    def __init__(self, world: World, drawn: RunningMeans) -> None:
        self._world, self._drawn = world, drawn
        data = drawn.data
        self._seen = drawn._replace(
            data=zeros(data.shape, data.dtype), motion=zeros(drawn.motion.shape, data.dtype)
        )
        self._before: Array = np.zeros(data.shape[1:])
        """The drawn means of the round before."""
        self._mean: FloatArray = np.zeros(data.shape[1:])
        """Of the samples taken so far."""

    def take(self, first: int, last: int) -> RunningMeans:
        """Of the rounds first..last, which have just been drawn."""
        for t in range(first, last + 1):
            row = (t - 1) % len(self._drawn.data)
            drawn = self._drawn.data[row].astype(np.float64)
            # Taken apart in double precision, and only here: elsewhere the draws are as they were.
            sample = t * drawn - (t - 1) * self._before
            if self._world.course is not None:
                sample += self._world.course.at(t)
            self._before = drawn
            counts = self._world.counts(t)
            gain = (counts > self._world.counts(t - 1)) / counts
            mean = self._mean + gain[:, None] * (sample - self._mean)
            seen = mean.astype(self._seen.data.dtype)
            moved = np.abs(seen - self._mean.astype(seen.dtype))
            self._seen.data[row] = seen
            self._seen.motion[row, 0] = moved.max(axis=0)
            self._seen.motion[row, 1] = self._drawn.motion[row, 1]
            self._mean = mean
        return self._seen
