"""Forecast relay's error: answers from boards that are drawn as they would be after n samples.

Nothing is simulated round by round. The released mean of every agent after n samples is drawn at
once, with the blocks, weights and noise that it would have; the library answers from that board;
the error is averaged over all agents and some boards. Variances are known.
"""

from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from colme.experiment.statistics import BatchMean
from colme.experiment.streams import RandomStream, generator
from colme.inference.answers import Owners, answers, tabulated
from colme.inference.compiled import bring_compiler
from colme.plan.question import FloatArray, IntArray, Point, Question
from colme.rules.release import laplace_scale
from colme.rules.weighing import WeighedBlocks, blend, blocks
from colme.sim.engines.relay.boards import hops
from colme.sim.graphs import random_regular

EARLY = range(8, 256, 16)
"""Sixteen of the 256 ways to end the first block early, which stand for all."""


def relay(question: Question, count: int, *, draws: int, seed: int) -> Point:
    """Return the error ratio of relay when every agent has so many samples."""
    bring_compiler()
    drawn = generator(seed, RandomStream.FORECAST, count)
    rows = np.array([_board(question, count, drawn) for _ in range(draws)])
    return Point(count, *_adjusted(rows[:, 0], rows[:, 1:]))


def _board(question: Question, count: int, generator: Generator) -> tuple[float, float, float]:
    """Draw a board; return the mean squared error of all agents, and two controls.

    A control is by how much the mean squared error of another answer exceeds its expectation,
    which is known: of the own mean, and of the mean that an oracle would make of the same records.
    All three are in units of the expected squared error alone.
    """
    truth, alike = question.draw_truth(generator)
    lag = _lags(question, generator)
    early = generator.integers(len(EARLY), size=question.agents)
    sigma2, agents = question.sigma2, question.agents
    made_of, weights = np.zeros((4, agents)), {}
    for e in range(len(EARLY)):
        for age in np.unique(lag[early == e]).tolist():
            who = (early == e) & (lag == age)
            parts, of_blocks = _release(question.epsilon, EARLY[e], count - age)
            made_of[:, who] = parts[:, None]
            if of_blocks.size:
                weights[e, age] = who, of_blocks
    data, noise = made_of[0], made_of[1]
    told = np.zeros(agents)
    own_data = generator.normal(0, np.sqrt(sigma2 * data))
    scale = laplace_scale(question.bound, question.epsilon)
    for who, of_blocks in weights.values():
        loud = generator.laplace(0, scale, (np.count_nonzero(who), of_blocks.size))
        told[who] = own_data[who] + loud @ of_blocks
    there = data > 0
    # A mean of all samples and a weighed one of some of them have sigma2 / count in common.
    common = np.divide(1 / count, data, out=np.zeros(agents), where=there)
    rest = sigma2 / count * (1 - np.minimum(common, 1.0) * there)
    own = common * own_data + generator.normal(0, np.sqrt(rest))
    answered = _answers(question, count, truth + told, truth + own, made_of, there)
    unit = sigma2 / count
    v = np.where(there, data * sigma2 + noise * question.bound**2, np.inf)
    return (
        float(np.mean((answered - truth) ** 2)) / unit,
        float(np.mean(own**2)) / unit - 1,
        _oracle_is_off(own, told, v, alike, unit) / unit,
    )


def _answers(
    question: Question,
    count: int,
    told: FloatArray,
    own: FloatArray,
    made_of: FloatArray,
    there: NDArray[np.bool_],
) -> FloatArray:
    held, agents = np.flatnonzero(there), question.agents
    middle = float(np.mean(question.means))
    board = tabulated(
        mean=told[held],
        square=np.full(held.size, np.nan),
        variance=np.full(held.size, question.sigma2),
        made_of=made_of[:, held],
        half_range=np.full(held.size, question.bound),
        # Nearly the middle of every agent's bounds: it limits how far a release is believed.
        midpoint=np.full(held.size, middle),
        origin=middle,
        unit=question.bound,
    )
    owners = Owners(
        mean=own,
        count=np.full(agents, float(count)),
        variance=np.full(agents, question.sigma2),
        known=np.ones(agents, np.bool_),
        half_range=np.full(agents, question.bound),
        index=np.where(there, np.cumsum(there) - 1, -1),
    )
    return answers(board, owners).value


def _oracle_is_off(
    own: FloatArray, told: FloatArray, v: FloatArray, alike: IntArray, unit: float
) -> float:
    """Return by how much the squared errors of agents that know their class exceed expectation."""
    size = alike.max() + 1
    precision = np.bincount(alike, 1 / v, size)[alike] - 1 / v
    weighed = np.bincount(alike, np.where(np.isinf(v), 0, told / v), size)[alike]
    weighed = weighed - np.where(np.isinf(v), 0, told / v)
    whole = precision + 1 / unit
    return float(np.mean(((weighed + own / unit) / whole) ** 2 - 1 / whole))


def _adjusted(values: FloatArray, controls: FloatArray) -> tuple[float, float]:
    """Return the mean less the luck that the controls show, and its standard error.

    Late, that luck is nearly all of the error.
    """
    draws, number = controls.shape
    freedom = draws - 1
    if draws >= 3 * (number + 1):
        design = np.column_stack([np.ones(draws), controls])
        found, *_ = np.linalg.lstsq(design, values, rcond=None)
        values = values - controls @ found[1:]
        freedom -= number  # each control costs one
    mean = BatchMean(values, np.ones(draws))
    error = float(mean.error) * ((draws - 1) / max(freedom, 1)) ** 0.5
    return float(mean.value), error


@lru_cache(maxsize=1024)
def _release(epsilon: float, early: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the variance terms of a release of so many samples, and each block's noise weight."""
    schedule = WeighedBlocks(epsilon, early)
    if count < schedule.next_end(0):
        return np.zeros(4), np.zeros(0)
    made_of = blend(schedule, count)
    weights, end = [], 0
    for samples, draws in blocks(schedule, 0, 0):
        end += samples
        weights.append(schedule.weights(samples, draws).sum / made_of.weight)
        if end >= made_of.count:
            break
    return np.array(made_of.shares), np.array(weights)


def _lags(question: Question, generator: Generator) -> IntArray:
    """Return how many rounds old each agent's record is where a random agent reads it.

    An agent without a path to the reader has no record there: `FAR`.
    """
    graph = random_regular(question.agents, question.degree, generator)
    reader = int(generator.integers(question.agents))
    distance = hops(graph, np.array([reader]))[0]
    return np.where(np.isinf(distance), FAR, np.maximum(distance - 1, 0)).astype(np.int64)


FAR = 2**40
"""Age of a record without a path to the reader."""
