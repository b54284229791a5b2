"""Noise is as wide as the ledger promises, for sums and squares, block by block.

`test_post_processing.py` shows that what leaves is the same where draws are moved by the difference
of two streams. How much likelier that makes them is what the streams' difference costs: at most
epsilon, for replacing any one sample by any other.
"""

from fractions import Fraction
from itertools import pairwise
from math import inf

import pytest

from colme.privacy.ledger import Ledger, entry_between
from colme.protocol.agent import Agent
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Blocks, Profile
from support.twins import LATTICE, Reckoning, stream

EPSILONS = [0.1, 1.0, 2.0, 3.7, 8.0]
BOUNDS = [(0.0, 1.0), (-3.0, 11.0)]


def algorithms(epsilon: float) -> dict[str, Algorithm]:
    return {
        "paper": Paper(),
        "paper in blocks": Paper(schedule=Blocks(epsilon)),
        "relay": Relay(release_squares=False),
        "relay with squares": Relay(),
    }


def alone(epsilon: float, bounds: tuple[float, float], case: str) -> Agent:
    profile = Profile.bounded(*bounds, epsilon=epsilon)
    algorithm = algorithms(epsilon)[case]
    return Agent(
        Settings(
            name="me", identity=InProcess("me"), neighbours=(), profile=profile, algorithm=algorithm
        )
    )


def scales_by_block(agent: Agent, rounds: int) -> list[tuple[float, ...]]:
    """What it asks for while it lives, for each block in order."""
    each = 2 if agent.settings.algorithm.release_squares else 1
    asked: list[tuple[float, ...]] = []
    for samples in stream(rounds, seed=30):
        for sample in samples:
            agent.observe(sample)
        due = agent.draws_due
        asked += [due[place : place + each] for place in range(0, len(due), each)]
        agent.step(Begin(agent.round + 1, (7,) * len(due)))
    return asked


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("case", algorithms(1.0))
def test_no_sample_of_any_block_costs_more_than_epsilon(
    case: str, epsilon: float, bounds: tuple[float, float]
) -> None:
    """And some cost epsilon: no more noise is drawn than that takes. In fractions, so exact."""
    agent = alone(epsilon, bounds, case)
    asked = scales_by_block(agent, rounds=132)
    assert len(asked) == agent.counts.blocks >= 3
    reckoning, promise = Reckoning.of(agent.settings), Fraction(epsilon)
    for scales in set(asked):
        assert promise * (1 - Fraction(1, 2**51)) <= reckoning.dearest(scales) <= promise


@pytest.mark.parametrize("case", algorithms(1.0))
def test_the_ledger_lists_every_block_once_under_that_epsilon(case: str) -> None:
    """Its entries join, and count as many blocks as got draws, whatever ends in a round."""
    agent = alone(3.7, (0.0, 1.0), case)
    each = 2 if agent.settings.algorithm.release_squares else 1
    entries, drawn = [], []
    for samples in stream(132, seed=31):
        before = Ledger.of(agent)
        for sample in samples:
            agent.observe(sample)
        due = len(agent.draws_due)
        agent.step(Begin(agent.round + 1, (7,) * due))
        entry = entry_between(before, Ledger.of(agent), round=agent.round)
        assert (entry is None) == (due == 0)
        if entry is not None:
            entries.append(entry)
            drawn.append(due // each)
    assert [entry.blocks for entry in entries] == drawn
    assert max(drawn) > 1
    assert {entry.epsilon for entry in entries} == {3.7}
    assert entries[0].first == 1
    assert all(later.first == entry.last + 1 for entry, later in pairwise(entries))
    assert entries[-1].last == agent.counts.released


def test_without_privacy_there_is_no_noise_and_with_it_never_none() -> None:
    assert set(scales_by_block(alone(inf, (0.0, 1.0), "paper"), rounds=24)) == {(0.0,)}
    assert all(
        min(scales) > LATTICE / 10
        for scales in scales_by_block(alone(8.0, (0.0, 1.0), "relay with squares"), rounds=24)
    )
