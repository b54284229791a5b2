"""States of earlier versions are taken up where they were left."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colme.errors import SnapshotError
from colme.protocol import messages
from colme.protocol.agent import Agent
from colme.protocol.events import Begin, Event, Observe, Received
from colme.protocol.messages import Message
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.protocol.upgrades import UPGRADES, VERSION, upgraded
from colme.rules.release import Release
from support.old_states import SNAPSHOTS, settings_of
from support.refusing import refused

PAPER = [path for path in SNAPSHOTS if path.stem in ("paper-known", "paper-first")]
TRACKING = [path for path in SNAPSHOTS if path.stem in ("tracking-known", "tracking-squares")]


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=lambda p: f"{p.parent.name} {p.stem}")


def of_paper(path: Path) -> Settings:
    return replace(settings_of(path), algorithm=Paper())


def message_in(plain: dict[str, Any]) -> Message:
    gone = ("kind", "weight", "excess")
    fields = {name: value for name, value in plain.items() if name not in gone}
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


@each(PAPER)
def test_an_agent_of_an_earlier_version_goes_on_bit_by_bit(path: Path) -> None:
    """In the middle of a round: what it sends and answers from then on is what it would have."""
    stored = json.loads(path.read_text())
    agent = Agent.restore(of_paper(path), stored["snapshot"])
    assert agent.phase.value == "size"
    for plain in stored["events"]:
        expected = tuple((peer, message_in(message)) for peer, message in plain["send"])
        assert agent.step(event_in(plain)).send == expected
    estimate, answered = agent.estimate, stored["estimate"]
    assert estimate.value == answered["value"]
    assert estimate.alone == answered["local"], "as 0.1.0 called it"
    for name in ("round", "class_size"):
        assert getattr(estimate, name) == answered[name]
    final = stored["final"]
    assert agent.release == Release(**final["release"])
    assert (agent.consensus, sorted(agent.accepted)) == (final["consensus"], final["accepted"])
    counts = agent.counts
    assert [counts.taken, counts.released, counts.blocks] == final["counts"]


@each(SNAPSHOTS)
def test_an_upgrade_leaves_the_stream_alone(path: Path) -> None:
    old = json.loads(path.read_text())["snapshot"]
    now = upgraded(old)
    assert now["version"] == VERSION
    before = old.get("stream") or old["state"]["stream"]
    new = {"opened": before["closed"], "declared": 0.0}
    new |= {"past_count": 0, "past_draws": 0, "incarnation": 0}
    assert now["stream"] == new | before
    assert upgraded(now) == now


@each(TRACKING)
def test_a_state_of_tracking_is_not_taken_for_one_of_the_paper(path: Path) -> None:
    """Its consensus value is the numerator of a mean. 0.1.0 did not even name its algorithm."""
    old = json.loads(path.read_text())["snapshot"]
    assert upgraded(old)["algorithm"] == "tracking"
    with refused(SnapshotError, "algorithm", seen="tracking"):
        Agent.restore(of_paper(path), old)


def test_a_damaged_old_state_is_refused_without_showing_it() -> None:
    old = json.loads(SNAPSHOTS[0].read_text())["snapshot"]
    del old["state"]["stream"]
    with refused(SnapshotError, "state") as caught:
        Agent.restore(of_paper(SNAPSHOTS[0]), old)
    assert str(old["state"]["consensus"]) not in str(caught.value)
