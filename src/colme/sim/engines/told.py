"""The running means as others are told them: those of liars are lies, and carry no noise."""

import numpy as np

from colme.sim.engines.engine import World
from colme.sim.engines.measure import Array, FloatArray
from colme.sim.kernel import RunningMeans, zeros


class Told:
    """What is told at the epsilon of this number, in a world with liars."""

    def __init__(self, world: World, level: int) -> None:
        assert world.liars is not None
        self._world, self._liars = world, world.liars
        profiles = world.profiles(level)
        self._sigma2 = np.array([[one.sigma2 for one in run] for run in profiles]).T
        self._sigma2_dp = np.array([[one.sigma2_dp for one in run] for run in profiles]).T

    def means(self, t: int, means: Array, draws: Array) -> FloatArray:
        """[M, runs]: `means`, but for the lies of round t.

        `draws`, [M], are how many a release of now would carry.
        """
        sd = np.sqrt((self._sigma2 + self._sigma2_dp * draws[:, None] / t) / t)
        lies = self._liars.tell(t, means, self._world.truth_at(t), sd)
        return np.where(self._world.honest, means, lies)


class ToldStream:
    """The same as the paper's kernel needs it: where every sample has a draw of its own."""

    def __init__(self, world: World, level: int, stream: RunningMeans) -> None:
        self._world, self._told = world, Told(world, level)
        data, motion = stream.data, stream.motion
        self._kept = stream._replace(
            data=zeros(data.shape, data.dtype),
            noise=zeros(data.shape, data.dtype),
            motion=zeros(motion.shape, motion.dtype),
        )
        self._before = np.zeros((2, *data.shape[1:]), data.dtype)

    def take(self, first: int, last: int, stream: RunningMeans) -> RunningMeans:
        """Of the rounds first..last, which the stream holds."""
        kept, runs = self._kept, self._world.runs
        for t in range(first, last + 1):
            row = (t - 1) % len(stream.data)
            data, noise = kept.data[row], kept.noise[row]
            data[:], noise[:] = stream.data[row], stream.noise[row]
            draws = np.full(len(data), t)
            data[:, :runs] = self._told.means(t, data[:, :runs], draws)
            noise[:, :runs] *= self._world.honest
            now = np.stack([data, noise])
            # How far anybody moved at most: rows are tested again by that.
            kept.motion[row] = np.abs(now - self._before).max(axis=1)
            self._before = now
        return kept
