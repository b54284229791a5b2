"""The agent's moves: legal ones, and illegal ones that leave it as it was."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from colme.errors import (
    ColmeError,
    ConfigError,
    LocalProtocolError,
    MessageError,
    RemoteProtocolError,
    SampleError,
    SnapshotError,
)
from colme.protocol.agent import Agent
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin, Deadline, Event, Observe, Part, Received, Returned
from colme.protocol.messages import ConsensusMessage, Message, ReleaseMessage, SizeMessage
from colme.protocol.rounds.paper import Paper
from colme.protocol.rounds.state import Phase
from colme.protocol.settings import Settings
from colme.rules.decision import Oracle, ThresholdRule
from colme.rules.release import Profile, Release
from support.refusing import refused

PROFILE = Profile.bounded(0, 1, epsilon=2)
MEAN = Release(count=1, mean=0.5, variance=0.1, beta=0.1)


def make_agent(*neighbours: str) -> Agent:
    rule = Oracle(frozenset(neighbours))
    algorithm = Paper(rule=rule)
    return Agent(
        Settings(
            name="me",
            identity=InProcess("me"),
            neighbours=neighbours,
            profile=PROFILE,
            algorithm=algorithm,
        )
    )


def release(number: int, value: Release | None = MEAN) -> ReleaseMessage:
    return ReleaseMessage(round=number, release=value)


def size(number: int, value: int = 2, accepts: bool = True) -> SizeMessage:
    return SizeMessage(round=number, size=value, degree=value, accepts=accepts)


def consensus(number: int, value: float = 0.5) -> ConsensusMessage:
    return ConsensusMessage(round=number, value=value)


def deliver_round(agent: Agent, peer: str, number: int) -> None:
    for message in (release(number), size(number), consensus(number)):
        agent.step(Received(peer, message))


def begin(agent: Agent, number: int, sample: float = 0.5) -> None:
    agent.observe(sample)
    agent.step(Begin(number, (0,) * len(agent.draws_due)))


def phase_of(agent: Agent) -> Phase:
    return agent.phase


def test_a_round_sends_three_exchanges_and_then_ends() -> None:
    agent = make_agent("peer")
    agent.observe(0.75)
    sent: list[Message] = []
    phases = []
    for event in (
        Begin(1, (7,)),
        Received("peer", release(1)),
        Received("peer", size(1)),
        Received("peer", consensus(1)),
    ):
        effects = agent.step(event)
        sent += [message for _, message in effects.send]
        phases.append(agent.phase)
    assert [type(message) for message in sent] == [ReleaseMessage, SizeMessage, ConsensusMessage]
    assert phases == list(Phase)
    assert agent.estimate.value == agent.estimate.alone == 0.75


def test_messages_ahead_of_time_wait_for_their_exchange_and_round() -> None:
    agent = make_agent("a", "b")
    begin(agent, 1)
    deliver_round(agent, "a", 1)
    agent.step(Received("a", release(2)))
    assert phase_of(agent) is Phase.RELEASE
    deliver_round(agent, "b", 1)
    assert phase_of(agent) is Phase.IDLE
    begin(agent, 2)
    agent.step(Received("b", release(2)))
    assert phase_of(agent) is Phase.SIZE


def test_an_agent_without_a_release_is_nobodys_neighbour() -> None:
    agent = make_agent("peer")
    agent.step(Begin(1, ()))
    effects = agent.step(Received("peer", release(1)))
    ((_, message),) = effects.send
    assert isinstance(message, SizeMessage)
    assert (message.size, message.accepts) == (1, False)
    agent.step(Received("peer", size(1, 1, accepts=False)))
    agent.step(Received("peer", consensus(1)))
    assert phase_of(agent) is Phase.IDLE
    with refused(LocalProtocolError, "estimate", seen="no samples"):
        agent.estimate  # noqa: B018


def test_an_edge_counts_only_if_it_worked_both_ways() -> None:
    """The neighbour did not get my release, so it does not use the edge; nor do I."""
    agent, alone = make_agent("peer"), make_agent()
    for number in (1, 2, 3):
        begin(agent, number)
        begin(alone, number)
        agent.step(Received("peer", release(number)))
        agent.step(Received("peer", size(number, accepts=False)))
        agent.step(Received("peer", consensus(number, 100.0)))
        assert agent.consensus == alone.consensus


def test_without_last_rounds_consensus_value_the_edge_rests_but_the_topology_stays() -> None:
    agent = make_agent("peer")
    begin(agent, 1)
    deliver_round(agent, "peer", 1)
    begin(agent, 2)
    agent.step(Received("peer", release(2)))
    agent.step(Received("peer", size(2)))
    agent.step(Deadline())
    begin(agent, 3)
    ((_, message),) = agent.step(Received("peer", release(3))).send
    assert isinstance(message, SizeMessage)
    assert not message.accepts
    assert agent.accepted == {"peer"}


def test_a_deadline_closes_one_exchange_and_late_messages_are_counted_and_dropped() -> None:
    agent, other = make_agent("a", "b"), make_agent("a", "b")
    for machine in (agent, other):
        begin(machine, 1)
        machine.step(Received("a", release(1)))
        machine.step(Deadline())
        assert phase_of(machine) is Phase.SIZE
    agent.step(Received("b", release(1)))
    for machine in (agent, other):
        machine.step(Received("a", size(1)))
        machine.step(Deadline())
    assert agent.late == {"a": 0, "b": 1}
    assert agent.consensus == other.consensus


def test_three_missed_rounds_make_a_suspect_and_two_clean_ones_bring_it_back() -> None:
    agent = make_agent("a", "b")
    waits = []
    for number in range(1, 9):
        begin(agent, number)
        deliver_round(agent, "a", number)
        waits.append(agent.phase is not Phase.IDLE)
        if number in (5, 6) or number == 8:
            deliver_round(agent, "b", number)
        while agent.phase is not Phase.IDLE:
            agent.step(Deadline())
    assert waits == [True, True, True, False, False, False, True, True]


def test_a_suspect_that_returned_is_waited_for_from_the_next_round_on() -> None:
    agent = make_agent("a", "b")
    for number in range(1, 4):
        begin(agent, number)
        deliver_round(agent, "a", number)
        while agent.phase is not Phase.IDLE:
            agent.step(Deadline())
    begin(agent, 4)
    assert agent.suspects == {"b"}
    agent.step(Returned("b"))
    deliver_round(agent, "a", 4)
    assert phase_of(agent) is Phase.IDLE
    begin(agent, 5)
    assert agent.suspects == frozenset()
    deliver_round(agent, "a", 5)
    assert phase_of(agent) is Phase.RELEASE


def test_a_neighbour_that_has_gone_on_to_the_next_round_is_not_waited_for() -> None:
    """Messages arrive in order: what it has not sent of this round will not come."""
    agent = make_agent("a", "b")
    begin(agent, 1)
    deliver_round(agent, "a", 1)
    agent.step(Received("b", release(2)))
    assert phase_of(agent) is Phase.IDLE


def test_a_neighbour_that_missed_an_exchange_is_not_waited_for_again_in_that_round() -> None:
    agent = make_agent("a", "b")
    begin(agent, 1)
    agent.step(Received("a", release(1)))
    assert agent.awaited == {"b"}
    agent.step(Deadline())
    assert agent.awaited == {"a"}
    agent.step(Received("a", size(1)))
    agent.step(Received("a", consensus(1)))
    assert phase_of(agent) is Phase.IDLE
    begin(agent, 2)
    assert agent.awaited == {"a", "b"}


def test_missed_rounds_are_never_replayed() -> None:
    agent = make_agent("peer")
    begin(agent, 1)
    deliver_round(agent, "peer", 1)
    agent.step(Received("peer", release(2)))
    begin(agent, 9)
    assert phase_of(agent) is Phase.RELEASE
    agent.step(Received("peer", release(9)))
    assert phase_of(agent) is Phase.SIZE


def test_samples_outside_the_bounds_are_clamped_and_counted() -> None:
    agent = make_agent()
    for value in (-5.0, 0.25, 1e300):
        agent.observe(value)
    assert agent.clamped == 2
    assert agent.estimate.alone == pytest.approx((0 + 0.25 + 1) / 3)


def busy_agent() -> Agent:
    """Of its neighbours a has said all of round 1, and b nothing."""
    agent = make_agent("a", "b")
    begin(agent, 1)
    deliver_round(agent, "a", 1)
    return agent


def idle_agent() -> Agent:
    """It has a sample, which needs one draw."""
    agent = make_agent("a", "b")
    agent.observe(0.5)
    return agent


Make = Callable[[], Agent]
ILLEGAL: dict[str, tuple[Make, Event, type[ColmeError], str, Any]] = {
    "nan": (busy_agent, Observe(math.nan), SampleError, "sample", "float"),
    "infinity": (busy_agent, Observe(-math.inf), SampleError, "sample", "float"),
    "text": (busy_agent, Observe("0.5"), SampleError, "sample", "str"),  # type: ignore[arg-type]
    "huge int": (busy_agent, Observe(10**400), SampleError, "sample", "int"),
    "begin in a round": (busy_agent, Begin(2, ()), LocalProtocolError, "round", 2),
    "stranger": (busy_agent, Received("x", release(1)), RemoteProtocolError, "peer", "x"),
    "old round": (busy_agent, Received("b", release(3)), RemoteProtocolError, "round", 3),
    "repeated": (
        busy_agent,
        Received("a", release(1)),
        RemoteProtocolError,
        "message",
        release(1),
    ),
    "deadline of none": (idle_agent, Deadline(), LocalProtocolError, "event", Deadline()),
    "round 0": (idle_agent, Begin(0, (0,)), LocalProtocolError, "round", 0),
    "beyond all rounds": (idle_agent, Begin(2**63, (0,)), LocalProtocolError, "round", 2**63),
    "no draw": (idle_agent, Begin(1, ()), LocalProtocolError, "noise", "0 draws"),
    "two draws": (idle_agent, Begin(1, (0, 0)), LocalProtocolError, "noise", "2 draws"),
    "half a step": (
        idle_agent,
        Begin(1, (0.5,)),  # type: ignore[arg-type]
        LocalProtocolError,
        "noise",
        ["float"],
    ),
}


@pytest.mark.parametrize(
    ("make", "event", "error", "field", "seen"), ILLEGAL.values(), ids=list(ILLEGAL)
)
def test_an_illegal_event_is_named_changes_nothing_and_spends_no_noise(
    make: Make, event: Event, error: type[ColmeError], field: str, seen: Any
) -> None:
    agent = make()
    before, due = agent.snapshot(), agent.draws_due
    with refused(error, field, seen=seen):
        agent.step(event)
    assert (agent.snapshot(), agent.draws_due) == (before, due)


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: size(1, 0), "size"),
        (lambda: SizeMessage(round=1, size=4, degree=2, accepts=True), "size"),
        (lambda: release(0), "round"),
        (lambda: consensus(1, math.nan), "value"),
        (lambda: consensus(1, 1e300), "value"),
        (lambda: Release(count=0, mean=0, variance=0, beta=0), "count"),
        (lambda: Release(count=1, mean=math.inf, variance=0, beta=0), "mean"),
        (lambda: Release(count=1, mean=0, variance=-1, beta=0), "variance"),
        (lambda: Release(count=1, mean=0, variance=0, beta=math.nan), "beta"),
    ],
)
def test_an_impossible_message_cannot_be_built(build: Callable[[], object], field: str) -> None:
    with refused(MessageError, field):
        build()


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": -1}),
        ("epsilon", {"epsilon": math.nan}),
        ("epsilon", {"epsilon": 1e-300}),
        ("epsilon", {"epsilon": "1"}),
        ("bounds", {"bounds": (1, 0)}),
        ("bounds", {"bounds": (0, math.nan)}),
        ("bounds", {"bounds": (-math.inf, 0)}),
        ("sigma2", {"sigma2": 0.3}),
        ("sigma2", {"sigma2": math.nan}),
        ("beta", {"beta": 0.01}),
        ("beta", {"beta": math.inf}),
    ],
)
def test_a_profile_that_cannot_be_is_refused(field: str, change: dict[str, object]) -> None:
    good = {"bounds": (0.0, 1.0), "sigma2": 0.1, "beta": 0.3, "epsilon": 1.0}
    with refused(ConfigError, field):
        Profile(**(good | change))  # type: ignore[arg-type]


class Stumbling(ThresholdRule):
    """A rule of the user's own that fails once."""

    fails = False

    def threshold(self, mine: Release, theirs: Release) -> float:
        if self.fails:
            self.fails = False
            raise OSError("out of luck")
        return 1.0


def test_noise_that_a_failing_rule_left_unstored_is_stored_before_anything_of_it_is_sent() -> None:
    """The release of a neighbour is there already, so that to begin is to decide."""
    rule = Stumbling()
    settings = Settings(
        name="me", neighbours=("peer",), profile=PROFILE, algorithm=Paper(rule=rule)
    )
    agent = Agent(settings)
    stored = agent.snapshot()
    stored |= agent.snapshot(agent.observe(0.5).persist)
    agent.step(Received("peer", release(1)))
    rule.fails = True
    with pytest.raises(OSError, match="out of luck"):
        agent.step(Begin(1, (7,)))
    effects = agent.step(Deadline())
    assert effects.persist == set(Part)
    stored |= agent.snapshot(effects.persist)
    assert Agent.restore(settings, stored).draws_due == ()


def test_errors_show_no_draw_and_no_stored_sum() -> None:
    agent = make_agent("peer")
    agent.observe(0.728123)
    with refused(LocalProtocolError, "noise", seen=["float"]) as drawn:
        agent.step(Begin(1, (98765.0,)))  # type: ignore[arg-type]
    assert "98765" not in str(drawn.value)
    text = json.dumps(agent.snapshot())
    with refused(SnapshotError, "snapshot", seen="str") as caught:
        Agent.restore(agent.settings, text)  # type: ignore[arg-type]
    assert "0.728123" not in str(caught.value)
