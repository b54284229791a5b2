"""All that is stored of a node, read in one piece."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from colme.node.state.database import damaged
from colme.node.wire import Standing
from colme.privacy.ledger import Entry
from colme.protocol.upgrades import upgraded


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The content of a state file."""

    name: str
    bounds: tuple[float, float]
    epsilon: float
    created: str
    from_backup: bool
    epoch: int
    floor: int
    snapshot: dict[str, Any] | None
    released: bytes | None
    told: dict[str, int]
    standings: dict[str, Standing]
    marks: dict[str, int]
    covered: int
    releases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a snapshot says of an agent without any of its values."""

    round: int = 0
    taken: int = 0
    released: int = 0
    blocks: int = 0

    @classmethod
    def of(cls, snapshot: Mapping[str, Any] | None) -> Self:
        """Of `Agent.snapshot`; None is an agent that has not begun."""
        if snapshot is None:
            return cls()
        now = upgraded(snapshot)
        stream = now["stream"]
        return cls(
            round=now["exchange"]["round"],
            taken=stream["count"],
            released=stream["released_count"],
            blocks=stream["blocks"],
        )


def read(connection: sqlite3.Connection, path: Path) -> Stored:
    """Everything, within a transaction of the caller; the path is for errors."""
    try:
        return _read(connection, path)
    except (TypeError, KeyError, ValueError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


def last_entries(connection: sqlite3.Connection, limit: int) -> list[Entry]:
    """The newest entries of the ledger, the newest one first."""
    found = connection.execute(
        "SELECT round, first, last, blocks, epsilon FROM ledger ORDER BY last DESC LIMIT ?",
        (limit,),
    )
    return [
        Entry(round=round_, first=first, last=last, blocks=blocks, epsilon=epsilon)
        for round_, first, last, blocks, epsilon in found
    ]


def _read(connection: sqlite3.Connection, path: Path) -> Stored:
    name, lower, upper, epsilon, created, from_backup = connection.execute(
        "SELECT name, lower, upper, epsilon, created, from_backup FROM meta"
    ).fetchone()
    epoch, floor = connection.execute("SELECT epoch, floor FROM boot").fetchone()
    text, released, told, standings, marks = connection.execute(
        "SELECT snapshot, released, told, standings, marks FROM state"
    ).fetchone()
    releases, covered = connection.execute("SELECT count(*), max(last) FROM ledger").fetchone()
    stored = Stored(
        name=name,
        bounds=(lower, upper),
        epsilon=epsilon,
        created=created,
        from_backup=bool(from_backup),
        epoch=epoch,
        floor=floor,
        snapshot=None if text is None else json.loads(text),
        released=released,
        told=json.loads(told),
        standings={
            peer: Standing(epoch=epoch, round=round_)
            for peer, (epoch, round_) in sorted(json.loads(standings).items())
        },
        marks=json.loads(marks),
        covered=covered or 0,
        releases=releases,
    )
    noised = Progress.of(stored.snapshot).released
    if noised != stored.covered:
        what = f"{noised} samples were released, but the ledger lists {stored.covered}"
        raise damaged(path, what)
    return stored
