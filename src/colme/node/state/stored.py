"""All that is stored of a node: how it lies in the tables, and read in one piece."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from colme.node.state.database import damaged, newer
from colme.node.wire.codec import Standing
from colme.privacy.ledger import Entry, Past
from colme.protocol.events import Part
from colme.protocol.upgrades import VERSION

_SEAL = "seal of "


def seal_of(mark: str) -> str:
    """The name for what the bytes before a mark were: a digest of them, not a place to go on at."""
    return f"{_SEAL}{mark}"


def is_seal(name: str) -> bool:
    """Whether it is such a name: nothing to be shown, for a digest can be guessed at."""
    return name.startswith(_SEAL)


HEAD = "head"
"""The row of what a snapshot has beside its parts: whose it is, of which version and algorithm."""
PAST = "past"
"""The row of promises that have ended; the ledger goes on counting after their samples. Most states
have none."""

REPEATABLE = "repeatable noise"
"""Among the marks, of a whole state: 1 where its noise can be repeated, 0 where it can't. A state
of 0.1.0 has it only where it can."""

BATCHES = "batches of feeds"
"""Among the marks: the batches of samples that feeds have brought, over all starts."""

LAST_SAMPLE = 2**63 - 1
"""SQLite's largest number: no ledger comes to it."""

to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False, allow_nan=False).encode
"""One encoder for all snapshots: there is one every round."""


@dataclass(eq=False, repr=False, kw_only=True)  # exact sums are in it: nothing may print them
class Stored:
    """The content of a state file, as it was read, or as last stored (`Store`)."""

    name: str
    bounds: tuple[float, float]
    epsilon: float
    origin: str | None
    """Whose records it writes; None where its algorithm has none."""
    created: str
    from_backup: bool
    """Whether it is a restored backup, which may be older than what was sent."""
    epoch: int
    """Of this start of the node: no other start had it."""
    floor: int
    """The round below which this node must not begin."""
    incarnation: int
    """Of an agent that begins in this state: higher than of any that has begun before."""
    snapshot: dict[str, Any] | None
    """All parts of it; None if nothing was ever stored."""
    released: bytes | None
    told: dict[str, int]
    """The last round that each neighbour may have heard of."""
    standings: dict[str, Standing]
    marks: dict[str, int]
    entries: dict[str, "Kept"]
    """What others have released, and this node too, by origin."""
    fingerprints: dict[str, str]
    """Fingerprints of own records, by number: what this state has released."""
    requests: dict[str, bytes]
    """The digest of each request whose samples are in, by its key, the oldest one first."""
    past: tuple[Past, ...]
    """Promises that held before this one, for samples of then."""
    covered: int
    """The last sample of the present promise that the ledger lists, counted from its first."""
    releases: int
    """How many entries the ledger has for it."""

    @property
    def base(self) -> int:
        """The last sample of the promises before this one: the ledger counts over all of them."""
        return self.past[-1].last if self.past else 0


class RequestId(NamedTuple):
    """A request that brings samples, so that its retry does not bring them a second time."""

    key: str
    """Chosen by the client, and the same for a retry."""
    digest: bytes
    """Of its body: another body under the same key is another request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is stored of an origin."""

    content: bytes
    via: str | None
    """The neighbour that brought it first; None of one's own."""
    at: float
    """When this came, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a snapshot says of an agent without any of its values."""

    round: int = 0
    taken: int = 0
    released: int = 0
    blocks: int = 0

    @property
    def waiting(self) -> int:
        """Samples taken in that have had no noise yet."""
        return self.taken - self.released

    @classmethod
    def of(cls, snapshot: Mapping[str, Any] | None) -> Self:
        """Of `Agent.snapshot`; None is an agent that has not begun."""
        if snapshot is None:
            return cls()
        stream = snapshot["stream"]
        return cls(
            round=snapshot["exchange"]["round"],
            taken=stream["count"],
            released=stream["released_count"],
            blocks=stream["blocks"],
        )


def rows_of(
    snapshot: Mapping[str, Any], before: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, str]:
    """The parts that are in a snapshot, each as its row has it; and its head where it changed."""
    parts = {part.value: snapshot[part] for part in Part if part in snapshot}
    head = {name: value for name, value in snapshot.items() if name not in parts}
    rows = {name: to_json(content) for name, content in parts.items()}
    if any(before.get(name) != value for name, value in head.items()):
        rows[HEAD] = to_json(head)
    return rows


def write_rows(connection: sqlite3.Connection, rows: Mapping[str, str | bytes]) -> None:
    """Put these rows in the place of those of the same names; others stay as they are."""
    connection.executemany(
        "INSERT INTO part (name, content) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET content = excluded.content",
        rows.items(),
    )


def past_row(past: Iterable[Past]) -> str:
    """Promises that have ended, as the row PAST has them."""
    # An epsilon as text: it may be infinite, which JSON has no number for.
    return to_json([asdict(one) | {"epsilon": str(one.epsilon)} for one in past])


def snapshot_in(connection: sqlite3.Connection, path: Path) -> dict[str, Any] | None:
    """The agent's snapshot, all parts of it; None if nothing was ever stored."""
    try:
        return _snapshot(_rows(connection))
    except (TypeError, KeyError, ValueError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


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
    name, lower, upper, epsilon, created, from_backup, origin = connection.execute(
        "SELECT name, lower, upper, epsilon, created, from_backup, origin FROM meta"
    ).fetchone()
    epoch, floor, incarnation = connection.execute(
        "SELECT epoch, floor, incarnation FROM boot"
    ).fetchone()
    rows = _rows(connection)
    past = tuple(map(_past, json.loads(rows.get(PAST, "[]"))))
    base = past[-1].last if past else 0
    releases, covered = connection.execute(
        "SELECT count(*), max(last) - ? FROM ledger WHERE last > ?", (base, base)
    ).fetchone()
    stored = Stored(
        name=name,
        bounds=(lower, upper),
        epsilon=epsilon,
        origin=origin,
        created=created,
        from_backup=bool(from_backup),
        epoch=epoch,
        floor=floor,
        incarnation=incarnation,
        snapshot=_snapshot(rows),
        released=rows.get("released"),
        told=json.loads(rows.get("told", "{}")),
        standings={
            peer: Standing(epoch=epoch, round=round_)
            for peer, (epoch, round_) in sorted(json.loads(rows.get("standings", "{}")).items())
        },
        marks=json.loads(rows.get("marks", "{}")),
        entries={
            origin: Kept(content=content, via=via, at=at)
            for origin, content, via, at in connection.execute(
                "SELECT origin, content, via, at FROM entry ORDER BY rowid"
            )
        },
        fingerprints=json.loads(rows.get("fingerprints", "{}")),
        requests=dict(connection.execute("SELECT key, digest FROM request ORDER BY number")),
        past=past,
        covered=covered or 0,
        releases=releases,
    )
    _require_epsilons(connection, stored, path)
    noised = Progress.of(stored.snapshot).released
    if noised != stored.covered:
        what = f"{noised} samples were released, but the ledger lists {stored.covered}"
        raise damaged(path, what)
    return stored


def _require_epsilons(connection: sqlite3.Connection, stored: Stored, path: Path) -> None:
    """Each release was noised under the epsilon of its promise.

    It is not so where SQLite has played the log of one state into another.
    """
    promises = [(one.first, one.last, one.epsilon) for one in stored.past]
    for first, last, epsilon in [*promises, (stored.base + 1, LAST_SAMPLE, stored.epsilon)]:
        other = connection.execute(
            "SELECT epsilon FROM ledger WHERE last BETWEEN ? AND ? AND epsilon != ? LIMIT 1",
            (first, last, epsilon),
        ).fetchone()
        if other is not None:
            what = f"its promise is epsilon = {epsilon:g}, but the ledger lists {other[0]:g}"
            raise damaged(path, what)


def _past(plain: Mapping[str, Any]) -> Past:
    read = {"bounds": tuple(plain["bounds"]), "epsilon": float(plain["epsilon"])}
    return Past(**{**plain, **read})


def _rows(connection: sqlite3.Connection) -> dict[str, Any]:
    return dict(connection.execute("SELECT name, content FROM part"))


def _snapshot(rows: Mapping[str, Any]) -> dict[str, Any] | None:
    if HEAD not in rows:
        return None
    head: dict[str, Any] = json.loads(rows[HEAD])
    version = head["version"]
    if version > VERSION:
        raise newer("version", version, VERSION)
    # A state of an earlier version may lack a part: its upgrade adds it, and `read` misses it.
    return head | {part.value: json.loads(rows[part]) for part in Part if part in rows}
