"""The release that is relayed: blocks that double early, weighed by what is public about each.

The first blocks are short, so their noise is loud; in a plain mean it would stay for long. A weight
follows from counts, epsilon and the bounds alone, never from data, and whoever knows these knows
how precise the mean is: nobody has to be believed about it.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf
from typing import Self

from colme.rules.release import Blocks, ReleaseSchedule, Weights, grown, sigma2_dp

WHOLE = 2**40
"""Weights are kept in whole numbers of its parts: fine enough for every epsilon that can be drawn
for, and exact."""

UNIFORM_VARIANCE = 1 / 3
"""Of data uniform within their bounds, in squares of half the range: what blocks are weighed by, so
that weights do not follow the data, which would pull the mean along."""

UNIFORM_SQUARE_VARIANCE = 4 / 45
"""The same of their squares about the midpoint."""

SQUARE_NOISE = 4.0
"""Times sigma2_dp is the variance of a draw for a sum of squares, in units of L: its scale is
4 L^2 / epsilon where that of a sum is 2 L / epsilon."""

MOST_BLOCKS = 1024
"""That anybody looks at of what somebody else claims, so that no claim takes long to read. By then
a block's noise is less than a hundredth of its data's variance, whatever epsilon is."""


@dataclass(frozen=True, slots=True)
class WeighedBlocks:
    """Blocks that double early, and then grow with the root of the count.

    For those who learn from everybody's releases early ones are worth their noise; weights keep it
    from spoiling the later mean.
    """

    epsilon: float
    early: int = 0
    """How much earlier the first block ends, in 512ths of it: 0 to 255. Where it differs between
    agents so do all their block ends, and there always is somebody with news: of equal agents
    everybody's mean would be as old as everybody else's."""

    def next_end(self, count: int) -> int:
        """Twice as far up to epsilon = 2, where less noise is left to save a smaller share."""
        if count == 0:
            return ceil((1 - self.early / 512) * grown(0, self.epsilon, share=1.0))
        share = 1.0 if self.epsilon <= 2 else 2 / (self.epsilon * self.epsilon)
        return grown(count, self.epsilon, share=share)

    def weights(self, samples: int, draws: int) -> Weights:
        """1 / variance of the block's mean if its data were uniform, for each sample."""
        noise = draws * sigma2_dp(1.0, self.epsilon)
        of_sum = samples / (UNIFORM_VARIANCE * samples + noise)
        of_squares = samples / (UNIFORM_SQUARE_VARIANCE * samples + SQUARE_NOISE * noise)
        return Weights(max(1, round(WHOLE * of_sum)), max(1, round(WHOLE * of_squares)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend:
    """What a released mean is made of: public facts.

    Its variance is `data` * sigma2 + `noise` * L^2. That of the released mean square has a part
    `square_data` of the variance of one square, and `square_noise` * L^4 of noise.
    """

    count: int
    """Samples up to the last block end."""
    weight: int
    """All weights, each as often as its block has samples: what the weighed sum is divided by."""
    square_weight: int
    data: float
    noise: float
    square_data: float
    square_noise: float

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """The four numbers that say how precise a release is."""
        return self.data, self.noise, self.square_data, self.square_noise


def blend(schedule: WeighedBlocks, count: int, past_count: int = 0, past_draws: int = 0) -> Blend:
    """Of a release of `count` samples, or of as many of them as closed blocks can hold.

    The first `past_count` of them are one block that carries `past_draws` draws, where an agent
    came from another way of releasing; 0 where it did not.
    """
    ends, blends = _blends(schedule, past_count, past_draws, _reaching(count))
    return blends[max(0, bisect_right(ends, count) - 1)]


def claimed(schedule: WeighedBlocks, count: int, past_count: int = 0, past_draws: int = 0) -> Blend:
    """The same of somebody else's release, of any count, in a time that does not grow with it.

    Blocks after the first `MOST_BLOCKS` are taken to be no longer than the last of these, so no
    more is believed than there can be.
    """
    ends, blends = _blends(schedule, past_count, past_draws, _reaching(count), MOST_BLOCKS)
    known = blends[max(0, bisect_right(ends, count) - 1)]
    if len(ends) < MOST_BLOCKS:
        return known
    samples = ends[-1] - ends[-2]
    more = (count - ends[-1]) // samples
    return _longer(known, schedule, samples, more) if more > 0 else known


def _longer(known: Blend, schedule: WeighedBlocks, samples: int, more: int) -> Blend:
    """With so many blocks more, all of the same size."""
    weights, noise = schedule.weights(samples, 1), sigma2_dp(1.0, schedule.epsilon)
    means = _Sums.of(known.weight, known.data, known.noise)
    means.add(weights.sum, samples, noise, times=more)
    squares = _Sums.of(known.square_weight, known.square_data, known.square_noise)
    squares.add(weights.squares, samples, SQUARE_NOISE * noise, times=more)
    return _blend(known.count + more * samples, means, squares)


@lru_cache(maxsize=4096)
def fewest_draws(epsilon: float, count: int) -> int:
    """That so many samples can carry from before a switch: no schedule in rounds has longer blocks.

    Whoever claims fewer claims less noise than there can be. Of very many, `MOST_BLOCKS`.
    """
    schedule, end, draws = Blocks(epsilon), 0, 0
    while draws < MOST_BLOCKS and (end := schedule.next_end(end)) <= count:
        draws += 1
    return max(draws, 1)


def blocks(
    schedule: ReleaseSchedule, past_count: int, past_draws: int
) -> Iterator[tuple[int, int]]:
    """The size and the draws of every block, for ever."""
    end = past_count
    if past_count:
        yield past_count, past_draws
    while True:
        start, end = end, schedule.next_end(end)
        yield end - start, 1


@dataclass(slots=True)
class _Sums:
    """Over the blocks so far; float where exactness does not matter."""

    weight: int = 0
    data: float = 0.0
    noise: float = 0.0

    @classmethod
    def of(cls, weight: int, data: float, noise: float) -> Self:
        """That `shares` gave."""
        whole = float(weight) * weight
        return cls(weight, data * whole, noise * whole)

    def add(self, weight: int, samples: int, noise: float, *, times: int = 1) -> None:
        self.weight += times * weight * samples
        square = float(weight) * weight * times
        self.data += square * samples
        self.noise += square * noise

    def shares(self) -> tuple[int, float, float]:
        whole = float(self.weight) * self.weight
        return self.weight, self.data / whole, self.noise / whole


def _reaching(count: int) -> int:
    """The next power of 16: how far a table goes, so that few are made of any schedule.

    A table is never changed once made, since any thread may ask. It is four times as long at most:
    blocks grow with the root of the count.
    """
    return int(16 ** -(-count.bit_length() // 4))


# For all 256 schedules of agents alike, twice; about 150 MB at most, whatever others claim.
@lru_cache(maxsize=512)
def _blends(
    schedule: WeighedBlocks, past_count: int, past_draws: int, up_to: int, most: float = inf
) -> tuple[list[int], list[Blend]]:
    """The ends of the blocks that begin before `up_to`, the first of all, and their blends."""
    means, squares = _Sums(), _Sums()
    ends: list[int] = []
    made: list[Blend] = []
    end = 0
    for samples, draws in blocks(schedule, past_count, past_draws):
        if end >= max(up_to, 1) or len(ends) >= most:
            break
        weights = schedule.weights(samples, draws)
        noise = draws * sigma2_dp(1.0, schedule.epsilon)
        means.add(weights.sum, samples, noise)
        squares.add(weights.squares, samples, SQUARE_NOISE * noise)
        end += samples
        ends.append(end)
        made.append(_blend(end, means, squares))
    return ends, made


def _blend(count: int, means: _Sums, squares: _Sums) -> Blend:
    weight, data, noise = means.shares()
    square_weight, square_data, square_noise = squares.shares()
    return Blend(
        count=count,
        weight=weight,
        square_weight=square_weight,
        data=data,
        noise=noise,
        square_data=square_data,
        square_noise=square_noise,
    )
