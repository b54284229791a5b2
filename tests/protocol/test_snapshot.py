"""Stored states: only those of this version and this agent, undamaged, are taken back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from colme.errors import SnapshotError
from colme.protocol.agent import Agent, Settings
from colme.protocol.events import Begin, Received
from colme.protocol.messages import SizeMessage
from colme.rules.decision import Bernstein, PowerTheta
from colme.rules.release import Profile

SETTINGS = Settings(
    name="me",
    neighbours=("b", "a"),
    profile=Profile.bounded(0, 1, epsilon=1),
    rule=Bernstein(PowerTheta(3, 1 / 5)),
)


def snapshot() -> dict[str, Any]:
    agent = Agent(SETTINGS)
    agent.observe(0.5)
    agent.step(Begin(1, (5,)))
    agent.step(Received("a", SizeMessage(round=1, size=1, degree=1, accepts=False)))
    return agent.snapshot()


def test_the_order_in_which_storage_returns_the_peers_does_not_matter() -> None:
    data = snapshot()
    data["state"]["peers"] = dict(reversed(data["state"]["peers"].items()))
    assert list(Agent.restore(SETTINGS, data).snapshot()["state"]["peers"]) == ["a", "b"]


def test_neighbours_may_have_come_and_gone() -> None:
    """Who stayed is remembered; a new one starts as an unknown one."""
    settings = replace(SETTINGS, neighbours=("a", "c"))
    peers = Agent.restore(settings, snapshot()).snapshot()["state"]["peers"]
    assert list(peers) == ["a", "c"]
    assert peers["a"]["now"]["size"] is not None
    assert peers["c"] == Agent(settings).snapshot()["state"]["peers"]["c"]


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "version": (lambda d: d.update(version=1), "version: saw 1, expected 3"),
    "name": (lambda d: d.update(name="you"), "name: saw 'you', expected 'me'"),
    "bounds": (lambda d: d.update(bounds=[0, 2]), r"bounds: saw \[0, 2\], expected \[0, 1\]"),
    "no state": (lambda d: d.pop("state"), "state: saw None"),
    "phase": (lambda d: d["state"].update(phase="x"), "state.phase: saw 'x', expected one of"),
    "count": (lambda d: d["state"]["stream"].update(count="7"), "state.stream.count: saw 'str'"),
    "flag": (lambda d: d["state"]["peers"]["a"].update(suspect=1), "state.peers.a.suspect: saw 1"),
    "nan": (lambda d: d["state"].update(consensus=float("nan")), "state.consensus: saw nan"),
    "missing field": (lambda d: d["state"]["stream"].pop("count"), "state.stream: saw"),
    "message": (
        lambda d: d["state"]["peers"]["a"]["now"]["size"].update(size=9),
        "state.peers.a.now.size.size: saw 9, expected 1 to degree",
    ),
}


@pytest.mark.parametrize(("damage", "text"), DAMAGE.values(), ids=list(DAMAGE))
def test_a_state_that_does_not_fit_is_refused_by_name(
    damage: Callable[[dict[str, Any]], object], text: str
) -> None:
    data = snapshot()
    damage(data)
    with pytest.raises(SnapshotError, match=text):
        Agent.restore(SETTINGS, data)


@pytest.mark.parametrize("part", ["stream", "peers", "whole"])
def test_the_numbers_of_a_damaged_state_are_not_shown(part: str) -> None:
    """Exact sums are the owner's alone, and errors are logged."""
    agent = Agent(SETTINGS)
    agent.observe(0.728123)
    data = agent.snapshot()
    stream = data["state"]["stream"]
    exact = [str(stream["total"]), str(stream["lattice"]["sum"])]
    if part == "stream":
        del data["state"]["stream"]["count"]
    elif part == "peers":
        data["state"]["peers"]["a"] = {"copied here": data["state"]["stream"]}
    else:
        data["state"]["more"] = 1
    with pytest.raises(SnapshotError, match="saw 'dict'") as caught:
        Agent.restore(SETTINGS, data)
    assert not any(number in str(caught.value) for number in exact)


def test_something_else_than_a_snapshot_is_refused() -> None:
    with pytest.raises(SnapshotError, match="a mapping"):
        Agent.restore(SETTINGS, ["not", "a", "snapshot"])  # type: ignore[arg-type]
