"""Decision rules as tables over rounds: what the kernel compares distances with."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from colme.rules.decision import ThresholdRule
from colme.rules.release import Profile, Release
from colme.sim.engines.measure import Array, FloatArray


class LooksAtMeans(Exception):  # noqa: N818 (it says what the rule does)
    """A threshold that depends on the released means: no table over rounds can hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unseen:
    """A release of which only what is public beforehand may be looked at."""

    count: int
    variance: float
    beta: float

    @property
    def mean(self) -> float:
        raise LooksAtMeans


def table(rule: ThresholdRule, mine: Profile, theirs: Profile, rounds: int) -> FloatArray:
    """z(1), z(2), ...: the rule's threshold for a pair that has one sample a round, by round."""
    return np.array([_threshold(rule, mine, theirs, t) for t in range(1, rounds + 1)])


def _threshold(rule: ThresholdRule, mine: Profile, theirs: Profile, t: int) -> float:
    one = _release(rule, mine, t)
    return rule.threshold(one, one if theirs is mine else _release(rule, theirs, t))


def _release(rule: ThresholdRule, profile: Profile, t: int) -> Release:
    facts: Any = _Unseen(
        count=t,
        variance=profile.released_variance(t, t),
        beta=rule.parameter(profile, t, t),
    )
    return cast(Release, facts)  # all of a release but its mean


class Pairs:
    """The tables of all pairs of different profiles: a row for each pair of kinds."""

    def __init__(self, profiles: list[Profile]) -> None:
        self._kinds = list(dict.fromkeys(profiles))
        number = {profile: kind for kind, profile in enumerate(self._kinds)}
        self._kind_of = np.array([number[profile] for profile in profiles])

    def tables(self, rule: ThresholdRule, rounds: int) -> FloatArray:
        """[rows, rounds]. Rules are symmetric, so the two orders of a pair are one row."""
        return np.array(
            [
                table(rule, mine, theirs, rounds)
                for place, mine in enumerate(self._kinds)
                for theirs in self._kinds[place:]
            ]
        )

    def rows(self, a: Array, b: Array) -> Array:
        """The row for each edge between the agents a and b."""
        kinds = len(self._kinds)
        low = np.minimum(self._kind_of[a], self._kind_of[b])
        high = np.maximum(self._kind_of[a], self._kind_of[b])
        rows: Array = low * kinds - low * (low - 1) // 2 + high - low
        return rows.astype(np.int32)
