"""States of earlier versions are taken up where they were left."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colme.algorithms import named
from colme.errors import SnapshotError
from colme.protocol import messages
from colme.protocol.agent import Agent
from colme.protocol.events import Begin, Event, Observe, Received
from colme.protocol.messages import Message
from colme.protocol.upgrades import UPGRADES, VERSION, upgraded
from colme.rules.release import Release
from support.old_states import SNAPSHOTS, settings_of

each_stored = pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda p: f"{p.parent.name} {p.stem}")


def message_in(plain: dict[str, Any]) -> Message:
    fields = {name: value for name, value in plain.items() if name != "kind"}
    if fields.get("release") is not None:
        fields["release"] = Release(**fields["release"])
    message: Message = getattr(messages, plain["kind"])(**fields)
    return message


def event_in(plain: dict[str, Any]) -> Event:
    match plain["event"]:
        case "Observe":
            return Observe(plain["value"])
        case "Begin":
            return Begin(plain["round"], tuple(plain["noise"]))
        case _:
            return Received(plain["peer"], message_in(plain["message"]))


def test_there_is_a_state_of_every_version_that_has_an_upgrade() -> None:
    versions = {json.loads(path.read_text())["snapshot"]["version"] for path in SNAPSHOTS}
    assert versions == UPGRADES.keys()
    assert len(SNAPSHOTS) == 6 * len(versions)


@each_stored
def test_an_agent_of_an_earlier_version_goes_on_bit_by_bit(path: Path) -> None:
    """In the middle of a round: what it sends and answers from then on is what it would have."""
    stored = json.loads(path.read_text())
    agent = Agent.restore(settings_of(path), stored["snapshot"])
    assert agent.phase.value == "size"
    for plain in stored["events"]:
        expected = tuple((peer, message_in(message)) for peer, message in plain["send"])
        assert agent.step(event_in(plain)).send == expected
    # How an answer weighs what is shared has changed since: it may be local now.
    estimate, answered = agent.estimate, stored["estimate"]
    assert estimate.value in (answered["value"], answered["local"])
    assert estimate.alone == answered["local"], "as 0.1.0 called it"
    for name in ("round", "class_size"):
        assert getattr(estimate, name) == answered[name]
    final = stored["final"]
    assert agent.release == Release(**final["release"])
    assert (agent.consensus, sorted(agent.accepted)) == (final["consensus"], final["accepted"])
    counts = agent.counts
    assert [counts.taken, counts.released, counts.blocks] == final["counts"]


@each_stored
def test_an_upgrade_leaves_the_stream_alone_and_the_algorithm_open(path: Path) -> None:
    """0.1.0 let either of its algorithms open a state, and did not write down which."""
    old, settings = json.loads(path.read_text())["snapshot"], settings_of(path)
    now = upgraded(old)
    assert now["version"] == VERSION
    assert now["algorithm"] is None
    before = old["state"]["stream"]
    new = {"opened": before["closed"], "declared": 0.0}
    new |= {"past_count": 0, "past_draws": 0, "incarnation": 0}
    assert now["stream"] == before | new
    assert upgraded(now) == now
    other = "paper" if settings.algorithm.name == "tracking" else "tracking"
    squares = settings.algorithm.release_squares
    agent = Agent.restore(replace(settings, algorithm=named(other, release_squares=squares)), old)
    assert agent.snapshot()["algorithm"] == other


def test_a_damaged_old_state_is_refused_without_showing_it() -> None:
    old = json.loads(SNAPSHOTS[0].read_text())["snapshot"]
    del old["state"]["stream"]
    with pytest.raises(SnapshotError, match="a state of version 3") as caught:
        Agent.restore(settings_of(SNAPSHOTS[0]), old)
    assert str(old["state"]["consensus"]) not in str(caught.value)
