"""Worlds to play relay in: whose data, under which bounds and epsilon, and who lies how."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNIFORM = sqrt(3)
"""Half the range of uniform data, in standard deviations."""

HALF_RANGE = 0.5 * UNIFORM
"""The paper's: sigma = 1/2, and every class has bounds of its own."""

MANY = 50
"""Samples of a sum from which on it is drawn as Gaussian."""


Sums = Callable[[Generator, int, Ints], tuple[Floats, Floats]]
"""Of so many samples of these agents: sums of distances from the midpoint and of their squares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Agents: arrays, one entry each."""

    mean: Floats
    variance: Floats
    label: Ints
    """Of the class, or of the part of the population that is looked at apart."""
    sums: Sums
    epsilon: Floats | None = None
    """None: everybody has that of the world."""
    pace: Floats | None = None
    """Samples a round, at most 1; None: one each."""


@dataclass(frozen=True, slots=True)
class Told:
    """What all records say."""

    mean: Floats
    count: Ints


Lie = Callable[[Told, Floats, Floats], Told]
"""From what was released, the true means and the standard deviations of releases: what is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Populations are drawn anew for each run."""

    population: Callable[[Generator], Population]
    epsilon: float = 1.0
    half_range: float = HALF_RANGE
    midpoint: float = 0.0
    """Of common bounds. It matters for squares alone."""
    declared: float | None = 1.0
    """The variance that is declared, in parts of the true one; None: squares are released."""
    liars: float = 0.0
    """Their share."""
    lie: Lie = field(default=lambda told, truth, sd: told)
    rounds: int = 10_000
    asked: int | None = None
    """How many agents answer; None: all. Where variances differ every answer is a fit."""
    rare: bool = False
    """Events are so rare that they are not in every run: the error of Local is the exact one."""


def uniform(mean: Floats, sigma: Floats, midpoint: float) -> Sums:
    """Samples from mean - sqrt(3) sigma to mean + sqrt(3) sigma."""
    half, offset = UNIFORM * sigma, mean - midpoint

    def sums(rng: Generator, count: int, agents: Ints) -> tuple[Floats, Floats]:
        h, d = half[agents], offset[agents]
        if count <= MANY:
            u = h * rng.uniform(-1, 1, (count, agents.size)) + d
            return u.sum(axis=0), (u * u).sum(axis=0)
        first, second = rng.normal(size=(2, agents.size))
        u1 = h * sqrt(count / 3) * first
        u2 = h * h * (count / 3 + sqrt(count * 4 / 45) * second)
        return u1 + count * d, u2 + 2 * d * u1 + count * d * d

    return sums


def classes(
    means: list[float],
    *,
    sizes: list[int] | None = None,
    agents: int = 200,
    sigmas: list[float] | None = None,
    midpoint: float = 0.0,
    epsilons: list[float] | None = None,
    paces: list[float] | None = None,
) -> Callable[[Generator], Population]:
    """Of equal means; as many of each as `sizes` says, or at random. So are own epsilons, paces."""

    def population(rng: Generator) -> Population:
        if sizes is None:
            label = rng.integers(0, len(means), agents)
        else:
            label = np.repeat(np.arange(len(means)), sizes)
        mean = np.array(means)[label]
        sigma = np.array(sigmas or [0.5] * len(means))[label]
        return Population(
            mean=mean,
            variance=sigma**2,
            label=label,
            sums=uniform(mean, sigma, midpoint),
            epsilon=None if epsilons is None else rng.choice(epsilons, label.size),
            pace=None if paces is None else rng.choice(paces, label.size),
        )

    return population


def different(
    agents: int,
    spread: float,
    *,
    even: bool = False,
    rising: float = 1.0,
    scattered: float = 1.0,
    outlier: float | None = None,
    midpoint: float = 0.0,
    epsilons: list[float] | None = None,
    paces: list[float] | None = None,
) -> Callable[[Generator], Population]:
    """Every mean different: Gaussian around 1/2, or uniform where `even`.

    `rising`: how much larger variances are two standard deviations above than as much below;
    `scattered`: how much larger they may be, whatever the mean is.
    `outlier`: the mean of the first agent, which is a class of its own.
    """

    def population(rng: Generator) -> Population:
        z = UNIFORM * rng.uniform(-1, 1, agents) if even else rng.normal(size=agents)
        label = np.zeros(agents, dtype=np.int64)
        mean = 0.5 + spread * z
        if outlier is not None:
            mean[0], label[0] = outlier, 1
        sigma = 0.5 * rising ** (np.clip(z, -2, 2) / 8)
        if scattered > 1:
            sigma = 0.5 * scattered ** rng.uniform(-0.25, 0.25, agents)
        return Population(
            mean=mean,
            variance=sigma**2,
            label=label,
            sums=uniform(mean, sigma, midpoint),
            epsilon=None if epsilons is None else rng.choice(epsilons, agents),
            pace=None if paces is None else rng.choice(paces, agents),
        )

    return population


def coins(means: list[float], agents: int = 200) -> Callable[[Generator], Population]:
    """0 or 1, so that the midpoint is 1/2."""

    def population(rng: Generator) -> Population:
        label = rng.integers(0, len(means), agents)
        mean = np.array(means)[label]

        def sums(rng: Generator, count: int, who: Ints) -> tuple[Floats, Floats]:
            heads = rng.binomial(count, mean[who]).astype(np.float64)
            return heads - count / 2, np.full(who.size, count / 4)

        return Population(mean=mean, variance=mean * (1 - mean), label=label, sums=sums)

    return population


def lognormal(agents: int, largest: float) -> Callable[[Generator], Population]:
    """Clamped to 0 ... `largest`; medians differ. Drawn again from 4,000 samples of each agent."""

    def population(rng: Generator) -> Population:
        logs = rng.normal(-1.5, 0.3, (agents, 1)) + rng.normal(size=(agents, 4000))
        pool = np.minimum(np.exp(logs), largest) - largest / 2

        def sums(rng: Generator, count: int, who: Ints) -> tuple[Floats, Floats]:
            picked = rng.integers(0, pool.shape[1], (who.size, count))
            values = np.take_along_axis(pool[who], picked, axis=1)
            return values.sum(axis=1), (values * values).sum(axis=1)

        return Population(
            mean=pool.mean(axis=1) + largest / 2,
            variance=pool.var(axis=1),
            label=np.zeros(agents, dtype=np.int64),
            sums=sums,
        )

    return population


def skewed(
    means: list[float], concentration: float, agents: int = 200
) -> Callable[[Generator], Population]:
    """Beta within 0 to 1, in classes. Drawn again from 4,000 samples of each."""

    def population(rng: Generator) -> Population:
        label = rng.integers(0, len(means), agents)
        pools = np.array(
            [rng.beta(concentration * m, concentration * (1 - m), 4000) for m in means]
        )
        pools -= 0.5

        def sums(rng: Generator, count: int, who: Ints) -> tuple[Floats, Floats]:
            picked = rng.integers(0, pools.shape[1], (who.size, count))
            values = np.take_along_axis(pools[label[who]], picked, axis=1)
            return values.sum(axis=1), (values * values).sum(axis=1)

        return Population(
            mean=pools.mean(axis=1)[label] + 0.5,
            variance=pools.var(axis=1)[label],
            label=label,
            sums=sums,
        )

    return population


def biased(by: float) -> Lie:
    """The release, moved."""
    return lambda told, truth, sd: Told(told.mean + by, told.count)


def off(deviations: float) -> Lie:
    """So many standard deviations from the truth, for ever."""
    return lambda told, truth, sd: Told(truth + deviations * sd, told.count)


def all_say(value: float) -> Lie:
    """The same."""
    return lambda told, truth, sd: Told(np.full_like(truth, value), told.count)


def false_class(mean: float, scatter: float = 1.0) -> Lie:
    """A class that is not there, its releases scattered as honest ones are, or a part of that."""
    return lambda told, truth, sd: Told(scatter * (told.mean - truth) + mean, told.count)


def overstated(by: float, times: int) -> Lie:
    """The truth moved a little, and a count that is so many times too large."""
    return lambda told, truth, sd: Told(truth + by, told.count * times)
