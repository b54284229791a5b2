"""Forecast the error of the paper's algorithm, once classes are told apart.

It averages over the connected component of an agent's class. The time follows from the test of an
edge: how often it still accepts a neighbour of the nearest other class. Before that, the algorithm
is worse than staying alone, by a factor that is not forecast.
"""

from functools import lru_cache
from math import erf, isinf, nan, sqrt

import numpy as np

from colme.plan.question import IntArray, Point, Question
from colme.rules.bernstein import bounded_parameter, uniform_parameter
from colme.rules.decision import Bernstein, nearest_paper_theta
from colme.rules.release import Profile, Release, sigma2_dp
from colme.sim.graphs import random_component_sizes

GRAPHS = 100
"""Random graphs and placements to average over."""

RARELY = 1e-4
"""Share of edges between classes that may still be accepted."""

SETTLED = 3.0
"""Times the samples until then: edges still flicker, and values have to travel. Measured against
simulations: docs/planner.md."""

STEPPED = 20 / 19
"""Factor of the stepped alpha in place of the 2 of Theorem 1.

alpha = 1 - 10 / t weighs the mean of round s by 10 s^9 / t^10, and means of rounds s and s' have
1 / max(s, s') in common: the expectation of t / max of two draws from that density.
"""

LONGEST = 10**6
"""Samples up to which the time is searched."""


@lru_cache(maxsize=256)
def told_apart(question: Question) -> int | None:
    """Return after how many samples edges between classes are hardly ever accepted.

    None if never, or if all agents have means of their own.
    """
    if question.spread > 0:
        return None
    centres = np.unique(question.means)
    if centres.size == 1:
        return 1
    gap = float(np.diff(centres).min())
    # It rises first, as nothing is accepted at all: the last time is what counts.
    spaced = np.geomspace(1, LONGEST, 120).astype(np.int64)
    counts: list[int] = np.unique(spaced).tolist()
    often = [count for count in counts if _acceptance(question, count, gap) > RARELY]
    if not often:
        return 1
    low = often[-1]
    if low == counts[-1]:
        return None
    high = counts[counts.index(low) + 1]
    while high - low > 1:
        middle = (low + high) // 2
        still = _acceptance(question, middle, gap) > RARELY
        low, high = (middle, high) if still else (low, middle)
    return high


def paper(question: Question, count: int, *, seed: int) -> Point:
    """Return the error ratio of the paper's algorithm after so many samples."""
    apart = told_apart(question)
    if apart is None or count < SETTLED * apart:
        return Point(count, nan)
    noise = sigma2_dp(question.bound, question.epsilon)
    ratios = []
    for sizes in _components(question.agents, question.degree, question.classes, seed):
        shared = STEPPED * (question.sigma2 + noise) / sizes
        ratios.append(float(np.mean(np.where(sizes <= 2, question.sigma2, shared))))
    return Point(count, float(np.mean(ratios)) / question.sigma2)


@lru_cache(maxsize=64)
def _components(agents: int, degree: int, classes: int, seed: int) -> list[IntArray]:
    generator = np.random.default_rng(seed)
    return list(random_component_sizes(agents, degree, classes, GRAPHS, generator))


def _acceptance(question: Question, count: int, gap: float) -> float:
    """Return the probability that an edge is accepted whose ends' means differ by `gap`."""
    bound, wide = question.bound, question.bound > 1.001 * question.sigma * 3**0.5
    profile = Profile(
        bounds=(-bound, bound),
        sigma2=question.sigma2,
        # The default bounds are those of uniform data; of others nothing but the bounds is known.
        beta=bounded_parameter(2 * bound) if wide else uniform_parameter(bound),
        epsilon=question.epsilon,
    )
    rule = Bernstein(nearest_paper_theta(question.degree, question.epsilon))
    variance = profile.released_variance(count, count)
    beta = rule.parameter(profile, count, count)
    release = Release(count=count, mean=0.0, variance=variance, beta=beta)
    z, spread = rule.threshold(release, release), sqrt(2 * variance)
    if spread == 0 or isinf(z):
        return float(gap < z)
    return _normal((z - gap) / spread) - _normal((-z - gap) / spread)


def _normal(x: float) -> float:
    return (1 + erf(x / sqrt(2))) / 2
