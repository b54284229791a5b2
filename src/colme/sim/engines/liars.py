"""Agents that lie about their means: what they tell, and what they claim of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from colme.sim.engines.measure import FloatArray

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment:
    """All that a liar can go by in a round: [M, runs] each, relative to `centre`."""

    centre: float
    mean: FloatArray
    """Of its samples, exact."""
    truth: FloatArray
    sd: FloatArray
    """The standard deviation of a release, were it honest."""
    anything: Callable[[], FloatArray]
    """New values within everybody's bounds, uniformly at random."""


class Lie(Protocol):
    """What all liars of a scenario do."""

    def told(self, moment: Moment) -> FloatArray:
        """The mean that a liar tells, relative to the centre."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Liars:
    """The liars of a batch. `World.honest` says who is none; all else they do as honest agents do.

    They add no noise of their own: what they tell says nothing about their data.
    """

    lie: Lie
    count_times: float
    """They claim so many times the samples they have."""
    no_variance: bool
    """Whether they claim that their releases have none."""
    invented: int
    """Agents that do not exist, behind each."""
    centre: float
    """All means are relative to it."""
    lows: FloatArray
    """[M, runs]: the lower ends of everybody's bounds."""
    highs: FloatArray
    keys: NDArray[np.uint64]
    """[runs]: of what is random about lies."""

    def tell(self, t: int, mean: Any, truth: FloatArray, sd: Any) -> FloatArray:
        """What everybody would tell at round t, [M, runs]; look at the liars' alone.

        `sd` is the standard deviation of an honest release. The same t has the same answer, in
        whatever order it is asked for.
        """
        moment = Moment(
            centre=self.centre,
            mean=np.asarray(mean, dtype=np.float64),
            truth=truth,
            sd=np.broadcast_to(sd, truth.shape),
            anything=lambda: self.lows + (self.highs - self.lows) * self._units(t),
        )
        return np.asarray(self.lie.told(moment), dtype=np.float64)

    def _units(self, t: int) -> FloatArray:
        """Uniform on [0, 1): splitmix64 at place t M + a of each run's own sequence."""
        agents = len(self.lows)
        places = np.arange(t * agents, (t + 1) * agents, dtype=np.uint64)
        z = self.keys + _GOLDEN * places[:, None]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        return np.asarray((z >> np.uint64(11)) * 2.0**-53)
