"""An agent's own samples: the exact mean, which never leaves, and the released one, which may."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from colme.errors import LocalProtocolError, SampleError
from colme.rules.release import Profile, Release, ReleaseSchedule


@dataclass(slots=True)
class Stream:
    """Running totals of the samples taken in and of what has been released of them.

    Lattice totals are integers, so sums are exact and noise can be added exactly. Every sample is
    in one block, every block is noised once: `publish` takes one draw for each block closed since
    the last call, and counts only move forward.
    """

    count: int = 0
    total: float = 0.0
    lattice_total: int = 0
    clamped: int = 0
    block_end: int = 0
    closed_count: int = 0
    closed_total: int = 0
    draws_due: int = 0
    released_count: int = 0
    released_total: int = 0
    blocks: int = 0
    noise_total: int = 0

    @property
    def mean(self) -> float:
        """X-bar: exact, for the owner alone."""
        return self.total / self.count

    def observe(self, value: float, profile: Profile, schedule: ReleaseSchedule) -> None:
        """Take in a sample, clamped to the bounds (and counted as such) where it lies outside."""
        if not _is_finite_number(value):
            raise SampleError("sample", value, "a finite number")
        lo, hi = profile.bounds
        x = min(max(float(value), lo), hi)
        if self.count == 0:
            self.block_end = schedule.next_end(0)
        self.clamped += x != value
        self.count += 1
        self.total += x
        self.lattice_total += round((x - profile.midpoint) / profile.lattice_step)
        if self.count == self.block_end:
            self.closed_count, self.closed_total = self.count, self.lattice_total
            self.draws_due += 1
            self.block_end = schedule.next_end(self.count)

    def publish(self, noise: Sequence[int]) -> None:
        """Release all closed blocks, with one draw of noise (in lattice steps) for each new one."""
        if len(noise) != self.draws_due:
            expected = f"{self.draws_due}: one for each block just closed"
            raise LocalProtocolError("noise", f"{len(noise)} draws", expected)
        if not all(isinstance(draw, int) for draw in noise):
            raise LocalProtocolError("noise", noise, "whole numbers of lattice steps")
        self.released_count, self.released_total = self.closed_count, self.closed_total
        self.noise_total += sum(noise)
        self.blocks += len(noise)
        self.draws_due = 0

    def release(self, profile: Profile) -> Release | None:
        """X-tilde-bar with its variance and parameter; None before the first block has closed."""
        n = self.released_count
        if n == 0:
            return None
        return Release(
            count=n,
            mean=profile.midpoint
            + profile.lattice_step * (self.released_total + self.noise_total) / n,
            variance=profile.released_variance(n, self.blocks),
            beta=profile.released_parameter(n, self.blocks),
        )


def _is_finite_number(value: object) -> bool:
    try:
        return isfinite(value)  # type: ignore[arg-type]  # anything may come from a data source
    except (TypeError, OverflowError):
        return False
