"""What is stored of a node, for its owner: counts, progress and what was sent, no exact value."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from colme.node.state import database
from colme.node.state.stored import (
    BATCHES,
    REPEATABLE,
    Progress,
    Stored,
    is_seal,
    last_entries,
    read,
)
from colme.node.state.upgrades import to_read
from colme.node.wire.codec import Standing, release_in
from colme.privacy.ledger import Entry, Ledger, Past
from colme.protocol.board.record import Record
from colme.protocol.snapshot import OF_ROUNDS
from colme.rules.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The release of a record, whose precision follows from public facts."""

    count: int
    mean: float


def _sent(stored: Stored) -> Release | Sent | None:
    if (stored.snapshot or {}).get("algorithm") in (None, *OF_ROUNDS):
        return None if stored.released is None else release_in(stored.released)
    mine = stored.entries.get(stored.origin or "")
    if mine is None:
        return None
    record = Record.from_bytes(mine.content)
    return Sent(count=record.count, mean=record.mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A node's state as of its last commit."""

    name: str
    algorithm: str | None
    """None where nothing tells: nothing was stored yet, or 0.1.0 did, which did not name it."""
    created: str
    from_backup: bool
    epoch: int
    round: int
    floor: int
    incarnation: int
    """Which life of its owner a stream that begins in it is: 0 unless another came before."""
    records: int
    """Of the board, its own among them."""
    taken: int
    ledger: Ledger
    past: tuple[Past, ...]
    """Promises that held before, for samples of then."""
    releases: int
    last_entries: tuple[Entry, ...]
    sent: Release | Sent | None
    """The last release, noised, as every neighbour may know it."""
    standings: Mapping[str, Standing]
    marks: Mapping[str, int]
    """How far each source has been read."""
    repeatable: bool
    """Whether it is a trial's, whose noise can be repeated."""

    @property
    def follows_a_loss(self) -> bool:
        """Whether it may: it begins after something, and has no sample of its own."""
        return (self.floor > 0 or self.incarnation > 0) and not self.taken and not self.past

    @classmethod
    def of(cls, folder: Path, *, entries: int = 5) -> Self:
        """Read it, beside a running node or not, with the newest entries of its ledger."""
        path = folder / database.FILE
        with database.in_words(path), to_read(path) as connection:
            stored = read(connection, path)
            newest = last_entries(connection, entries)
        progress = Progress.of(stored.snapshot)
        return cls(
            name=stored.name,
            algorithm=(stored.snapshot or {}).get("algorithm"),
            created=stored.created,
            from_backup=stored.from_backup,
            epoch=stored.epoch,
            round=progress.round,
            floor=stored.floor,
            incarnation=stored.incarnation,
            records=len(stored.entries),
            taken=progress.taken,
            ledger=Ledger(
                epsilon=stored.epsilon,
                samples=progress.released,
                blocks=progress.blocks,
                waiting=progress.waiting,
            ),
            past=stored.past,
            releases=stored.releases,
            last_entries=tuple(newest),
            sent=_sent(stored),
            standings=stored.standings,
            marks={
                name: mark
                for name, mark in stored.marks.items()
                if name not in (REPEATABLE, BATCHES) and not is_seal(name)
            },
            repeatable=bool(stored.marks.get(REPEATABLE)),
        )
