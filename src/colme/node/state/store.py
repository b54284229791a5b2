"""A node's durable state: what it has taken in, noised and sent outlives any crash.

Samples, noise, the bytes to send and the agent's snapshot go into one transaction, and nothing is
sent before it is on disk: to noise the same samples again, after a crash, would leak.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Self

from colme.errors import (
    LedgerError,
    LocalProtocolError,
    SnapshotError,
    StaleStateError,
    StoreError,
)
from colme.node.state import database
from colme.node.state.copies import require_no_loss
from colme.node.state.database import Lock
from colme.node.state.promise import origin_of, require_own
from colme.node.state.stored import (
    Kept,
    Progress,
    RequestId,
    Stored,
    read,
    rows_of,
    to_json,
    write_rows,
)
from colme.node.state.upgrades import is_current, upgrade
from colme.node.thread import CallThread
from colme.node.wire.codec import Standing
from colme.privacy.ledger import Entry, require_next
from colme.protocol.events import EVERYTHING
from colme.protocol.settings import Settings

MOST_REQUESTS = 1000
"""That are remembered: more than any client has under way when it tries again."""
PROOF_BYTES = 2**16
"""More than a commit writes, so that what has room for it has room for a commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What is stored together, or not at all."""

    snapshot: Mapping[str, Any]
    """`Agent.snapshot` of the parts that changed; the others stay as they are stored. The first one
    has to have them all."""
    released: bytes | None = None
    """The release about to be sent, as sent; None keeps the last one."""
    entry: Entry | None = None
    """For the ledger, where the release carries fresh noise."""
    told: Mapping[str, int] = field(default_factory=dict)
    """The last round that each neighbour may hear of once this is stored, where it changed."""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    """Of neighbours, those that changed."""
    marks: Mapping[str, int] = field(default_factory=dict)
    """How far each source of samples has been read, where it changed."""
    entries: Mapping[str, Kept] = field(default_factory=dict)
    """Of the board, those that changed, by origin."""
    dropped: Collection[str] = ()
    """Origins that have no room on the board any more."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """All fingerprints of own records; empty if nothing was added."""
    requests: Collection[RequestId] = ()
    """Those whose samples are in this commit: stored with them, or a retry would double them."""


class Store(Stored):
    """The state of one node, in a folder of its own, which no other process may change meanwhile.

    The attributes are as last stored. Everything that touches the file runs in one thread.
    """

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self._path.parent

    def __init__(self, folder: Path, settings: Settings, thread: CallThread) -> None:
        self._path = folder / database.FILE
        self._settings = settings
        self._thread = thread
        self._connection = thread.call(self._begin)
        self._to_close = ExitStack()
        self._open = True

    @classmethod
    def open(cls, folder: Path, settings: Settings, *, thread: CallThread | None = None) -> Self:
        """The state in a folder, or a new one, with a boot epoch that was never used before.

        One that an earlier version stored is brought up to this one first.
        """
        database.make_private_folder(folder)
        with ExitStack() as undo:
            undo.callback(Lock.take(folder).release)
            thread = thread or CallThread(f"state of {settings.name}")
            undo.callback(thread.close)
            store = cls(folder, settings, thread)
            undo.callback(thread.call, lambda: store._connection.close())
            store._to_close = undo.pop_all()
        return store

    @property
    def taken(self) -> int:
        """How many samples it has ever taken in, under whatever promise."""
        return self.base + Progress.of(self.snapshot).taken

    async def commit(self, commit: Commit) -> None:
        """Return once it is on disk; after an error, nothing of it is stored.

        To stop waiting for it does not undo it.
        """
        await self._reach(partial(self._write, commit))

    async def reload(self) -> None:
        """After a failure: read everything anew from disk, and prove that it can be written."""
        await self._reach(self._reopen)

    async def confirmed(self) -> None:
        """The neighbours vouch that the state is the newest: it is no mere backup any more."""
        await self._reach(partial(self._set, "meta", from_backup=False))

    async def adopt_loss(self, epoch: int, round: int) -> None:  # noqa: A002 (the paper's word)
        """Begin after what the neighbours remember of a state that was lost."""
        await self._reach(partial(self._begin_after, epoch=epoch + 1, floor=round))

    async def begin_incarnation(self, number: int) -> None:
        """Of a state that has nothing yet: what was lost before it had lower ones."""
        await self._reach(partial(self._begin_after, incarnation=number))

    def close(self) -> None:
        """Let another process have the state."""
        self._open = False
        self._to_close.close()

    async def _reach(self, work: Callable[[], None]) -> None:
        if not self._open:
            raise StoreError("state", f"{self._path}: closed", "a store that is open")
        await self._thread.reach(work)

    # What follows runs in the store's own thread.

    def _begin(self) -> sqlite3.Connection:
        with database.in_words(self._path):
            require_no_loss(self._path.parent)
            database.make_private_file(self._path)
            with database.connected(self._path) as connection:
                if database.is_new(connection):
                    self._create(connection)
                self._adopt(self._read(connection))
                connection.execute("PRAGMA journal_mode = WAL")
                with database.transaction(connection):
                    connection.execute("UPDATE boot SET epoch = epoch + 1")
                    origin = origin_of(self._settings)
                    connection.execute("UPDATE meta SET origin = coalesce(origin, ?)", (origin,))
                self.epoch += 1
                self._files = self._files_in_place()
                return connection

    def _files_in_place(self) -> dict[Path, tuple[int, int]]:
        """Return the device and number of the state's file and of its log, if they are there."""
        found = {}
        for path in (self._path, self._path.with_name(f"{self._path.name}-wal")):
            with suppress(FileNotFoundError, NotADirectoryError):
                status = path.stat()
                found[path] = status.st_dev, status.st_ino
        return found

    @contextmanager
    def _change(self) -> Iterator[None]:
        """All of it or nothing; durable when it ends, in the files that another start would open.

        SQLite goes on writing into a file that was removed or replaced, and none of that is ever
        found again: such a commit must not be acknowledged.
        """
        with database.in_words(self._path):
            with database.transaction(self._connection):
                yield
            if self._files_in_place() == self._files:
                return
        seen = f"{self._path}: removed or replaced while the node ran"
        remedy = (
            "the file that this node has opened: what it stores now would be lost. Put the newest "
            "state back (the folder that was moved, or colme state restore) and start again; what "
            "was not acknowledged is not in it"
        )
        raise StaleStateError("state", seen, remedy)

    def _create(self, connection: sqlite3.Connection) -> None:
        profile = self._settings.profile
        with database.transaction(connection):
            database.create_tables(connection)
            connection.execute(
                "INSERT INTO meta (one, name, lower, upper, epsilon, origin) "
                "VALUES (1, ?, ?, ?, ?, ?)",
                (self._settings.name, *profile.bounds, profile.epsilon, origin_of(self._settings)),
            )

    def _read(self, connection: sqlite3.Connection) -> Stored:
        """All that is stored, if it is this node's, once the state is of this version."""
        database.require_state(connection, self._path)
        with database.one_moment(connection):
            current = is_current(connection, self._path)
        # Checked before an upgrade is committed: a state that is refused stays as it is.
        with database.one_moment(connection) if current else database.transaction(connection):
            if not current:
                upgrade(connection, self._path)
            stored = read(connection, self._path)
            require_own(stored, self._settings, self._path)
        return stored

    def _adopt(self, stored: Stored) -> None:
        for one in fields(Stored):
            setattr(self, one.name, getattr(stored, one.name))

    def _reopen(self) -> None:
        before = Progress.of(self.snapshot)
        with database.in_words(self._path), database.connected(self._path) as connection:
            with database.transaction(connection):
                connection.execute("UPDATE proof SET bytes = randomblob(?)", (PROOF_BYTES,))
            stored = self._read(connection)
            now = Progress.of(stored.snapshot)
            older = (
                stored.covered < self.covered
                or now.round < before.round
                or now.taken < before.taken
            )
            if stored.epoch != self.epoch or older:
                # Nothing of it is adopted: to look again must find it as old as it is.
                raise StaleStateError(
                    "state",
                    f"{self._path}: start {stored.epoch}, round {now.round}",
                    f"start {self.epoch}, round {before.round}, as stored before the disk failed: "
                    "to go on from an older state would noise samples twice",
                )
            self._adopt(stored)
            self._connection.close()
            self._connection = connection
            self._files = self._files_in_place()

    def _write(self, commit: Commit) -> None:
        snapshot = (self.snapshot or {}) | dict(commit.snapshot)
        rows = self._parts_of(commit)
        # Else only what changed, too: a sample is to write its stream and a mark, and no more.
        changed = {}
        for name in ("told", "standings", "marks", "fingerprints"):
            before: dict[str, Any] = getattr(self, name)
            if (now := before | dict(getattr(commit, name))) != before:
                changed[name] = now
                rows[name] = _plain(now) if name == "standings" else to_json(now)
        if commit.released is not None:
            rows["released"] = commit.released
        with self._change():
            covered = self._list(commit.entry)
            # Of the whole, whichever parts came: what is released is what the ledger lists.
            noised = Progress.of(snapshot).released
            if noised != covered:
                seen = f"a snapshot with {noised} samples released"
                raise LedgerError("ledger", seen, f"{covered}, as the ledger lists")
            write_rows(self._connection, rows)
            self._post(commit)
            self._note(commit.requests)
        self.requests |= dict(commit.requests)
        for key in list(self.requests)[:-MOST_REQUESTS]:
            del self.requests[key]
        self.entries |= commit.entries
        for origin in commit.dropped:
            self.entries.pop(origin, None)
        self.snapshot = snapshot
        self.released = self.released if commit.released is None else commit.released
        for name, now in changed.items():
            setattr(self, name, now)
        self.covered = covered
        self.releases += commit.entry is not None

    def _post(self, commit: Commit) -> None:
        """Bring the stored board up to date."""
        self._connection.executemany(
            # The row stays where it is: rows are in the order in which publishers came first.
            "INSERT INTO entry (origin, content, via, at) VALUES (?, ?, ?, ?) ON CONFLICT (origin) "
            "DO UPDATE SET content = excluded.content, via = excluded.via, at = excluded.at",
            [(origin, one.content, one.via, one.at) for origin, one in commit.entries.items()],
        )
        self._connection.executemany(
            "DELETE FROM entry WHERE origin = ?", [(origin,) for origin in commit.dropped]
        )

    def _note(self, requests: Collection[RequestId]) -> None:
        """Remember the requests whose samples are in, and forget the oldest ones."""
        if requests:
            self._connection.executemany(
                "INSERT INTO request (key, digest) VALUES (?, ?)", requests
            )
            self._connection.execute(
                "DELETE FROM request WHERE number <= (SELECT max(number) FROM request) - ?",
                (MOST_REQUESTS,),
            )

    def _parts_of(self, commit: Commit) -> dict[str, str | bytes]:
        """The rows of its snapshot, if it is whole with what is stored, and of one version."""
        before, now = self.snapshot or {}, commit.snapshot
        there = before.keys() if before.get("version") == now.get("version") else set()
        missing = EVERYTHING - there - now.keys()
        if missing:
            raise SnapshotError("snapshot", f"no {', '.join(sorted(missing))}", "all of its parts")
        try:
            return dict(rows_of(now, before))
        except ValueError as error:
            raise SnapshotError("snapshot", str(error), "finite numbers, fit for JSON") from None

    def _list(self, entry: Entry | None) -> int:
        """Add an entry to the ledger, if it goes on where the ledger ends; return its new end."""
        (last,) = self._connection.execute("SELECT max(last) FROM ledger").fetchone()
        covered = max((last or 0) - self.base, 0)
        if entry is None:
            return covered
        require_next(covered, entry)
        self._connection.execute(
            "INSERT INTO ledger (round, first, last, blocks, epsilon) VALUES (?, ?, ?, ?, ?)",
            (
                entry.round,
                self.base + entry.first,
                self.base + entry.last,
                entry.blocks,
                entry.epsilon,
            ),
        )
        return entry.last

    def _begin_after(self, **lost: int) -> None:
        """Begin with these numbers at least: they are above all of a state that was lost."""
        if self.taken:
            expected = "none: nothing has been lost"
            raise LocalProtocolError("state", f"{self.taken} samples", expected)
        self._set("boot", **{name: max(getattr(self, name), lost[name]) for name in lost})

    def _set(self, table: str, **values: int) -> None:
        with self._change():
            names = ", ".join(f"{name} = ?" for name in values)
            self._connection.execute(f"UPDATE {table} SET {names}", tuple(values.values()))
        for name, value in values.items():
            setattr(self, name, value)


def _plain(standings: Mapping[str, Standing]) -> str:
    return to_json({name: [one.epoch, one.round] for name, one in standings.items()})
