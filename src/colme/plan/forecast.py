"""The forecast: from how many samples on it pays, by how much, at which epsilon.

That of the paper's algorithm is a closed form, once classes are told apart: it averages over the
connected component of an agent's class. The time follows from the test of an edge: how often it
still accepts a neighbour of the nearest other class. Before that, the algorithm is worse than
staying alone, by a factor that is not forecast.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import erf, inf, isinf, nan, sqrt
from typing import cast, get_args

import numpy as np

from colme.algorithms import resolved
from colme.errors import ConfigError, one_of
from colme.plan.question import AlgorithmName, IntArray, Point, Question
from colme.plan.relay_forecast import relay
from colme.rules.bernstein import bounded_parameter, uniform_parameter
from colme.rules.decision import Bernstein, nearest_paper_theta
from colme.rules.release import Profile, Release, sigma2_dp
from colme.sim.graphs import random_component_sizes

PAYS = 0.95
"""Largest error ratio at which it pays: a smaller gain is lost in what is not known."""

BOARDS = 24
"""Boards drawn for each point of a curve; half as many for each step of a search."""

EPSILONS = (0.02, 16.0)
"""Range in which the smallest epsilon is searched, to a fifth."""

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


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A changed question: its error ratio early, where the error is about halved, and late."""

    what: str
    early: Point
    late: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The forecast for one algorithm."""

    algorithm: AlgorithmName
    question: Question
    curve: tuple[Point, ...]
    """Error ratio over the samples of each agent; the last point is the horizon."""
    pays_from: int | None
    """Samples from which on the ratio is about `PAYS` or less; None if not within the horizon."""
    smallest_epsilon: float | None
    """Epsilon from which on it pays at the horizon, to a fifth, at least 0.02; None if none."""
    changes: tuple[Otherwise, ...]
    """Changed questions, after the one that was asked."""

    @property
    def pays(self) -> bool:
        """Whether it pays at the horizon."""
        return self.curve[-1].ratio <= PAYS


def forecast(
    question: Question,
    algorithm: AlgorithmName = "relay",
    *,
    samples: int = 30_000,
    boards: int = BOARDS,
    seed: int = 1,
) -> Forecast:
    """Forecast the error ratio with up to so many samples of each agent.

    Parameters
    ----------
    question
        The agents, their graph and their data.
    algorithm
        `relay`: answers from drawn boards; `paper`: a closed form on random graphs.
    samples
        Samples of each agent at the horizon, at least 2.
    boards
        Boards drawn for each point of relay's curve.
    seed
        Seed of the draws.

    Raises
    ------
    ConfigError
        If the algorithm has another name, or a number is too small.
    """
    algorithm = cast(AlgorithmName, resolved(algorithm))
    if algorithm not in get_args(AlgorithmName):
        raise ConfigError("algorithm", algorithm, one_of(algorithm, get_args(AlgorithmName)))
    if samples < 2:
        raise ConfigError("samples", samples, "at least 2")
    if boards < 1:
        raise ConfigError("boards", boards, "at least 1")
    few = max(1, boards // 2)

    def at(asked: Question, count: int, draws: int) -> Point:
        return expected(asked, algorithm, count, boards=draws, seed=seed)

    curve = tuple(at(question, count, boards) for count in _counts(samples))
    pays_from = _first(curve, lambda count: at(question, count, few).ratio <= PAYS)
    halved = [point.samples for point in curve if point.ratio <= 0.5]
    early = halved[0] if halved else curve[len(curve) // 2].samples

    def pays_at(epsilon: float) -> bool:
        asked = question.model_copy(update={"epsilon": epsilon})
        return at(asked, samples, few).ratio <= PAYS

    def if_it_were(what: str, change: Mapping[str, float]) -> Otherwise:
        asked = question.model_copy(update=change)
        return Otherwise(what, at(asked, early, few), at(asked, samples, few))

    return Forecast(
        algorithm=algorithm,
        question=question,
        curve=curve,
        pays_from=pays_from,
        smallest_epsilon=_smallest(pays_at),
        changes=tuple(if_it_were(*change) for change in _otherwise(question)),
    )


def expected(
    question: Question, algorithm: AlgorithmName, count: int, *, boards: int = BOARDS, seed: int = 1
) -> Point:
    """Return the error ratio when every agent has so many samples."""
    if algorithm == "relay":
        return relay(question, count, draws=boards, seed=seed)
    return paper(question, count, seed=seed)


def _counts(samples: int) -> list[int]:
    """Return two counts in every decade from ten on, and the last."""
    counts = [round(10 ** (1 + half / 2)) for half in range(20)]
    return [*(count for count in counts if count < 0.7 * samples), samples]


def _first(curve: tuple[Point, ...], pays: Callable[[int], bool]) -> int | None:
    """Return the count from which on all points pay, by halving between two of the curve."""
    late = len(curve)
    while late > 0 and curve[late - 1].ratio <= PAYS:
        late -= 1
    if late == len(curve):
        return None
    if late == 0:
        return curve[0].samples
    low, high = curve[late - 1].samples, curve[late].samples
    while high > 1.2 * low:
        middle = round(sqrt(low * high))
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high


def _smallest(pays: Callable[[float], bool]) -> float | None:
    """Return the smallest epsilon that pays, to a fifth."""
    low, high = EPSILONS
    if not pays(high):
        return inf if pays(inf) else None
    if pays(low):
        return low
    while high > 1.2 * low:
        middle = sqrt(low * high)
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high


def _otherwise(question: Question) -> list[tuple[str, Mapping[str, float]]]:
    """Return no change of the question, then each change of it alone."""
    changes: list[tuple[str, Mapping[str, float]]] = [
        ("as planned", {}),
        ("bounds twice as wide", {"half_range": 2 * question.bound}),
    ]
    fewer = max(2, question.agents // 2)
    among_fewer = min(question.degree, fewer - 1)
    fewer += fewer * among_fewer % 2  # a graph of odd degree has an even number of agents
    if fewer < question.agents:
        changes.append(("half the agents", {"agents": fewer, "degree": among_fewer}))
    half = question.degree // 2
    half += question.agents * half % 2
    if half < question.degree:
        what = f"{half} neighbours instead of {question.degree}"
        changes.append((what, {"degree": half}))
    if not isinf(question.epsilon):
        changes.append(("half the epsilon", {"epsilon": question.epsilon / 2}))
    return changes


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
