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
    if isinstance(version, int) and version > VERSION:
        expected = f"at most {VERSION}: a newer colme wrote this state; go on with that one"
        raise SnapshotError("version", version, expected)
    while now.get("version") != VERSION:
        step = UPGRADES.get(now.get("version"))
        if step is None:
            known = ", ".join(map(str, [*UPGRADES, VERSION]))
            raise SnapshotError("version", now.get("version"), f"one of {known}")
        try:
            now = step(now)
        except (KeyError, TypeError, AttributeError):
            # Not the content: it has exact sums in it, which no error may show.
            raise SnapshotError(
                "state", "something else", f"a state of version {version}"
            ) from None
    return now


def _in_parts(old: dict[str, Any]) -> dict[str, Any]:
    """3 -> 4: the stream apart from the rounds, and the algorithm by name."""
    state = dict(old["state"])
    stream = state.pop("stream")
    # Version 3 did not name it. Only tracking counts shared rounds; an age without them is the
    # paper's; before the first mix nothing tells, and nothing depends on it.
    algorithm = "tracking" if state["shared_rounds"] else "paper" if state["age"] else None
    return {
        "version": 4,
        "algorithm": algorithm,
        "name": old["name"],
        "bounds": old["bounds"],
        "stream": stream,
        "exchange": state,
    }


UPGRADES: Mapping[Any, Callable[[dict[str, Any]], dict[str, Any]]] = {3: _in_parts}
"""From each version to the next."""
