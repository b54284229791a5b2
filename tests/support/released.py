"""Made-up releases, and agents with exact means of their own, as the answer needs them."""

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


def world(truth: Floats, *, count: int, epsilon: float, generator: np.random.Generator) -> World:
    """Agents with these means, `count` samples each, in blocks with Laplace noise."""
    agents = truth.size
    sums, weighed, weights, taken = np.zeros(agents), np.zeros(agents), 0.0, 0
    schedule = WeighedBlocks(epsilon)
    for samples, draws in blocks(schedule, 0, 0):
        if taken + samples > count:
            break
        sum_ = samples * truth + _noise_free_sum(samples, agents, generator)
        noise = generator.laplace(0, laplace_scale(HALF_RANGE, epsilon), agents)
        weight = schedule.weights(samples, draws).sum
        weighed += weight * (sum_ + noise)
        weights += weight * samples
        sums += sum_
        taken += samples
    rest = count - taken
    sums += rest * truth + _noise_free_sum(rest, agents, generator)
    return World(
        board=table(weighed / weights, epsilon=epsilon, count=count),
        owners=owners(sums / count, count=count),
        truth=truth,
    )


def _noise_free_sum(samples: int, agents: int, generator: np.random.Generator) -> Floats:
    if samples > 60:
        return generator.normal(0, sqrt(SIGMA2 * samples), agents)
    return np.asarray(generator.uniform(-HALF_RANGE, HALF_RANGE, (samples, agents)).sum(axis=0))


def table(x: Floats, *, epsilon: float, count: int) -> Releases:
    """Of released means, all of as many samples and with the variance declared."""
    same = np.ones(x.size)
    made = blend(WeighedBlocks(epsilon), count)
    return Releases(
        x=x,
        data=made.data * same,
        noise=made.noise * same,
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
