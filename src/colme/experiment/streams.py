"""Random streams of simulator, studies, explorer and planner: one number for each.

A stream is seeded with the experiment's seed, its own number, and indices such as the run or the
batch. Streams with different numbers are unrelated. numpy pads seeds with zeros: `[seed, 22]` and
`[seed, 22, 0]` are one stream, and the seed alone is `[seed, 0]`. So no stream has the number 0, no
two share one, and each is always given as many indices.

A number is part of a result: to change it changes every result that the stream takes part in.
"""

from enum import IntEnum, unique

import numpy as np
from numpy.random import Generator, SeedSequence


@unique
class RandomStream(IntEnum):
    """Number of every random stream; its docstring names the indices that go with it."""

    # Scenarios. 3 and 4 were the block noise of an algorithm that is retired.
    GRAPH = 1
    """degree, batch"""
    CLASSES = 2
    """run"""
    LIARS = 11
    """run: which agents are dishonest"""
    JUMP = 12
    """run: which agents move, and where to"""
    WALK = 13
    """run, block of rounds"""
    MEANS = 14
    """run: everybody's mean, where it is drawn"""
    LIES = 15
    """run: what is random about lies"""

    # The engine of relay.
    KEYS = 21
    """first run of the batch: publisher IDs"""
    NOISE = 22
    """run: of block means"""
    NOISE_OF_SQUARES = 23
    """run"""
    EVALUATED = 24
    """first run of the batch, 0: the evaluated agents; 1: those that stand in for dishonest ones"""

    # Studies of the user's data.
    STUDY_ROWS = 31
    """run: rows drawn with replacement"""
    STUDY_HALVES = 32
    """run: which rows are held out"""
    STUDY_GRAPH = 33
    """first run of the batch"""
    STUDY_NOISE = 34
    """run"""
    STUDY_EVALUATED = 35
    """the order in which sites are evaluated"""

    # The explorer's network of agents.
    EXPLORER_CLASSES = 41
    EXPLORER_SAMPLES = 42
    EXPLORER_NOISE = 43

    # The planner.
    FORECAST = 51
    """samples: boards drawn at that count"""


def generator(seed: int, stream: RandomStream, *index: int) -> Generator:
    """Return the generator of a stream, at its beginning."""
    return np.random.default_rng(sequence(seed, stream, *index))


def sequence(seed: int, stream: RandomStream, *index: int) -> SeedSequence:
    """Return the seed of a stream, for generators that are not numpy's."""
    return SeedSequence([seed, stream, *index])
