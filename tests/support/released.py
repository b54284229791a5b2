"""Boards of made-up releases, and agents that have exact means of their own."""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from colme.inference.answers import Owners, Releases
from colme.rules.release import laplace_scale
from colme.rules.weighing import WeighedBlocks, blend, blocks

Floats = NDArray[np.float64]

SIGMA2 = 0.25
HALF_RANGE = sqrt(3) / 2
"""The paper's: data uniform about their mean, with a standard deviation of a half."""


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A board, the exact means behind it, and the truth."""

    board: Releases
    owners: Owners
    truth: Floats


EARLY = (0, 64, 128, 192)
"""Of agents in turn: how much earlier their first blocks end."""


def world(truth: Floats, *, count: int, epsilon: float, generator: np.random.Generator) -> World:
    """Agents with these means, `count` samples each, in blocks with Laplace noise."""
    board = table(truth.copy(), epsilon=epsilon, count=count)
    x_bar = truth.copy()
    for turn, early in enumerate(EARLY):
        mine = slice(turn, None, len(EARLY))
        board.x[mine], x_bar[mine] = _means(
            truth[mine], WeighedBlocks(epsilon, early), count, generator
        )
    return World(board=board, owners=owners(x_bar, count=count), truth=truth)


def _means(
    truth: Floats, schedule: WeighedBlocks, count: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Released and exact ones, of agents whose blocks end together."""
    agents = truth.size
    scale = laplace_scale(HALF_RANGE, schedule.epsilon)
    sums, weighed, weights, taken = np.zeros(agents), np.zeros(agents), 0.0, 0
    for samples, draws in blocks(schedule, 0, 0):
        if taken + samples > count:
            break
        sum_ = samples * truth + _noise_free_sum(samples, agents, generator)
        weight = schedule.weights(samples, draws).sum
        weighed += weight * (sum_ + generator.laplace(0, scale, agents))
        weights += weight * samples
        sums += sum_
        taken += samples
    rest = count - taken
    sums += rest * truth + _noise_free_sum(rest, agents, generator)
    return weighed / weights, sums / count


def _noise_free_sum(samples: int, agents: int, generator: np.random.Generator) -> Floats:
    if samples > 60:
        return generator.normal(0, sqrt(SIGMA2 * samples), agents)
    one_by_one: Floats = generator.uniform(-HALF_RANGE, HALF_RANGE, (samples, agents))
    return np.asarray(one_by_one.sum(axis=0))


def table(x: Floats, *, epsilon: float, count: int) -> Releases:
    """Of released means, all of as many samples and with the variance declared."""
    same = np.ones(x.size)
    made = [blend(WeighedBlocks(epsilon, early), count) for early in EARLY]
    turn = np.arange(x.size) % len(EARLY)
    return Releases(
        x=x,
        data=np.array([one.data for one in made])[turn],
        noise=np.array([one.noise for one in made])[turn],
        half_range=HALF_RANGE * same,
        variance=SIGMA2 * same,
        error=0 * same,
        origin=0.5,
        unit=HALF_RANGE,
    )


def owners(x_bar: Floats, *, count: int) -> Owners:
    """Of these exact means, each with the record of its own number."""
    same = np.ones(x_bar.size)
    return Owners(
        mean=x_bar,
        count=count * same,
        variance=SIGMA2 * same,
        known=np.ones(x_bar.size, dtype=np.bool_),
        half_range=HALF_RANGE * same,
        index=np.arange(x_bar.size),
    )


def variances(board: Releases) -> Floats:
    """v of every record, with its variance as it stands."""
    return np.asarray(board.data * board.variance + board.noise * board.half_range**2)


def moved(world: World, *, shift: float, scale: float) -> World:
    """The same with all data and bounds scaled, then shifted."""
    board, who = world.board, world.owners
    square = scale * scale
    return World(
        board=replace(
            board,
            x=scale * board.x + shift,
            half_range=scale * board.half_range,
            variance=square * board.variance,
            error=square * square * board.error,
            origin=scale * board.origin + shift,
            unit=scale * board.unit,
        ),
        owners=replace(
            who,
            mean=scale * who.mean + shift,
            variance=square * who.variance,
            half_range=scale * who.half_range,
        ),
        truth=scale * world.truth + shift,
    )


CLASSES = (0.2, 0.4, 0.8)


def classes(agents: int, generator: np.random.Generator) -> Floats:
    """Means of agents in the paper's three classes."""
    return generator.choice(np.array(CLASSES), agents)
