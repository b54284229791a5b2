"""The release that is relayed: blocks that double early, weighed by what is public about each.

The first blocks are short, so their noise is loud; in a plain mean it would stay for long. A weight
follows from counts, epsilon and the bounds alone, never from data, and whoever knows these knows
how precise the mean is: nobody has to be believed about it.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

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


def blend(schedule: WeighedBlocks, count: int, past_count: int = 0, past_draws: int = 0) -> Blend:
    """Of a release of `count` samples, or of as many of them as closed blocks can hold.

    The first `past_count` of them are one block that carries `past_draws` draws, where an agent
    came from another way of releasing; 0 where it did not.
    """
    return _blends(schedule, past_count, past_draws).at(count)


@lru_cache(maxsize=4096)
def _blends(schedule: WeighedBlocks, past_count: int, past_draws: int) -> "_Blends":
    return _Blends(schedule, past_count, past_draws)


@lru_cache(maxsize=4096)
def fewest_draws(epsilon: float, count: int) -> int:
    """That so many samples can carry from before a switch: no schedule in rounds has longer blocks.

    Whoever claims fewer claims less noise than there can be.
    """
    schedule, end, draws = Blocks(epsilon), 0, 0
    while (end := schedule.next_end(end)) <= count:
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

    def add(self, weight: int, samples: int, noise: float) -> None:
        self.weight += weight * samples
        square = float(weight) * weight
        self.data += square * samples
        self.noise += square * noise

    def shares(self) -> tuple[int, float, float]:
        whole = float(self.weight) * self.weight
        return self.weight, self.data / whole, self.noise / whole


class _Blends:
    """The blends at the block ends of one schedule, as far as somebody has asked."""

    def __init__(self, schedule: WeighedBlocks, past_count: int, past_draws: int) -> None:
        self._schedule = schedule
        self._blocks = blocks(schedule, past_count, past_draws)
        self._means, self._squares = _Sums(), _Sums()
        self._ends: list[int] = []
        self._known: list[Blend] = []
        self._grow()

    def at(self, count: int) -> Blend:
        """At the last block end within `count`; at the first one where that is beyond it."""
        while self._ends[-1] < count:
            self._grow()
        return self._known[max(0, bisect_right(self._ends, count) - 1)]

    def _grow(self) -> None:
        samples, draws = next(self._blocks)
        weights = self._schedule.weights(samples, draws)
        noise = draws * sigma2_dp(1.0, self._schedule.epsilon)
        self._means.add(weights.sum, samples, noise)
        self._squares.add(weights.squares, samples, SQUARE_NOISE * noise)
        weight, data, of_noise = self._means.shares()
        square_weight, square_data, square_noise = self._squares.shares()
        end = (self._ends[-1] if self._ends else 0) + samples
        self._ends.append(end)
        self._known.append(
            Blend(
                count=end,
                weight=weight,
                square_weight=square_weight,
                data=data,
                noise=of_noise,
                square_data=square_data,
                square_noise=square_noise,
            )
        )
