"""An agent's own samples: the exact mean, which never leaves, and the released one, which may."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite

from colme.errors import LocalProtocolError, SampleError
from colme.rules.release import Profile, ReleaseSchedule, Weights


@dataclass(frozen=True, slots=True)
class Totals:
    """A sum and a sum of squares, in lattice steps: integers, so exact."""

    sum: int = 0
    squares: int = 0

    def plus(self, sum_: int, squares: int) -> "Totals":
        """With more added to each."""
        return Totals(self.sum + sum_, self.squares + squares)

    def times(self, weights: Weights) -> "Totals":
        """Each as often as it weighs."""
        return Totals(self.sum * weights.sum, self.squares * weights.squares)


@dataclass(slots=True)
class Stream:
    """Running totals of the samples taken in and of what has been released of them.

    Lattice totals are integers, so sums are exact and noise can be added exactly. Every sample is
    in one block, every block is noised once: `publish` takes one draw for each block closed since
    the last call, and counts only move forward. Totals over several blocks are weighed as the
    schedule says, in whole numbers, block by block.
    """

    count: int = 0
    """Samples taken in. It never falls: block ends are counted by it."""
    total: float = 0.0
    """Their exact sum, clamped to the bounds: the owner's, never sent."""
    lattice: Totals = field(default_factory=Totals)
    """The same in lattice steps from the midpoint, and their squares: exact, never sent."""
    clamped: int = 0
    """Samples that lay outside the bounds. It depends on their values: for the owner alone."""
    block_end: int = 0
    """The count at which the open block ends."""
    closed_count: int = 0
    """The count at the end of the last closed block."""
    opened: Totals = field(default_factory=Totals)
    """`lattice` then: where the open block begins."""
    closed: Totals = field(default_factory=Totals)
    """Of all closed blocks, weighed: what the next release covers."""
    blocks_due: int = 0
    """Closed blocks that have had no noise yet: each takes its draws once, in `publish`."""
    released_count: int = 0
    """Samples that have had their noise. None of them may ever get another draw."""
    released: Totals = field(default_factory=Totals)
    """`closed` at the last release, without its noise: never sent, never lost."""
    noise: Totals = field(default_factory=Totals)
    """All draws so far, added up: secret. Whoever knows them can take them off again."""
    blocks: int = 0
    """Blocks that have had their noise: the draws in `noise`."""
    with_squares: bool = False
    """Whether the squares of those blocks have had theirs too; without it they must not go out."""
    declared: float = 0.0
    """The variance as declared with the last release: to declare another one for the same release
    would contradict what was signed."""
    past_count: int = 0
    """The samples of the first block where it is made of all blocks from before a switch."""
    past_draws: int = 0
    """The draws that block carries, as many as it had blocks then: none is drawn again."""
    incarnation: int = 0
    """Which life of its owner this is: a state that was lost is followed by one with a higher."""

    def observe(self, value: float, profile: Profile, schedule: ReleaseSchedule) -> None:
        """Take in a sample, clamped to the bounds (and counted as such) where it lies outside."""
        if not is_finite_number(value):
            raise SampleError("sample", type(value).__name__, "a finite number")
        lo, hi = profile.bounds
        x = min(max(float(value), lo), hi)
        if self.count == 0:
            self.block_end = schedule.next_end(0)
        self.clamped += x != value
        self.count += 1
        self.total += x
        u = profile.lattice_point(x)
        self.lattice = self.lattice.plus(u, u * u)
        if self.count == self.block_end:
            self._close(schedule)

    def _close(self, schedule: ReleaseSchedule) -> None:
        """End the open block: from here on its sums are weighed, and its noise is due."""
        block = self.lattice.plus(-self.opened.sum, -self.opened.squares)
        size, draws = self.count - self.closed_count, 1
        if self.count <= self.past_count:
            size, draws = self.past_count, self.past_draws
        weighed = block.times(schedule.weights(size, draws))
        self.closed = self.closed.plus(weighed.sum, weighed.squares)
        self.closed_count, self.opened = self.count, self.lattice
        self.blocks_due += 1
        self.block_end = schedule.next_end(self.count)

    def publish(self, noise: Sequence[int], schedule: ReleaseSchedule, *, squares: bool) -> None:
        """Release all closed blocks, with fresh noise (in lattice steps) for each new one.

        One draw for a block's sum and, with `squares`, then one for its sum of squares. Noise is
        weighed as the block is: a weight that only one of them had would take the noise off.
        """
        per_block = 2 if squares else 1
        if len(noise) != self.blocks_due * per_block:
            expected = f"{self.blocks_due * per_block}: {per_block} for each block just closed"
            raise LocalProtocolError("noise", f"{len(noise)} draws", expected)
        if not all(isinstance(draw, int) for draw in noise):
            # Their types, not the draws: who sees those can take them off again.
            kinds = [type(draw).__name__ for draw in noise]
            raise LocalProtocolError("noise", kinds, "whole numbers of lattice steps")
        sums = noise[::per_block]
        of_squares = noise[1::per_block] if squares else [0] * self.blocks_due
        fresh = self.noise
        for weights, one, two in zip(self._weights_due(schedule), sums, of_squares, strict=True):
            fresh = fresh.plus(weights.sum * one, weights.squares * two)
        self.noise = fresh
        self.released_count, self.released = self.closed_count, self.closed
        self.blocks += self.blocks_due
        self.blocks_due = 0
        self.with_squares = squares

    def _weights_due(self, schedule: ReleaseSchedule) -> Iterator[Weights]:
        """Of each closed block that has had no noise yet, in order."""
        of_the_past = min(self.blocks_due, max(0, self.past_draws - self.blocks))
        for _ in range(of_the_past):
            yield schedule.weights(self.past_count, self.past_draws)
        end = max(self.released_count, self.past_count)
        for _ in range(self.blocks_due - of_the_past):
            start, end = end, schedule.next_end(end)
            yield schedule.weights(end - start, 1)

    def released_mean(self, profile: Profile, weight: int) -> float:
        """X-tilde-bar, where the samples of all blocks weigh so much together."""
        steps = (self.released.sum + self.noise.sum) / weight
        return profile.midpoint + profile.lattice_step * steps

    def released_square(self, profile: Profile, weight: int) -> float:
        """The released mean of squares about the midpoint of the bounds."""
        step = profile.lattice_step
        return step * step * (self.released.squares + self.noise.squares) / weight

    def exact_variance(self, profile: Profile) -> float:
        """Of the samples taken in: for the owner's answer alone, never sent."""
        mean = self.lattice.sum / self.count
        steps2 = self.lattice.squares / self.count - mean * mean
        return max(0.0, steps2) * profile.lattice_step**2


def is_finite_number(value: object) -> bool:
    """Whether it can be a sample: anything may come from a data source."""
    if isinstance(value, bool):
        return False
    try:
        return isfinite(value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        return False
