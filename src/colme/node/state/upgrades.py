"""States that earlier versions have stored, brought up to this one: a step for each schema.

A node does it once, when it opens its state; whoever only looks does it to a copy in memory. What
the steps write is written out here, so that none changes when the tables do.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from colme.node.state import database
from colme.node.state.stored import rows_of, snapshot_in, write_rows
from colme.protocol.upgrades import VERSION, upgraded


def is_current(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether this version would have written it so."""
    if database.schema_of(connection) != database.SCHEMA:
        return False
    snapshot = snapshot_in(connection, path)
    return snapshot is None or snapshot.get("version") == VERSION


def upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """All steps, within a transaction of the caller: all of them or none. The path is for errors.

    The snapshot too, as a whole: from now on its parts are stored one by one, and parts of two
    versions would not fit together.
    """
    try:
        for schema in range(database.schema_of(connection), database.SCHEMA):
            UPGRADES[schema](connection)
            connection.execute(f"PRAGMA user_version = {schema + 1}")
        snapshot = snapshot_in(connection, path)
        if snapshot is not None:
            write_rows(connection, rows_of(upgraded(snapshot)))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        # The kind of error alone: its text may have exact sums in it.
        raise database.damaged(path, f"no upgrade: {type(error).__name__}") from error


@contextmanager
def to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """A state of any version as one of this, all of one moment; its file stays as it is."""
    with (
        database.connected(path, mode="ro") as connection,
        closing(connection),
        closing(sqlite3.connect(":memory:", isolation_level=None)) as copy,
    ):
        database.require_state(connection, path)
        with database.one_moment(connection):
            if is_current(connection, path):
                yield connection
                return
        connection.backup(copy)
        with database.transaction(copy):
            upgrade(copy, path)
            yield copy


def _in_parts(connection: sqlite3.Connection) -> None:
    """1 -> 2: one row for all becomes a row for each thing that changes by itself."""
    text, released, *rest = connection.execute(
        "SELECT snapshot, released, told, standings, marks FROM state"
    ).fetchone()
    rows = dict(zip(("told", "standings", "marks"), rest, strict=True))
    if released is not None:
        rows["released"] = released
    if text is not None:
        # 0.1.0 had its samples and its rounds in one piece: apart they are since version 4.
        head = upgraded(json.loads(text))
        parts = {name: head.pop(name) for name in ("stream", "exchange")}
        rows |= {name: json.dumps(content) for name, content in {"head": head, **parts}.items()}
    connection.execute("CREATE TABLE part (name TEXT PRIMARY KEY, content NOT NULL)")
    connection.executemany("INSERT INTO part (name, content) VALUES (?, ?)", rows.items())
    connection.execute("DROP TABLE state")


def _with_boards(connection: sqlite3.Connection) -> None:
    """2 -> 3: a table for what others have released, and which life of its owner a state is."""
    connection.execute("ALTER TABLE meta ADD COLUMN origin TEXT")
    connection.execute("ALTER TABLE boot ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 0")
    connection.execute(
        "CREATE TABLE entry "
        "(origin TEXT PRIMARY KEY, content BLOB NOT NULL, via TEXT, at REAL NOT NULL)"
    )


def _with_requests(connection: sqlite3.Connection) -> None:
    """3 -> 4: a table for the requests whose samples are in."""
    connection.execute(
        "CREATE TABLE request "
        "(number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, digest BLOB NOT NULL)"
    )


UPGRADES: Mapping[int, Callable[[sqlite3.Connection], None]] = {
    1: _in_parts,
    2: _with_boards,
    3: _with_requests,
}
"""From each schema to the next."""
