"""A state under another promise: other bounds, epsilon or algorithm, and no sample noised twice.

What was released stays listed, under the promise that held for it. How far each source has been
read and what the neighbours remember stay, too. The stream begins anew with the next sample: sums
in steps of other bounds, or with noise of another epsilon, can't be added to. Where only rounds
give way to relay, under the same promise, it goes on: all that was released becomes one block.
"""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from colme.errors import ConfigError
from colme.node.state import database
from colme.node.state.copies import keep
from colme.node.state.database import Lock
from colme.node.state.promise import Difference, differences, origin_of
from colme.node.state.stored import (
    HEAD,
    PAST,
    Progress,
    Stored,
    past_row,
    read,
    rows_of,
    write_rows,
)
from colme.node.state.upgrades import is_current, to_read, upgrade
from colme.privacy.ledger import Past
from colme.protocol.agent import Agent
from colme.protocol.events import Part
from colme.protocol.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a change has done."""

    differences: Sequence[Difference]
    released: int
    """Samples that were released under the promise of before."""
    goes_on: bool
    """Whether the same samples count on, waiting ones too: nothing was dropped."""
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
        switched = _switched(stored, found, settings)
        if progress.waiting and not drop_waiting and switched is None:
            seen = f"{progress.waiting} samples that wait for their noise"
            expected = "none, or --drop-waiting: they are never released then, nor read again"
            raise ConfigError("state", seen, expected)
        kept = keep(folder, undo)
        with database.transaction(connection):
            if not is_current(connection, path):
                upgrade(connection, path)
            if switched is None:
                _end_promise(connection, stored)
                _begin_promise(connection, stored, settings)
            else:
                _go_on(connection, switched, settings, progress.round)
    return Change(
        differences=found,
        released=progress.released,
        goes_on=switched is not None,
        dropped=progress.waiting if switched is None else 0,
        kept=kept,
    )


def _switched(
    stored: Stored, found: Sequence[Difference], settings: Settings
) -> Mapping[str, Any] | None:
    """The state of before as one of relay, if nothing but the algorithm is another."""
    of_rounds = stored.snapshot is not None and stored.origin is None
    if not of_rounds or origin_of(settings) is None or len(found) > 1:
        return None
    assert stored.snapshot is not None
    after = replace(settings, incarnation=stored.incarnation)
    return Agent.switched(stored.snapshot, after=after).snapshot()


def _go_on(
    connection: sqlite3.Connection, snapshot: Mapping[str, Any], settings: Settings, round_: int
) -> None:
    """The ledger lists what was released, and still does."""
    write_rows(connection, rows_of(snapshot))
    connection.execute("DELETE FROM part WHERE name = 'released'")
    connection.execute("UPDATE boot SET floor = max(floor, ?)", (round_,))
    connection.execute("UPDATE meta SET origin = ?", (origin_of(settings),))


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


def _begin_promise(connection: sqlite3.Connection, stored: Stored, settings: Settings) -> None:
    profile = settings.profile
    connection.execute(
        "UPDATE meta SET lower = ?, upper = ?, epsilon = ?, origin = coalesce(origin, ?)",
        (*profile.bounds, profile.epsilon, origin_of(settings)),
    )
    # Blocks count from 1 again: records of before must not look newer than those to come.
    stream = (stored.snapshot or {}).get(Part.STREAM, {})
    lived = max(stored.incarnation, stream.get("incarnation", 0))
    connection.execute("UPDATE boot SET incarnation = ?", (lived + 1,))
