"""The forecast: from how many samples on it pays, by how much, at which epsilon."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isinf, sqrt
from typing import cast, get_args

from colme.algorithms import resolved
from colme.errors import ConfigError, one_of
from colme.plan.paper_forecast import paper
from colme.plan.question import AlgorithmName, Point, Question
from colme.plan.relay_forecast import relay

PAYS = 0.95
"""Largest error ratio at which it pays: a smaller gain is lost in what is not known."""

BOARDS = 24
"""Boards drawn for each point of a curve; half as many for each step of a search."""

EPSILONS = (0.02, 16.0)
"""Range in which the smallest epsilon is searched, to a fifth."""


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

    def if_it_were(what: str, asked: Question) -> Otherwise:
        return Otherwise(what, at(asked, early, few), at(asked, samples, few))

    return Forecast(
        algorithm=algorithm,
        question=question,
        curve=curve,
        pays_from=pays_from,
        smallest_epsilon=_smallest(
            lambda epsilon: at(replace(question, epsilon=epsilon), samples, few).ratio <= PAYS
        ),
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


def _otherwise(question: Question) -> list[tuple[str, Question]]:
    """Return the question, and each change of it alone."""
    changes = [
        ("as planned", question),
        ("bounds twice as wide", replace(question, half_range=2 * question.bound)),
    ]
    fewer = max(2, question.agents // 2)
    among_fewer = min(question.degree, fewer - 1)
    fewer += fewer * among_fewer % 2  # a graph of odd degree has an even number of agents
    if fewer < question.agents:
        changes.append(("half the agents", replace(question, agents=fewer, degree=among_fewer)))
    half = question.degree // 2
    half += question.agents * half % 2
    if half < question.degree:
        what = f"{half} neighbours instead of {question.degree}"
        changes.append((what, replace(question, degree=half)))
    if not isinf(question.epsilon):
        changes.append(("half the epsilon", replace(question, epsilon=question.epsilon / 2)))
    return changes
