"""Streams that differ, and the noise that makes all that is released of them the same.

This is the argument by which a release is private. Where one stream's draws are the other's plus
the difference of their sums, number by number, whoever looks on sees the same; and a draw that is
moved by d is e^(d / scale) times as likely at most. Sums are reckoned here, from what is public
about blocks and bounds, and not by the code that is judged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from colme.protocol.settings import Settings
from colme.rules.release import Profile, ReleaseSchedule

ZERO = Fraction(0)
LATTICE = 2**20
"""Steps from the midpoint to either bound."""

Samples = list[list[float]]
"""Of an agent, round by round."""
Change = Callable[[int, float], float]
"""From a sample's place, counted from 0, and its value."""
Numbers = list[list[int]]
"""Round by round, for each block that ends in it: its sum and, if released, that of squares."""

COUNTS = (3, 0, 1, 7, 1, 0, 2, 1, 0, 4, 1, 12)
"""Of samples in a round, in turn: none, one and several, so that a round may end several blocks."""
PARTS = (-2.0, *(place / 16 for place in range(17)), 40.0)
"""Of the range from the lower bound to the upper one: where a sample may be, and out of it."""
FAR = (-1e6, 0.0, 0.97, 1.0, 2.5)
"""What a sample may be instead: at a bound, beyond it, or within."""
GROUPS = 7
"""Every so many-th sample is changed at once."""


@dataclass(frozen=True)
class Reckoning:
    """What leaves of a stream where there is no noise."""

    profile: Profile
    schedule: ReleaseSchedule
    squares: bool

    @classmethod
    def of(cls, settings: Settings) -> "Reckoning":
        """As an agent with these settings has promised."""
        algorithm, profile = settings.algorithm, settings.profile
        return cls(profile, settings.schedule, algorithm.release_squares)

    def point(self, sample: float) -> int:
        """A sample on the lattice."""
        lo, hi = self.profile.bounds
        return round((min(max(sample, lo), hi) - (lo + hi) / 2) / ((hi - lo) / 2) * LATTICE)

    def moments(self, points: Sequence[int]) -> list[int]:
        """Of one block, in the order of their draws."""
        return [sum(points)] + [sum(u * u for u in points)] * self.squares

    def numbers(self, samples: Samples) -> Numbers:
        """What goes out in each round."""
        block: list[int] = []
        count, end = 0, self.schedule.next_end(0)
        out: Numbers = []
        for one_round in samples:
            out.append([])
            for sample in one_round:
                block.append(self.point(sample))
                count += 1
                if count == end:
                    out[-1] += self.moments(block)
                    block, end = [], self.schedule.next_end(count)
        return out

    def made_up(self, draws: Numbers, mine: Samples, other: Samples) -> Numbers:
        """The draws that let the other stream pass for mine with these."""
        return [
            [draw + a - b for draw, a, b in zip(*numbers, strict=True)]
            for numbers in zip(draws, self.numbers(mine), self.numbers(other), strict=True)
        ]

    def dearest(self, scales: Sequence[float]) -> Fraction:
        """The most that a sample can cost in a block with draws of these scales, exactly."""
        lo, hi = self.profile.bounds
        points = {self.point(lo + part * (hi - lo)) for part in PARTS}
        moments = [self.moments([u]) for u in points]
        return max(
            sum((abs(a - b) / Fraction(s) for a, b, s in zip(*pair, scales, strict=True)), ZERO)
            for pair in product(moments, repeat=2)
        )


def stream(rounds: int, seed: int) -> Samples:
    """Samples around 0.4, one in nine of them out of bounds."""
    generator = np.random.default_rng(seed)
    samples = [
        generator.normal(0.4, 0.15, COUNTS[number % len(COUNTS)]).tolist()
        for number in range(rounds)
    ]
    return changed(samples, lambda place, x: x - 3 if place % 9 == 4 else x)


def changed(samples: Samples, change: Change) -> Samples:
    """Each sample as `change` has it."""
    places = iter(range(sum(map(len, samples))))
    return [[change(next(places), x) for x in one_round] for one_round in samples]


def twins(samples: Samples) -> Iterator[tuple[str, Samples]]:
    """Other streams, with a name each; between them every sample is changed, clamped ones too."""
    for first in range(GROUPS):
        yield f"every {GROUPS}th from {first}", changed(samples, _one_in_a_group(first))
    yield "all clamped", changed(samples, lambda _, x: 9.0)
    yield "none clamped, elsewhere", changed(samples, lambda place, _: 0.8 + place % 16 / 100)
    yield "no variance", changed(samples, lambda _, x: 0.25)


def _one_in_a_group(first: int) -> Change:
    return lambda place, x: FAR[place % len(FAR)] if place % GROUPS == first else x
