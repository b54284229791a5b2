"""States that others have taken the place of: one of them may be the newest there is."""

from pathlib import Path

from colme.errors import ColmeError
from colme.node.state import database
from colme.node.state.copies import REPLACED
from colme.node.state.stored import Progress, read
from colme.node.state.upgrades import to_read


def newest_instead(folder: Path) -> str:
    """What would be right where a state is an old one."""
    return (
        "the newest: going on would noise samples twice. Put the newest state back (colme state "
        "restore); if it is lost, move this one away and begin with an empty one, --state-lost "
        f"and, for a file, --first-lines skip, and never feed it old samples{replaced_in(folder)}"
    )


def replaced_in(folder: Path) -> str:
    """The end of a sentence that names those in a folder, if there are any; for errors."""
    found = ((one, REPLACED.fullmatch(one.name)) for one in folder.iterdir())
    numbered = sorted((int(match[1]), one) for one, match in found if match)
    listed = ", ".join(_described(one) for _, one in numbered)
    return f". States that were replaced here, to be restored or kept: {listed}" if listed else ""


def _described(path: Path) -> str:
    try:
        with database.in_words(path), to_read(path) as connection:
            stored = read(connection, path)
    except ColmeError:
        return f"{path} (not readable)"
    return f"{path} (start {stored.epoch}, round {Progress.of(stored.snapshot).round})"
