"""Random event sequences, legal and not: purity, unchanged state after errors, exact restores."""

import json
import math
from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from colme.errors import ColmeError
from colme.protocol.agent import Agent
from colme.protocol.events import Begin, Deadline, Effects, Event, Observe, Received
from colme.protocol.messages import ConsensusMessage, Message, ReleaseMessage, SizeMessage
from colme.protocol.rounds.paper import Paper
from colme.protocol.rounds.state import Phase
from colme.protocol.settings import Settings
from colme.rules.decision import Bernstein, PowerTheta
from colme.rules.release import Profile, Release

SETTINGS = Settings(
    name="me",
    neighbours=("a", "b", "c"),
    profile=Profile.bounded(0, 1, epsilon=3),
    algorithm=Paper(rule=Bernstein(PowerTheta(1, 1 / 2))),
)

rounds = st.integers(1, 4)
values = st.floats(-10, 10)
releases = st.builds(
    Release,
    count=st.integers(1, 5),
    mean=values,
    variance=st.floats(0, 10),
    beta=st.floats(0, 10),
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(ReleaseMessage, round=rounds, release=st.none() | releases),
    st.builds(
        SizeMessage,
        round=rounds,
        size=st.integers(1, 4),
        degree=st.just(3),
        accepts=st.booleans(),
    ),
    st.builds(ConsensusMessage, round=rounds, value=values),
)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(Observe, st.floats() | st.just(math.nan)),
    st.builds(Begin, rounds, st.lists(st.integers(-99, 99), max_size=3).map(tuple)),
    st.builds(Received, st.sampled_from(["a", "b", "c", "stranger"]), messages),
    st.just(Deadline()),
)


def attempt(agent: Agent, event: Event) -> Effects | str:
    before = agent.snapshot()
    try:
        return agent.step(event)
    except ColmeError as error:
        assert agent.snapshot() == before, "an error must leave the agent as it was"
        return str(error)


def played(sequence: list[Event], restore_at: int) -> Iterator[Agent]:
    """An agent after each event. A twin is restored on the way, and can't be told from it."""
    agent, twin = Agent(SETTINGS), Agent(SETTINGS)
    for place, event in enumerate(sequence):
        if place == restore_at:
            stored = json.dumps(twin.snapshot(), allow_nan=False)
            twin = Agent.restore(SETTINGS, json.loads(stored))
            assert twin.snapshot() == agent.snapshot()
        assert repr(attempt(agent, event)) == repr(attempt(twin, event))
        yield agent
    assert agent.snapshot() == twin.snapshot()


@settings(deadline=None, max_examples=150)
@given(st.lists(events, max_size=40), st.data())
def test_same_events_same_effects_and_a_restored_agent_cannot_be_told_apart(
    sequence: list[Event], data: st.DataObject
) -> None:
    for _ in played(sequence, data.draw(st.integers(0, len(sequence)))):
        pass


@st.composite
def working_rounds(draw: st.DrawFn) -> list[Event]:
    """Rounds that a real network could bring about: messages in any order, some of them missing."""
    sequence: list[Event] = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        sequence.append(Observe(draw(st.floats(-0.5, 1.5))))
        sequence.append(Begin(number, (draw(st.integers(-(10**6), 10**6)),)))
        arriving: list[Event] = [
            Received(peer, message)
            for peer in SETTINGS.neighbours
            for message in (
                ReleaseMessage(round=number, release=draw(st.none() | releases)),
                SizeMessage(
                    round=number,
                    size=draw(st.integers(1, 4)),
                    degree=3,
                    accepts=draw(st.booleans()),
                ),
                ConsensusMessage(round=number, value=draw(values)),
            )
            if draw(st.integers(0, 9))
        ]
        sequence += draw(st.permutations(arriving))
        sequence += [Deadline()] * 3
    return sequence


@settings(deadline=None, max_examples=100)
@given(working_rounds(), st.data())
def test_restored_mid_round_it_goes_on_alike(sequence: list[Event], data: st.DataObject) -> None:
    agent = Agent(SETTINGS)
    stands = [(agent.round, agent.phase)]
    for agent in played(sequence, data.draw(st.integers(0, len(sequence) - 1))):
        stands.append((agent.round, agent.phase))
    ends = [now for before, now in pairwise(stands) if now != before and now[1] is Phase.IDLE]
    assert len(ends) == agent.round, "three deadlines end any round"
    assert math.isfinite(agent.estimate.value)
    assert 1 <= agent.estimate.class_size <= 4
