"""What somebody holds, in short: enough to tell who lacks what, page by page."""

from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from re import compile as pattern

from colme.errors import MessageError
from colme.protocol.board.entry import Entry, Proof
from colme.protocol.board.record import LARGEST_NUMBER, ORIGIN_SIZE

PAGE = 256
"""Heads on a page: about 12 kB."""

FINGERPRINT_SIZE = 16

LAST_ORIGIN = "f" * 2 * ORIGIN_SIZE

_ORIGIN = pattern(f"[0-9a-f]{{{2 * ORIGIN_SIZE}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What somebody holds of one origin, or that it would like to have something of it."""

    origin: str
    incarnation: int = 0
    sequence: int = 0
    """0 where nothing is held."""
    proof: bool = False
    fingerprint: bytes = bytes(FINGERPRINT_SIZE)
    """Of the content. Without it a contradiction between two sides would never be found out."""

    def __post_init__(self) -> None:
        require_origin("origin", self.origin)
        for field, number in (("incarnation", self.incarnation), ("sequence", self.sequence)):
            if not 0 <= number <= LARGEST_NUMBER:
                raise MessageError(field, number, f"0 to {LARGEST_NUMBER}")
        if len(self.fingerprint) != FINGERPRINT_SIZE:
            seen = f"{len(self.fingerprint)} bytes"
            raise MessageError("fingerprint", seen, f"{FINGERPRINT_SIZE} bytes")

    @classmethod
    def of(cls, entry: Entry) -> "Head":
        """Of what is held."""
        incarnation, sequence = entry.order
        return cls(
            origin=entry.origin,
            incarnation=incarnation,
            sequence=sequence,
            proof=isinstance(entry, Proof),
            fingerprint=sha256(entry.content()).digest()[:FINGERPRINT_SIZE],
        )

    def adds_to(self, other: "Head | None") -> bool:
        """Whether what this stands for is news to whoever holds the other, of the same origin."""
        if other is None:
            return self.sequence > 0
        if self.sequence == 0 or self.fingerprint == other.fingerprint:
            return False
        if self.proof or other.proof:
            return self.proof
        return (self.incarnation, self.sequence) >= (other.incarnation, other.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All that somebody holds of the origins above `after` and up to `last`.

    Some heads may be of origins beyond: what it would not take from anybody else but these.
    """

    after: str
    """An origin, or nothing at the first page."""
    last: str
    heads: tuple[Head, ...]
    """In order of origin."""

    def __post_init__(self) -> None:
        if self.after:
            require_origin("after", self.after)
        require_origin("last", self.last)
        if len(self.heads) > PAGE:
            raise MessageError("heads", len(self.heads), f"at most {PAGE} on a page")
        if any(one.origin >= other.origin for one, other in pairwise(self.heads)):
            raise MessageError("heads", "an origin twice or out of order", "each once, in order")

    def covers(self, origin: str) -> bool:
        """Whether one that is not on the page is one that its author does not hold."""
        return self.after < origin <= self.last

    def tells_of(self, origin: str) -> bool:
        """Whether it says what its author holds of one, were it nothing."""
        return self.covers(origin) or any(head.origin == origin for head in self.heads)


def require_origin(field: str, origin: str) -> None:
    """Refuse what can't be the name of an origin."""
    if not _ORIGIN.fullmatch(origin):
        raise MessageError(field, origin, f"{2 * ORIGIN_SIZE} hexadecimal digits in lower case")
