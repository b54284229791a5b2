"""An agent's own data: taken in, released in blocks, and known exactly to the owner alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from colme.protocol.stream import Stream
from colme.rules.decision import DecisionRule
from colme.rules.release import Profile, Release, ReleaseSchedule
from colme.rules.weighing import WeighedBlocks, blend

QUANTILE = 1.959963984540054
"""Of the standard Gaussian distribution, at 97.5%: means of many samples are nearly Gaussian."""

DECLARED_WORTH = 2.0
"""Of a declared variance, in samples of which the variance is known to 100% at worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How far an agent's data have come. Counts are public."""

    taken: int
    """Samples taken in."""
    released: int
    """Samples that a release covers."""
    blocks: int
    """Blocks noised so far, each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A released mean of weighed blocks, and what tells how precise it is."""

    incarnation: int
    blocks: int
    count: int
    past_count: int
    past_draws: int
    mean: float
    variance: float | None
    """As it was declared with this release, where squares are not released."""
    square: float | None
    """The released mean of squares about the midpoint, where they are."""


class OwnData:
    """The samples of one agent, how they are released, and what of it is public."""

    def __init__(self, profile: Profile, schedule: ReleaseSchedule, *, squares: bool) -> None:
        self.profile = profile
        self.schedule = schedule
        self.squares = squares
        """Whether noisy sums of squares are released too, and the variance follows from them."""
        self.stream = Stream()

    def observe(self, value: float) -> None:
        """Take in a sample."""
        self.stream.observe(value, self.profile, self.schedule)

    @property
    def mean(self) -> float:
        """X-bar: exact, for the owner alone, and never sent."""
        lo, hi = self.profile.bounds
        # All samples lie within the bounds, but a rounded sum of them may not.
        return min(max(self.stream.total / self.stream.count, lo), hi)

    @property
    def scales(self) -> tuple[float, ...]:
        """Of the discrete Laplace draws for one block: its sum's and, with squares, theirs."""
        one = (self.profile.lattice_scale, self.profile.square_lattice_scale)
        return one if self.squares else one[:1]

    @property
    def draws_due(self) -> tuple[float, ...]:
        """The scales of the draws that the next `publish` must bring, in order."""
        return self.scales * self.stream.blocks_due

    def publish(self, noise: Sequence[int]) -> None:
        """Release all closed blocks, each with its own draws."""
        is_new = self.stream.blocks_due > 0
        self.stream.publish(noise, self.schedule, squares=self.squares)
        if is_new:
            self.stream.declared = self.profile.sigma2

    @property
    def counts(self) -> Counts:
        """Of samples and blocks."""
        stream = self.stream
        return Counts(taken=stream.count, released=stream.released_count, blocks=stream.blocks)

    def release(self, rule: DecisionRule) -> Release | None:
        """The released mean with all that a rule needs of it; None before the first."""
        stream, profile = self.stream, self.profile
        n = stream.released_count
        if n == 0:
            return None
        return Release(
            count=n,
            mean=stream.released_mean(profile, n),
            variance=profile.released_variance(n, stream.blocks),
            beta=rule.parameter(profile, n, stream.blocks),
        )

    def weighed(self) -> Weighed | None:
        """The released mean where blocks are weighed, as all may see it; None before the first."""
        stream, profile = self.stream, self.profile
        if stream.blocks == 0 or stream.blocks < stream.past_draws:
            return None  # Nothing yet, or some of the first block still waits for its noise.
        assert isinstance(self.schedule, WeighedBlocks)
        made_of = blend(self.schedule, stream.released_count, stream.past_count, stream.past_draws)
        square = stream.released_square(profile, made_of.square_weight) if self.squares else None
        return Weighed(
            incarnation=stream.incarnation,
            blocks=stream.blocks,
            count=stream.released_count,
            past_count=stream.past_count,
            past_draws=stream.past_draws,
            mean=stream.released_mean(profile, made_of.weight),
            variance=None if self.squares else stream.declared,
            square=square,
        )

    @property
    def believed_variance(self) -> float:
        """Variance of a sample, for the owner's answer alone: exact sums are in it, never sent.

        A declared variance is not taken at its word.
        """
        exact = self.stream.exact_variance(self.profile)
        if self.squares:
            return exact
        profile = self.profile
        return believed_variance(profile.sigma2, exact, self.stream.count, profile.half_range)

    @property
    def margin(self) -> float:
        """Half-width of the 95% interval of the exact mean, by the known variance."""
        return QUANTILE * sqrt(self.profile.sigma2 / self.stream.count)


def believed_variance(declared: float, seen: float, count: float, half_range: float) -> float:
    """Of one's own samples, where one was declared: that and what `count` of them show, together.

    The declared one, d, may be wrong; what samples within a range R show is worth little while they
    are few: at worst, where events are rare, its relative error is 1 after R^2 / d samples. So d
    counts as twice that many. `seen` is the samples' exact variance, so this is the owner's alone.
    """
    square = DECLARED_WORTH * 4 * half_range * half_range
    return declared * (square + count * seen) / (square + (count - 1) * declared)
