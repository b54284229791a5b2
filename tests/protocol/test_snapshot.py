"""Stored states: only those of this version and this agent, undamaged, are taken back."""

from collections.abc import Callable
from dataclasses import replace
from math import nan
from typing import Any

import pytest

from colme.errors import SnapshotError
from colme.protocol.agent import Agent
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin, Deadline, Observe, Part, Received
from colme.protocol.messages import SizeMessage
from colme.protocol.rounds.paper import Paper
from colme.protocol.rounds.state import Phase
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.decision import Bernstein, PowerTheta
from colme.rules.release import Profile
from colme.signing import Ed25519
from support.refusing import refused

SETTINGS = Settings(
    name="me",
    neighbours=("b", "a"),
    profile=Profile.bounded(0, 1, epsilon=1),
    algorithm=Paper(rule=Bernstein(PowerTheta(3, 1 / 5))),
)


def snapshot() -> dict[str, Any]:
    agent = Agent(SETTINGS)
    agent.observe(0.5)
    agent.step(Begin(1, (5,)))
    agent.step(Received("a", SizeMessage(round=1, size=1, degree=1, accepts=False)))
    return agent.snapshot()


def test_the_order_in_which_storage_returns_the_peers_does_not_matter() -> None:
    data = snapshot()
    data["exchange"]["peers"] = dict(reversed(data["exchange"]["peers"].items()))
    assert list(Agent.restore(SETTINGS, data).snapshot()["exchange"]["peers"]) == ["a", "b"]


def test_neighbours_may_have_come_and_gone() -> None:
    """Who stayed is remembered; a new one starts as an unknown one."""
    settings = replace(SETTINGS, neighbours=("a", "c"))
    peers = Agent.restore(settings, snapshot()).snapshot()["exchange"]["peers"]
    assert list(peers) == ["a", "c"]
    assert peers["a"]["now"]["size"] is not None
    assert peers["c"] == Agent(settings).snapshot()["exchange"]["peers"]["c"]


def test_all_that_a_neighbour_which_left_may_have_put_into_the_consensus_is_forgotten() -> None:
    agent = Agent(SETTINGS)
    agent.rounds.state.consensus, agent.rounds.state.age = 1e60, 9

    def restored(*neighbours: str) -> tuple[float, int]:
        again = Agent.restore(replace(SETTINGS, neighbours=neighbours), agent.snapshot())
        return again.consensus, again.rounds.state.age

    assert restored("a", "b", "c") == (1e60, 9)
    assert restored("a") == (0.0, 0)
    agent.observe(0.75)
    agent.step(Begin(1, (0,)))
    assert restored("a") == (0.75, 0)


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], object], str, Any]] = {
    "version": (lambda d: d.update(version=1), "version", 1),
    "newer": (lambda d: d.update(version=6), "version", 6),
    "no version": (lambda d: d.pop("version"), "version", "NoneType"),
    "algorithm": (
        lambda d: d.update(algorithm="tracking"),
        "algorithm",
        "tracking",
    ),
    "name": (lambda d: d.update(name="you"), "name", "you"),
    "bounds": (lambda d: d.update(bounds=[0, 2]), "bounds", [0, 2]),
    "epsilon": (lambda d: d.update(epsilon=0.5), "epsilon", 0.5),
    "no state": (lambda d: d.pop("exchange"), "exchange", None),
    "phase": (
        lambda d: d["exchange"].update(phase="x"),
        "exchange.phase",
        "x",
    ),
    "count": (lambda d: d["stream"].update(count="7"), "stream.count", "str"),
    "flag": (
        lambda d: d["exchange"]["peers"]["a"].update(suspect=1),
        "exchange.peers.a.suspect",
        1,
    ),
    "nan": (lambda d: d["exchange"].update(consensus=nan), "exchange.consensus", nan),
    "missing field": (lambda d: d["stream"].pop("count"), "stream", "dict"),
    "message": (
        lambda d: d["exchange"]["peers"]["a"]["now"]["size"].update(size=9),
        "exchange.peers.a.now.size.size",
        9,
    ),
}


@pytest.mark.parametrize(("damage", "field", "seen"), DAMAGE.values(), ids=list(DAMAGE))
def test_a_state_that_does_not_fit_is_refused_by_name(
    damage: Callable[[dict[str, Any]], object], field: str, seen: Any
) -> None:
    data = snapshot()
    damage(data)
    with refused(SnapshotError, field, seen=seen):
        Agent.restore(SETTINGS, data)


@pytest.mark.parametrize("part", ["stream", "peers", "whole"])
def test_the_numbers_of_a_damaged_state_are_not_shown(part: str) -> None:
    """Exact sums are the owner's alone, and errors are logged."""
    agent = Agent(SETTINGS)
    agent.observe(0.728123)
    data = agent.snapshot()
    stream = data["stream"]
    exact = [str(stream["total"]), str(stream["lattice"]["sum"])]
    if part == "stream":
        del data["stream"]["count"]
    elif part == "peers":
        data["exchange"]["peers"]["a"] = {"copied here": data["stream"]}
    else:
        data["exchange"]["more"] = 1
    with refused(SnapshotError, seen="dict") as caught:
        Agent.restore(SETTINGS, data)
    assert not any(number in str(caught.value) for number in exact)


def test_a_field_that_is_absent_takes_its_default_but_never_in_the_stream() -> None:
    """A later version may add a field of the exchange; what noise rests on is never guessed."""
    data = snapshot()
    del data["exchange"]["shared_variance"]
    del data["exchange"]["peers"]["a"]["streak"]
    assert Agent.restore(SETTINGS, data).snapshot() == snapshot()
    for field in snapshot()["stream"]:
        data = snapshot()
        del data["stream"][field]
        with refused(SnapshotError, "stream", seen="dict"):
            Agent.restore(SETTINGS, data)
    data = snapshot()
    del data["stream"]["noise"]["squares"]
    with refused(SnapshotError, "stream.noise", seen="dict"):
        Agent.restore(SETTINGS, data)


def test_what_a_step_changed_is_all_that_has_to_be_stored() -> None:
    """The parts that `persist` names, put over those stored before, are the whole snapshot.

    A message of an open round is not stored: what it brought is worth nothing after a crash.
    """
    agent = Agent(SETTINGS)
    stored = agent.snapshot()
    for event in (
        Observe(0.5),
        Observe(0.25),
        Begin(1, (5, -3)),
        Deadline(),
        Observe(0.75),
    ):
        effects = agent.step(event)
        stored |= agent.snapshot(effects.persist)
        if agent.phase is Phase.IDLE or isinstance(event, Begin):
            assert stored == agent.snapshot()
    assert agent.observe(0.5).persist == {Part.STREAM}


class TestKeys:
    """Where records are signed the key says where blocks end, and what each weighs."""

    def settings(self, secret: int | None, algorithm: Algorithm) -> Settings:
        key = None if secret is None else Ed25519.from_bytes(bytes([secret]) * 32)
        identity = key or InProcess(SETTINGS.name)
        return replace(SETTINGS, algorithm=algorithm, identity=identity)

    @pytest.mark.parametrize("other", [None, 2])
    def test_a_state_is_not_opened_with_another_key(self, other: int | None) -> None:
        """Noise would weigh otherwise than the block that it has to hide."""
        mine = self.settings(1, Relay())
        agent = Agent(mine)
        for _ in range(50):
            agent.observe(0.25)
        assert agent.draws_due
        assert Agent.restore(mine, agent.snapshot()).snapshot() == agent.snapshot()
        wrong = self.settings(other, Relay())
        with refused(SnapshotError, "origin", seen=mine.origin):
            Agent.restore(wrong, agent.snapshot())

    def test_in_rounds_nothing_is_signed(self) -> None:
        stored = Agent(self.settings(1, Paper())).snapshot()
        assert Agent.restore(self.settings(2, Paper()), stored).snapshot() == stored
