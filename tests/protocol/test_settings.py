"""What an agent can't be told is refused when it is told, not rounds later."""

from typing import Any, cast

import pytest

from colme import Agent, Profile, Relay, Settings
from colme.errors import ConfigError, LocalProtocolError
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Event
from support.refusing import refused

RIGHT: dict[str, Any] = {
    "identity": InProcess("a"),
    "name": "a",
    "neighbours": ("b", "c"),
    "profile": Profile.bounded(0, 1, epsilon=1),
    "algorithm": Relay(),
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", 7),
        ("neighbours", "bc"),
        ("neighbours", ("b", "b")),
        ("neighbours", ("b", 7)),
        ("neighbours", ("b", "")),
        ("neighbours", ("a",)),
        ("profile", "public"),
        ("algorithm", "relay"),
        *(("incarnation", wrong) for wrong in (-1, 1.5, "1", None, True, 2**62 + 1)),
    ],
)
def test_nonsense_is_refused_at_the_door(field: str, value: object) -> None:
    """A wrong incarnation would be found out when a record is signed, after noise was spent."""
    with refused(ConfigError, field):
        Settings(**{**RIGHT, field: value})


def test_neighbours_may_come_in_a_list() -> None:
    assert Settings(**{**RIGHT, "neighbours": ["b", "c"]}).neighbours == ("b", "c")


def test_what_is_no_event_is_refused_and_changes_nothing() -> None:
    agent = Agent(Settings(**RIGHT))
    before = agent.snapshot()
    with refused(LocalProtocolError, "event"):
        agent.step(cast(Event, "begin"))
    assert agent.snapshot() == before
