"""A decision rule of a user's own, as a configuration may name it."""

from dataclasses import dataclass

from colme.rules.decision import ThresholdRule
from colme.rules.release import Release


@dataclass(frozen=True)
class Within(ThresholdRule):
    """Means closer than this are alike, however noisy they are."""

    distance: float

    def threshold(self, mine: Release, theirs: Release) -> float:
        """The same for all."""
        return self.distance


WITHIN_TWO = Within(2.0)

NO_RULE = 3
