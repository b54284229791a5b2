"""The SQLite file that holds a node's state: its tables, how it is opened, and what may fail."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

from colme.errors import StoreError
from colme.node import files

FILE = "state.sqlite"
SCHEMA = 4
"""Of the tables; `upgrades` brings up those of earlier versions."""
APPLICATION = 0x636F6C6D
"""Marks the file as colme's ("colm")."""
BUSY_SECONDS = 1.0

_TABLES = (
    """
    CREATE TABLE meta (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        name TEXT NOT NULL,
        lower REAL NOT NULL,
        upper REAL NOT NULL,
        epsilon REAL NOT NULL,
        created TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
        from_backup INTEGER NOT NULL DEFAULT 0,
        origin TEXT
    )
    """,
    """
    CREATE TABLE boot (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        epoch INTEGER NOT NULL DEFAULT 0,
        floor INTEGER NOT NULL DEFAULT 0,
        incarnation INTEGER NOT NULL DEFAULT 0
    )
    """,
    # A row for each thing that changes by itself, all in one table: what is small shares a page,
    # and a commit writes the pages of what changed.
    "CREATE TABLE part (name TEXT PRIMARY KEY, content NOT NULL)",
    """
    CREATE TABLE ledger (
        last INTEGER PRIMARY KEY,
        first INTEGER NOT NULL,
        round INTEGER NOT NULL,
        blocks INTEGER NOT NULL,
        epsilon REAL NOT NULL
    )
    """,
    # What others have released: as many rows as the board has origins, of which few change at once.
    """
    CREATE TABLE entry (
        origin TEXT PRIMARY KEY,
        content BLOB NOT NULL,
        via TEXT,
        at REAL NOT NULL
    )
    """,
    # Requests whose samples are in, the newest with the largest number: see `RequestId`.
    "CREATE TABLE request "
    "(number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, digest BLOB NOT NULL)",
    "CREATE TABLE proof (one INTEGER PRIMARY KEY CHECK (one = 1), bytes BLOB)",
    "INSERT INTO boot (one) VALUES (1)",
    "INSERT INTO proof (one) VALUES (1)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {SCHEMA}",
)

_TROUBLE = {
    sqlite3.SQLITE_FULL: ("disk full", "free space on that disk"),
    sqlite3.SQLITE_READONLY: ("read-only", "a folder and files that this user may write"),
    sqlite3.SQLITE_CANTOPEN: (
        "missing or read-only",
        "a folder and files that exist and that this user may write",
    ),
    sqlite3.SQLITE_IOERR: ("I/O error", "a disk that works and has free space"),
    sqlite3.SQLITE_BUSY: ("locked", "that no other program writes to it"),
    sqlite3.SQLITE_LOCKED: ("locked", "that no other program writes to it"),
}


def trouble(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """A failure of SQLite or of the file system, in words."""
    if isinstance(error, OSError):
        reason = (error.strerror or str(error)).lower()
        return StoreError("state", f"{path}: {reason}", "a folder that this user may write")
    # The low byte is the kind of trouble, the rest says where in SQLite it came from.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        return damaged(path, str(error))
    what, remedy = _TROUBLE.get(code, ("not usable now", "a machine and a disk that work"))
    return StoreError("state", f"{path}: {what} ({error})", remedy)


class DamagedState(StoreError):  # noqa: N818 (it reads as what it is)
    """The file is not what any version wrote: nothing in it can be relied upon."""


def damaged(path: Path, what: str) -> DamagedState:
    """The file is not what it should be."""
    remedy = "an undamaged state (colme state restore brings a backup back)"
    return DamagedState("state", f"{path}: damaged ({what})", remedy)


def newer(what: str, seen: int, known: int) -> StoreError:
    """A later version wrote it; to go on from anything else would noise samples a second time."""
    remedy = f"at most {known}: a newer colme wrote it; go on with that version"
    return StoreError(f"state.{what}", seen, remedy)


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Raise failures of SQLite and the file system as `StoreError`, and what is open to others."""
    try:
        yield
    except files.Exposed as error:
        raise StoreError("state", error.seen, error.remedy) from None
    except (sqlite3.Error, OSError) as error:
        raise trouble(path, error) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, durable when it ends."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Whatever is read within it is of the same moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


@contextmanager
def connected(path: Path, *, mode: str = "rw") -> Iterator[sqlite3.Connection]:
    """A connection to a file that exists, `rw` or `ro`; left open where nothing goes wrong."""
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        yield connection
    except BaseException:
        connection.close()
        raise


def make_private_file(path: Path) -> None:
    """An empty file that its owner alone may read; one that is there must be so already."""
    # Never open and close one that is there: that would drop the locks this process has on it.
    with suppress(FileExistsError):
        os.close(files.made_own_file(path))
        sync_folder(path.parent)
    # SQLite opens its logs, too, wherever a link leads.
    for name in (path, *logs_of(path)):
        if name == path or os.path.lexists(name):
            files.require_own_file(name)


def logs_of(path: Path) -> list[Path]:
    """The files that SQLite may have beside it."""
    return [path.with_name(f"{path.name}-{log}") for log in ("wal", "shm", "journal")]


def make_private_folder(folder: Path) -> None:
    """A folder that its owner alone may enter; one that is there must not be open to others."""
    with in_words(folder):
        if not os.path.lexists(folder):
            files.make_own_folder(folder)
            sync_folder(folder.parent)
        files.require_own_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make created, renamed and removed names of a folder outlive a power failure."""
    if os.name == "nt":
        return  # A folder can't be opened there.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty file a state, within a transaction."""
    for statement in _TABLES:
        connection.execute(statement)


def is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file holds nothing yet."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(tables == 0)


def schema_of(connection: sqlite3.Connection) -> int:
    """Which tables it has."""
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    return int(schema)


def require_state(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what is no node's state, one of a later version, and a damaged one."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise StoreError("state", f"{path}: not a node's state", "a state that colme has written")
    schema = schema_of(connection)
    if schema > SCHEMA:
        raise newer("schema", schema, SCHEMA)
    if schema < 1:
        raise damaged(path, f"schema {schema}")
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise damaged(path, found)


LOCK_FILE = "lock"


class Lock:
    """Lets one process at a time change a node's state.

    Held until released, or until the process is gone, however it went.

    SQLite's own file lock, on a file beside the state: it works on every system, and whoever only
    reads the state does not meet it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def take(cls, folder: Path) -> Self:
        """The lock of a folder that exists, or an error if another process has it."""
        path = folder / LOCK_FILE
        with in_words(path):
            make_private_file(path)
            connection = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode = OFF")  # Nothing is ever written to it.
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                connection.close()
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
                seen = f"{folder}: in use by another process"
                remedy = "that the node which has it is stopped first"
                raise StoreError("state", seen, remedy) from None
            except sqlite3.Error:
                connection.close()
                raise
        return cls(connection)

    def release(self) -> None:
        """Let others have it."""
        self._connection.close()
