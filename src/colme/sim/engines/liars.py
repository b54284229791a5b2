"""Dishonest agents: what they report instead of their means, and what they claim of it.

`Liars` are those of a batch. They do all else as honest agents do, and add no noise: what they
report says nothing about their data. In rounds (`Reported`) a lie takes the place of a running
mean, and a claimed count or variance that of a profile (`Claims`). In relay (`LyingRecords`) both
are in records, and each dishonest agent may invent others.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from colme.graph import IntArray
from colme.rules.release import Profile
from colme.sim.kernel import Array, RunningMeans, zeros

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverstatedProfile(Profile):
    """A profile whose releases are claimed to have more samples, or no variance at all.

    Variance and parameter are those of the claimed count. Both ends of an edge take the smaller
    count for the time of a test, so that the count itself is worth nothing.
    """

    times: float
    no_variance: bool

    def released_variance(self, count: int, blocks: int) -> float:
        """Variance of a release, as claimed."""
        if self.no_variance:
            return 0.0 * count
        many: Any = (count * self.times, blocks * self.times)
        return Profile.released_variance(self, *many)

    def tight_parameter(self, count: int) -> float:
        """Bernstein parameter of an exact mean, as claimed."""
        many: Any = count * self.times
        return Profile.tight_parameter(self, many)

    def released_parameter(self, count: int, blocks: int) -> float:
        """Bernstein parameter of a release, as claimed."""
        many: Any = count * self.times
        # The same object where there is a draw for every sample: counts may be arrays.
        draws: Any = many if blocks is count else blocks * self.times
        return Profile.released_parameter(self, many, draws)


@dataclass(frozen=True, slots=True)
class Claims:
    """What all dishonest agents of a scenario claim of their releases."""

    times: float
    """So many times the samples that they have."""
    no_variance: bool
    """Whether their releases have no variance."""

    def of(self, profile: Profile) -> Profile:
        """Return a dishonest agent's profile as it reports it."""
        own = {field.name: getattr(profile, field.name) for field in fields(Profile)}
        return OverstatedProfile(**own, times=self.times, no_variance=self.no_variance)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment:
    """All that a lie can depend on in a round: [M, runs] each, relative to `centre`."""

    centre: float
    mean: FloatArray
    """The exact mean of the agent's samples."""
    truth: FloatArray
    """The agent's true mean."""
    sd: FloatArray
    """The standard deviation of a release, were it honest."""
    anything: Callable[[], FloatArray]
    """Draws new values, uniform within each agent's bounds."""


class Lie(Protocol):
    """What all dishonest agents of a scenario report."""

    def told(self, moment: Moment) -> FloatArray:
        """Return the reported means, relative to the centre."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Liars:
    """The dishonest agents of a batch; `World.honest` says which agents are not among them."""

    lie: Lie
    count_times: float
    """They claim so many times the samples that they have."""
    no_variance: bool
    """Whether they claim that their releases have no variance."""
    invented: int
    """Agents that do not exist, behind each of them."""
    centre: float
    """Subtracted from all means."""
    lows: FloatArray
    """[M, runs]: the lower end of each agent's bounds."""
    highs: FloatArray
    """[M, runs]: the upper end."""
    keys: NDArray[np.uint64]
    """[runs]: the seeds of random lies."""

    def tell(self, t: int, mean: Any, truth: FloatArray, sd: Any) -> FloatArray:
        """[M, runs]: what each agent would report in round t, were it dishonest.

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


class Reported:
    """Running means as agents report them at one epsilon, with a noise draw for every sample.

    Those of dishonest agents are lies, and carry no noise.
    """

    def __init__(
        self,
        liars: Liars,
        honest: BoolArray,
        truth_at: Callable[[int], FloatArray],
        profiles: list[list[Profile]],
        stream: RunningMeans,
    ) -> None:
        """`profiles` are the agents' own, for each run; `stream` has the shapes."""
        self._liars, self._honest, self._truth_at = liars, honest, truth_at
        self._variance = np.array([[one.sigma2 + one.sigma2_dp for one in run] for run in profiles])
        data, motion = stream.data, stream.motion
        self._reported = stream._replace(
            data=zeros(data.shape, data.dtype),
            noise=zeros(data.shape, data.dtype),
            motion=zeros(motion.shape, motion.dtype),
        )
        self._before = np.zeros((2, *data.shape[1:]), data.dtype)

    def take(self, first: int, last: int, stream: RunningMeans) -> RunningMeans:
        """Return the rounds first..last, which the stream holds, as they are reported."""
        reported, runs = self._reported, self._honest.shape[1]
        for t in range(first, last + 1):
            row = (t - 1) % len(stream.data)
            data, noise = reported.data[row], reported.noise[row]
            data[:], noise[:] = stream.data[row], stream.noise[row]
            sd = np.sqrt(self._variance.T / t)
            lies = self._liars.tell(t, data[:, :runs], self._truth_at(t), sd)
            data[:, :runs] = np.where(self._honest, data[:, :runs], lies)
            noise[:, :runs] *= self._honest
            now = np.stack([data, noise])
            # How far any agent moved at most: rows are tested again by that.
            reported.motion[row] = np.abs(now - self._before).max(axis=1)
            self._before = now
        return reported


class LyingRecords:
    """What dishonest agents do to their records, in relay.

    Arrays have an entry for each record of a board, by the agents that published them (`origins`).
    """

    def __init__(
        self,
        liars: Liars,
        honest: BoolArray,
        truth_at: Callable[[int], FloatArray],
        origins: IntArray,
    ) -> None:
        self._liars, self._truth_at, self._origins = liars, truth_at, origins
        self._lying = ~honest[origins]

    def told(self, t: int, means: Array, sd: FloatArray) -> FloatArray:
        """[O, runs]: what they report instead of what they would have released in round t.

        `means` [M, runs] are all agents' exact ones, `sd` [O, runs] those of honest releases.
        """
        of_all = np.zeros(means.shape)
        of_all[self._origins] = sd
        told = self._liars.tell(t, means, self._truth_at(t), of_all)
        return np.asarray(told[self._origins])

    def lying(self, origin: int) -> BoolArray:
        """[runs]: in which of them an origin lies."""
        return np.asarray(self._lying[origin])

    def authors(self, origins: IntArray, lane: int) -> IntArray:
        """Add the agents that do not exist: their records say what their inventors' do."""
        return np.repeat(origins, 1 + self._liars.invented * self._lying[origins, lane])

    def counts(self, counts: IntArray, origins: IntArray, lane: int) -> IntArray:
        """Sample counts as they are claimed."""
        claimed = (counts * self._liars.count_times).astype(np.int64)
        return np.where(self._lying[origins, lane], claimed, counts)

    def variances(self, variances: FloatArray, origins: IntArray, lane: int) -> FloatArray:
        """Known variances as they are claimed."""
        none = self._lying[origins, lane] & self._liars.no_variance
        return np.where(none, 0.0, variances)

    def squares(
        self, squares: FloatArray, origins: IntArray, lane: int, flat: FloatArray
    ) -> FloatArray:
        """Mean squares as they are released; `flat` are those of data that do not vary."""
        none = self._lying[origins, lane] & self._liars.no_variance
        return np.where(none, flat, squares)
