"""What a board holds of one origin: what it said last, or a proof that it contradicts itself."""

from dataclasses import dataclass
from struct import Struct
from typing import Self

from colme.errors import MessageError
from colme.protocol.board.foreign import Foreign
from colme.protocol.board.record import VERSION, Record

Statement = Record | Foreign
"""What somebody has signed about its own releases, in a version that I know or in another."""

_PROOF = b"colme proof "
_LENGTH = Struct(">H")
_VERSION = Struct(">H")


@dataclass(frozen=True, slots=True)
class Proof:
    """Two statements of one origin that claim the same place and differ: it has misbehaved.

    Whoever holds it believes nothing of that origin any more. The smaller content comes first.
    """

    first: Statement
    second: Statement

    def __post_init__(self) -> None:
        one, other = self.first, self.second
        if one.key != other.key:
            raise MessageError("proof", (one.origin, other.origin), "two records of one origin")
        if one.order != other.order:
            expected = "two records with one incarnation and sequence"
            raise MessageError("proof", (one.order, other.order), expected)
        if not one.content() < other.content():
            expected = "two that differ, the smaller content first"
            raise MessageError("proof", "two records in another order, or the same", expected)

    @classmethod
    def from_pair(cls, one: Statement, other: Statement) -> Self:
        """In whichever order the two come."""
        return cls(one, other) if one.content() < other.content() else cls(other, one)

    @property
    def origin(self) -> str:
        """Whom it bars."""
        return self.first.origin

    @property
    def order(self) -> tuple[int, int]:
        """The place that both claim."""
        return self.first.order

    def content(self) -> bytes:
        """Both contents. Two proofs are the same where these are the same bytes."""
        return self.first.content() + self.second.content()

    def to_bytes(self) -> bytes:
        """Both statements, and where the second one begins."""
        first = self.first.to_bytes()
        return _PROOF + _LENGTH.pack(len(first)) + first + self.second.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The proof that `to_bytes` wrote. Nothing is said about its signatures."""
        start = len(_PROOF) + _LENGTH.size
        if not data.startswith(_PROOF) or len(data) < start:
            raise MessageError("proof", data[:start], f"{_PROOF!r} in front, and a length")
        (length,) = _LENGTH.unpack(data[len(_PROOF) : start])
        first, second = data[start : start + length], data[start + length :]
        return cls(statement_from_bytes(first), statement_from_bytes(second))


Entry = Statement | Proof
"""Of one origin."""


def statements(entry: Entry) -> tuple[Statement, ...]:
    """All that somebody has signed in it."""
    return (entry.first, entry.second) if isinstance(entry, Proof) else (entry,)


def statement_from_bytes(data: bytes) -> Statement:
    """A record: its version tells which."""
    known = data.startswith(_VERSION.pack(VERSION))
    return Record.from_bytes(data) if known else Foreign.from_bytes(data)


def entry_from_bytes(data: bytes) -> Entry:
    """A statement or a proof: how it begins tells which."""
    return Proof.from_bytes(data) if data.startswith(_PROOF) else statement_from_bytes(data)
