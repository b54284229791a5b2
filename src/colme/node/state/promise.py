"""What a state was made for: to be alike wherever it is opened, or changed as a whole."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from colme.errors import ConfigError
from colme.node.state import database
from colme.node.state.stored import Stored, read
from colme.node.state.upgrades import to_read
from colme.protocol.board.record import origin_of_key
from colme.protocol.settings import Settings
from colme.protocol.snapshot import OF_ROUNDS, RETIRED


class Difference(NamedTuple):
    """A setting that a state has otherwise."""

    setting: str
    seen: object
    stored: object


def differences(stored: Stored, settings: Settings) -> list[Difference]:
    """All that a state has otherwise than these settings: its noise was scaled by what it has."""
    snapshot, algorithm, origin = stored.snapshot or {}, settings.algorithm, origin_of(settings)
    stream = snapshot.get("stream", {})
    # Squares of blocks noised without them have no noise. Before the first block it is open.
    squares = stream["with_squares"] if stream.get("blocks") else algorithm.release_squares
    compared = (
        Difference("name", settings.name, stored.name),
        # By it blocks end, and all others know what was released: with another key they would not.
        Difference("identity", origin, (stored.origin or origin) if origin else None),
        Difference("agreed.bounds", settings.profile.bounds, stored.bounds),
        Difference("privacy.epsilon", settings.profile.epsilon, stored.epsilon),
        Difference("agreed.algorithm", algorithm.name, _stored_algorithm(snapshot, algorithm.name)),
        Difference("privacy.sigma2", _variance(algorithm.release_squares), _variance(squares)),
    )
    return [one for one in compared if one.seen != one.stored]


def _stored_algorithm(snapshot: Mapping[str, Any], mine: str) -> str:
    """0.1.0 did not name its algorithm. A state that has not begun may be of any."""
    nameless = mine if not snapshot or mine in OF_ROUNDS else RETIRED
    return snapshot.get("algorithm") or nameless


def require_promise(folder: Path, settings: Settings) -> None:
    """Refuse what a start with these settings would refuse, and leave the state as it is."""
    path = folder / database.FILE
    if path.exists():
        with database.in_words(path), to_read(path) as connection:
            require_own(read(connection, path), settings, path)


def require_own(stored: Stored, settings: Settings, path: Path) -> None:
    """Refuse a state that was made for other settings."""
    for setting, seen, expected in differences(stored, settings):
        words = f"{expected!r}, as in the state {path}: {_remedy(setting, expected)}"
        raise ConfigError(setting, seen, words)


def _remedy(setting: str, stored: object) -> str:
    """What to do about a difference. No word of a new state: it would be fed the same samples."""
    if setting in ("name", "identity"):
        return f"go on with that {setting}"
    go_on = f"go on with that{', by naming it' if setting == 'agreed.algorithm' else ''}, or "
    if stored == RETIRED:
        go_on = "it was retired, and relay goes on with all of its samples: "
    is_agreed = setting.startswith("agreed.")
    return (
        f"{go_on}{'when all neighbours do so, too, ' if is_agreed else ''}change the state as a "
        "whole (colme state change), which knows what was noised. Another state would noise it a "
        "second time"
    )


def origin_of(settings: Settings) -> str | None:
    """Whose records these settings write; None where they write none."""
    return None if settings.identity is None else origin_of_key(settings.identity.key)


def _variance(squares: bool) -> str:
    return "a variance to be learned" if squares else "a known variance"
