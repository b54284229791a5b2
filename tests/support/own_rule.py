"""Decision rules of a user's own, as a configuration may name them."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

from colme.rules.decision import ThresholdRule
from colme.rules.release import Release


@dataclass(frozen=True)
class Within(ThresholdRule):
    """Means closer than this are alike, however noisy they are."""

    distance: float

    def threshold(self, mine: Release, theirs: Release) -> float:
        """The same for all."""
        return self.distance


@dataclass(frozen=True, slots=True)
class WithinErrors(ThresholdRule):
    """So many standard deviations of the difference apart."""

    errors: float = 3.0

    def threshold(self, mine: Release, theirs: Release) -> float:
        """By what both releases carry."""
        return self.errors * sqrt(mine.variance + theirs.variance)


def deciding_by(
    threshold: Callable[[Release, Release], Any], name: str = "Own", **methods: Any
) -> ThresholdRule:
    """A rule with this threshold, sound or not, and other methods if they are given."""
    by_name = {"threshold": lambda _, mine, theirs: threshold(mine, theirs), **methods}
    rule: ThresholdRule = type(name, (ThresholdRule,), by_name)()
    return rule


WITHIN_TWO = Within(2.0)

NO_RULE = 3
