"""States that earlier versions have stored, brought up to this one: a step for each version.

Nothing is guessed about the stream: what was taken in, noised and released is carried over as is.
"""

from collections.abc import Callable, Mapping
from typing import Any

from colme.errors import SnapshotError

VERSION = 4


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot of any version as one of this version."""
    now, version = dict(data), data.get("version")
    if type(version) is not int:
        raise SnapshotError("version", type(version).__name__, "a whole number")
    if version > VERSION:
        expected = f"at most {VERSION}: a newer colme wrote this state; go on with that one"
        raise SnapshotError("version", version, expected)
    while now["version"] != VERSION:
        step = UPGRADES.get(now["version"])
        if step is None:
            known = ", ".join(map(str, [*UPGRADES, VERSION]))
            raise SnapshotError("version", now["version"], f"one of {known}")
        try:
            now = step(now)
        except (KeyError, TypeError, ValueError, AttributeError):
            # Not the content: it has exact sums in it, which no error may show.
            raise SnapshotError(
                "state", "something else", f"a state of version {version}"
            ) from None
    return now


def _in_parts(old: dict[str, Any]) -> dict[str, Any]:
    """3 -> 4: the stream apart from the rounds, the head says more, and blocks may be weighed."""
    state = dict(old["state"])
    stream = dict(state.pop("stream"))
    # All blocks weighed alike: what is closed is the plain sum, where the open block begins.
    stream |= {"opened": dict(stream["closed"]), "declared": 0.0}
    stream |= {"past_count": 0, "past_draws": 0, "incarnation": 0}
    return {
        "version": 4,
        # Version 3 did not name it, and let both open the same state; nothing in it tells for
        # sure. It is whoever's opens it, paper or tracking, as it was then. So with epsilon.
        "algorithm": None,
        "name": old["name"],
        "bounds": old["bounds"],
        "epsilon": None,
        "stream": stream,
        "exchange": state,
    }


UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {3: _in_parts}
"""From each version to the next."""
