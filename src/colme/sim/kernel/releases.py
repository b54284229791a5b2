"""The releases of `relay` for many independent runs: blocks are closed, weighted and stored.

Runs of a batch share the keys of all agents, and so where blocks end; each run has its own data and
noise.
"""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from colme.rules.release import Profile, laplace_scale
from colme.rules.weighing import WHOLE, WeighedBlocks, blend, blocks
from colme.sim.kernel.arrays import Array, aligned, compiled, zeros


class BlockPlan(NamedTuple):
    """What is public: where blocks end, what each weighs.

    S = schedules, K = blocks, M = origins.
    """

    schedule: Array  # int64 [M]: row of the tables
    end: Array  # int64 [S, K]: counts at which blocks end
    weight: Array  # float64 [S, K]: of a sample's value in each block
    square_weight: Array  # float64 [S, K]: of its square
    whole: Array  # float64 [S, K]: all weights up to there
    square_whole: Array  # float64 [S, K]
    blends: Array  # float64 [4, S, K]: data, noise, square_data and square_noise of a `Blend`
    scale: Array  # float64 [M]: of the noise of sums
    half_range: Array  # float64 [M]
    squares: bool  # whether squares are released, too


class Released(NamedTuple):
    """What has been taken in and released so far. The last H releases are remembered."""

    midpoint: Array  # float64 [M, L]: of the bounds
    taken: Array  # int64 [M]: samples so far
    total: Array  # float64 [M, L]: their sum
    squares: Array  # float64 [M, L]: sum of their squared distances from the midpoint
    open_total: Array  # float64 [M, L]: `total` where the open block begins
    open_squares: Array  # float64 [M, L]
    weighed: Array  # float64 [M, L]: of all closed blocks, with their noise
    weighed_squares: Array  # float64 [M, L]
    closed: Array  # int64 [M]: blocks closed so far
    round: Array  # int64 [H, M]: in which a release was made; that of block k at k % H
    mean: Array  # float64 [H, M, L]: what was released
    square: Array  # float64 [H, M, L]


_BEYOND: dict[str, float] = {
    "end": np.iinfo(np.int64).max,
    "weight": 1,
    "square_weight": 1,
    "whole": 1,
    "square_whole": 1,
    "blends": 0,
}
"""The tables of a plan, and what they say beyond the last block of a schedule."""


def block_ends(schedule: WeighedBlocks, rounds: int) -> list[int]:
    """Up to the first block that ends after so many rounds."""
    ends = [schedule.next_end(0)]
    while ends[-1] < rounds:
        ends.append(schedule.next_end(ends[-1]))
    return ends


# All 256 schedules of each of eight epsilons, 20 kB each at most: batches share them.
@lru_cache(maxsize=2048)
def _tables(schedule: WeighedBlocks, rounds: int) -> dict[str, Array]:
    """Block by block, to the end of `block_ends`. They are never written to."""
    ends = block_ends(schedule, rounds)
    weights = [schedule.weights(*one) for one in islice(blocks(schedule, 0, 0), len(ends))]
    made_of = [blend(schedule, count) for count in ends]
    # In units of the largest whole number: floats have digits to spare.
    return {
        "end": np.array(ends),
        "weight": np.array([one.sum / WHOLE for one in weights]),
        "square_weight": np.array([one.squares / WHOLE for one in weights]),
        "whole": np.array([one.weight / WHOLE for one in made_of]),
        "square_whole": np.array([one.square_weight / WHOLE for one in made_of]),
        "blends": np.array([one.shares for one in made_of]).T,
    }


def new_plan(
    schedules: Sequence[WeighedBlocks], profiles: Sequence[Profile], rounds: int, *, squares: bool
) -> BlockPlan:
    """Of everybody's schedule and profile, for all counts up to `rounds`."""
    different = list(dict.fromkeys(schedules))
    number = {schedule: i for i, schedule in enumerate(different)}
    tables = [_tables(schedule, rounds) for schedule in different]
    longest = max(table["end"].size for table in tables)
    together: dict[str, Any] = {}
    for name, beyond in _BEYOND.items():
        each = [table[name] for table in tables]  # they are not all as long
        shape = *each[0].shape[:-1], len(different), longest
        together[name] = np.full(shape, beyond, each[0].dtype)
        for i, one in enumerate(each):
            together[name][..., i, : one.shape[-1]] = one
    return BlockPlan(
        schedule=np.array([number[schedule] for schedule in schedules]),
        scale=np.array([laplace_scale(p.half_range, p.epsilon) for p in profiles]),
        half_range=np.array([p.half_range for p in profiles]),
        squares=squares,
        **together,
    )


def most_in(plan: BlockPlan, rounds: int) -> int:
    """How many releases of one origin there can be within so many rounds, and one before them."""
    most = 1
    for ends in plan.end:
        known = ends[ends < np.iinfo(np.int64).max]
        before = np.searchsorted(known, known - rounds, side="right")
        most = max(most, int((np.arange(known.size) - before).max()) + 2)
    return most


def new_releases(plan: BlockPlan, midpoint: Array, remembered: int) -> Released:
    """Before the first sample."""
    origins, lanes = midpoint.shape
    alike = (origins, lanes)
    return Released(
        midpoint=aligned(midpoint, np.float64),
        taken=np.zeros(origins, np.int64),
        total=zeros(alike, np.float64),
        squares=zeros(alike, np.float64),
        open_total=zeros(alike, np.float64),
        open_squares=zeros(alike, np.float64),
        weighed=zeros(alike, np.float64),
        weighed_squares=zeros(alike, np.float64),
        closed=np.zeros(origins, np.int64),
        round=np.zeros((remembered, origins), np.int64),
        mean=zeros((remembered, *alike), np.float64),
        square=zeros((remembered if plan.squares else 1, *alike), np.float64),
    )


@compiled
def advance_releases(
    first: int, counts: Array, means: Array, units: Array, plan: BlockPlan, state: Released
) -> None:
    """Rounds first, first + 1, ...: `counts` [rounds, M] and running means [rounds, M, L].

    `units` are unit Laplace draws [1 or 2, K, M, L]: for sums and, with squares, for those.
    """
    rounds, origins, lanes = means.shape
    for i in range(rounds):
        for b in range(origins):
            n = counts[i, b]
            if n == state.taken[b]:
                continue
            state.taken[b] = n
            k, row = state.closed[b], plan.schedule[b]
            closes = n == plan.end[row, k]
            for lane in range(lanes):
                # Squares for the owner, also where none are released.
                total = n * float(means[i, b, lane])
                deviation = total - state.total[b, lane] - state.midpoint[b, lane]
                state.squares[b, lane] += deviation * deviation
                state.total[b, lane] = total
            if not closes:
                continue
            place, scale = k % state.round.shape[0], plan.scale[b]
            size = n - (plan.end[row, k - 1] if k > 0 else 0)
            state.round[place, b] = first + i
            for lane in range(lanes):
                middle, total = state.midpoint[b, lane], state.total[b, lane]
                block = total - state.open_total[b, lane] - size * middle
                if scale > 0:
                    block += scale * units[0, k, b, lane]
                state.weighed[b, lane] += plan.weight[row, k] * block
                state.mean[place, b, lane] = middle + state.weighed[b, lane] / plan.whole[row, k]
                state.open_total[b, lane] = total
                if plan.squares:
                    block = state.squares[b, lane] - state.open_squares[b, lane]
                    if scale > 0:
                        block += 2 * plan.half_range[b] * scale * units[1, k, b, lane]
                    state.weighed_squares[b, lane] += plan.square_weight[row, k] * block
                    mean_square = state.weighed_squares[b, lane] / plan.square_whole[row, k]
                    state.square[place, b, lane] = mean_square
                    state.open_squares[b, lane] = state.squares[b, lane]
            state.closed[b] = k + 1
