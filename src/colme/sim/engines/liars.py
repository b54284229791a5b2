"""Dishonest agents: what they report instead of their means, and what they claim of it.

`Liars` are those of a batch. They do all else as honest agents do, and add no noise: what they
report says nothing about their data. In rounds (`paper.Reported`) a lie takes the place of a
running mean, and a claimed count or variance that of a profile (`OverstatedProfile`). In relay
both are in records, and each dishonest agent may invent others.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import inf
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from colme.config import Table
from colme.errors import ConfigError
from colme.rules.release import Profile

FloatArray = NDArray[np.float64]

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


class Lying(Table):
    """What all kinds share. Liars add no noise, and do all else as honest agents do."""

    share: float | None = Field(None, ge=0, le=1)
    """Of the agents; who they are is drawn anew for each run."""
    count: int | None = Field(None, ge=0)
    """How many they are, instead."""
    count_times: float = Field(1.0, ge=1, lt=inf)
    """They claim so many times the samples they have, and the precision that goes with it.

    The paper's rules look at that precision, and take the smaller count of two for the time of a
    test. Its weights know no precision.
    """
    no_variance: bool = False
    """They claim that their releases have none; in rounds that makes them harder to accept."""
    invented: int = Field(0, ge=0)
    """Agents that do not exist, behind each of them; they tell what it tells.

    They speak in relay alone: in rounds nobody listens to others than its neighbours.
    """

    @model_validator(mode="after")
    def _share_or_count(self) -> Self:
        if (self.share is None) == (self.count is None):
            raise ConfigError("share", self.share, "a share of the agents, or a count of them")
        return self

    @property
    def overstates(self) -> bool:
        """Whether they claim more samples, or less variance, than their releases have."""
        return self.count_times > 1 or self.no_variance

    def among(self, agents: int) -> int:
        """How many of so many agents lie."""
        if self.count is not None:
            return self.count
        assert self.share is not None
        return round(self.share * agents)

    def overstated(self, profile: Profile) -> Profile:
        """Return a dishonest agent's profile as it reports it."""
        own = {field.name: getattr(profile, field.name) for field in fields(Profile)}
        return OverstatedProfile(**own, times=self.count_times, no_variance=self.no_variance)

    def told(self, moment: Moment) -> FloatArray:
        """Return the reported means, relative to the centre."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Liars:
    """The dishonest agents of a batch; `World.honest` says which agents are not among them."""

    lie: Lying
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
