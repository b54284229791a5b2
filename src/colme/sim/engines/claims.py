"""What liars claim of their releases, as a profile that others take for theirs."""

from dataclasses import dataclass, fields
from typing import Any

from colme.rules.release import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Overstated(Profile):
    """A profile whose releases are said to have more samples, or no variance at all.

    What goes with a claimed count, variance and parameter, is claimed with it. Both ends of an edge
    take the smaller count for the time of a test, so that the count itself is worth nothing.
    """

    times: float
    no_variance: bool

    def released_variance(self, count: int, blocks: int) -> float:
        """As claimed."""
        if self.no_variance:
            return 0.0 * count
        many: Any = (count * self.times, blocks * self.times)
        return Profile.released_variance(self, *many)

    def tight_parameter(self, count: int) -> float:
        """As claimed."""
        many: Any = count * self.times
        return Profile.tight_parameter(self, many)

    def released_parameter(self, count: int, blocks: int) -> float:
        """As claimed."""
        many: Any = count * self.times
        # The same object where there is a draw for every sample: counts may be arrays.
        draws: Any = many if blocks is count else blocks * self.times
        return Profile.released_parameter(self, many, draws)


@dataclass(frozen=True, slots=True)
class Claims:
    """What all liars of a scenario claim."""

    times: float
    no_variance: bool

    def of(self, profile: Profile) -> Profile:
        """A liar's profile, as the others hear of it."""
        own = {field.name: getattr(profile, field.name) for field in fields(Profile)}
        return Overstated(**own, times=self.times, no_variance=self.no_variance)
