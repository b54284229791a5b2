"""A state under another promise: other bounds, epsilon or algorithm, and no sample noised twice.

What was released stays listed, under the promise that held for it. How far each source has been
read and what the neighbours remember stay, too. The stream begins anew with the next sample: sums
in steps of other bounds, or with noise of another epsilon, can't be added to.
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from colme.errors import ConfigError
from colme.node.state import database
from colme.node.state.copies import keep
from colme.node.state.lock import Lock
from colme.node.state.promise import Difference, differences
from colme.node.state.stored import (
    HEAD,
    PAST,
    Progress,
    Stored,
    past_row,
    read,
    write_rows,
)
from colme.node.state.upgrades import is_current, to_read, upgrade
from colme.privacy.ledger import Past
from colme.protocol.events import Part
from colme.protocol.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a change has done."""

    differences: Sequence[Difference]
    released: int
    """Samples that were released under the promise of before."""
    dropped: int
    """Samples that were taken in and waited for their noise: they never get any."""
    kept: Path
    """A backup of the state as it was."""


def change(folder: Path, settings: Settings, *, drop_waiting: bool) -> Change:
    """Make the state in a folder, whose node is stopped, one for these settings.

    Of samples that wait for their noise only a sum is known, clamped to the bounds of before: they
    are dropped, by their owner's word. Whatever is refused leaves the state as it was.
    """
    path = folder / database.FILE
    with database.in_words(path), ExitStack() as undo:
        if os.path.lexists(path):
            database.make_private_folder(folder)
            database.make_private_file(path)
        # Before the lock is taken, which makes a file: a folder without a state stays as it is.
        connection = undo.enter_context(database.connected(path))
        undo.callback(Lock.take(folder).release)
        undo.callback(connection.close)
        with to_read(path) as now:
            stored = read(now, path)
        found, progress = differences(stored, settings), Progress.of(stored.snapshot)
        _require_possible(found, folder)
        if progress.waiting and not drop_waiting:
            seen = f"{progress.waiting} samples that wait for their noise"
            expected = "none, or --drop-waiting: they are never released then, nor read again"
            raise ConfigError("state", seen, expected)
        kept = keep(folder, undo)
        with database.transaction(connection):
            if not is_current(connection, path):
                upgrade(connection, path)
            _end_promise(connection, stored)
            _begin_promise(connection, settings)
    return Change(
        differences=found, released=progress.released, dropped=progress.waiting, kept=kept
    )


def _require_possible(found: Sequence[Difference], folder: Path) -> None:
    for setting, seen, stored in found:
        if setting == "name":
            expected = f"{stored!r}: neighbours remember the state in {folder} by it"
            raise ConfigError(setting, seen, expected)
    if not found:
        expected = "one that differs from it: there is nothing to change"
        raise ConfigError("configuration", f"that of the state in {folder}", expected)


def _end_promise(connection: sqlite3.Connection, stored: Stored) -> None:
    """It is kept for the samples that it held for; where none came there is nothing to keep."""
    progress = Progress.of(stored.snapshot)
    if progress.taken:
        ended = Past(
            first=stored.base + 1,
            last=stored.base + progress.taken,
            released=progress.released,
            blocks=progress.blocks,
            bounds=stored.bounds,
            epsilon=stored.epsilon,
            ended=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        write_rows(connection, {PAST: past_row([*stored.past, ended])})
    # Neighbours take no message of a round that they have seen: the next one comes after it.
    connection.execute("UPDATE boot SET floor = max(floor, ?)", (progress.round,))
    # What was sent last was of this promise, too.
    ended_rows = [HEAD, "released", *Part]
    connection.executemany("DELETE FROM part WHERE name = ?", [(one,) for one in ended_rows])


def _begin_promise(connection: sqlite3.Connection, settings: Settings) -> None:
    profile = settings.profile
    connection.execute(
        "UPDATE meta SET lower = ?, upper = ?, epsilon = ?", (*profile.bounds, profile.epsilon)
    )
