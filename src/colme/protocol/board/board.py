"""The board: what one agent holds of everybody's releases. Nothing here signs, sends or waits.

A page of heads says in short what somebody holds: enough to tell who lacks what.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from re import compile as pattern

from colme.errors import ConfigError, MessageError
from colme.protocol.board.record import LARGEST_NUMBER, ORIGIN_SIZE, Entry, Proof, Record, join

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
        says_more = self.incarnation > 0 or self.proof or any(self.fingerprint)
        if self.sequence == 0 and says_more:
            # It would carry bytes that nobody has signed, in the name of any origin.
            raise MessageError("sequence", 0, "1 or more: where nothing is held, all else is 0")

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


CAPACITY = 4096
"""Origins on a board: about a megabyte, and as many bytes per edge where all of it is new; five if
all are barred by the longest proofs."""


@dataclass(frozen=True, slots=True)
class _Held:
    """An entry, and what a digest says of it: made once, since digests name all entries."""

    entry: Entry
    head: Head


class Board:
    """One entry for each origin: the smallest `capacity` of all origins, and some `always`.

    An origin is a hash, so the smallest are a random sample, and the same one everywhere: what is
    among the smallest of all is among the smallest of any part. What has been pushed out can't
    come back, since the origins that did so stay.
    """

    def __init__(self, always: Iterable[str], *, capacity: int = CAPACITY) -> None:
        if capacity < 1:
            raise ConfigError("capacity", capacity, "room for at least 1 origin")
        self._always = frozenset(always)
        self._capacity = capacity
        self._held: dict[str, _Held] = {}
        # In order. At places beyond the capacity there are only some of `always`.
        self._origins: list[str] = []

    def __len__(self) -> int:
        return len(self._origins)

    def __iter__(self) -> Iterator[Entry]:
        """In order of origin: whoever adds them up must do so in the same order everywhere."""
        return (self._held[origin].entry for origin in self._origins)

    def __contains__(self, origin: object) -> bool:
        return origin in self._held

    def get(self, origin: str) -> Entry | None:
        """What is held of an origin, if anything."""
        held = self._held.get(origin)
        return None if held is None else held.entry

    def _head(self, origin: str) -> Head | None:
        """In short what `get` gives."""
        held = self._held.get(origin)
        return None if held is None else held.head

    @property
    def records(self) -> tuple[Record, ...]:
        """Of all origins that are not barred and speak my version, in order of origin."""
        return tuple(entry for entry in self if isinstance(entry, Record))

    @property
    def fingerprint(self) -> str:
        """The same wherever the same is held."""
        heads = (self._held[origin].head for origin in self._origins)
        return sha256(b"".join(head.fingerprint for head in heads)).hexdigest()[:16]

    def is_news(self, entry: Entry) -> bool:
        """Whether to merge it would change anything."""
        held = self.get(entry.origin)
        if held is None:
            return self._has_room_for(entry.origin)
        return join(held, entry) is not held

    def merge(self, entry: Entry) -> bool:
        """Take it in; whether it was news."""
        origin = entry.origin
        held = self.get(origin)
        if held is None and not self._has_room_for(origin):
            return False
        joined = entry if held is None else join(held, entry)
        if joined is held:
            return False
        self._held[origin] = _Held(joined, Head.of(joined))
        if held is None:
            insort(self._origins, origin)
            self._push_out()
        return True

    def remove(self, origin: str) -> None:
        """Forget what is held of a publisher that is not admitted any more."""
        del self._held[origin]
        self._origins.remove(origin)

    def samples(self, origin: str) -> bool:
        """Whether it is held for being among the smallest, as everybody holds it."""
        return origin <= self._horizon

    def _has_room_for(self, origin: str) -> bool:
        return origin in self._always or self.samples(origin)

    @property
    def _horizon(self) -> str:
        """The largest origin that still is among the smallest."""
        full = len(self._origins) >= self._capacity
        return self._origins[self._capacity - 1] if full else LAST_ORIGIN

    def _push_out(self) -> None:
        """One origin more has moved at most one of the smallest beyond the capacity."""
        if len(self._origins) > self._capacity:
            beyond = self._origins[self._capacity]
            if beyond not in self._always:
                del self._origins[self._capacity]
                del self._held[beyond]

    def pages(self) -> list[Page]:
        """What I hold, and would like to hold: for whoever may lack it, or have more."""
        listed = sorted(self._always.union(self._origins))
        pages: list[Page] = []
        after = ""
        for start in range(0, max(1, len(listed)), PAGE):
            origins = listed[start : start + PAGE]
            final = start + PAGE >= len(listed)
            last = self._horizon if final else min(origins[-1], self._horizon)
            heads = tuple(self._head(origin) or Head(origin=origin) for origin in origins)
            pages.append(Page(after=after, last=last, heads=heads))
            after = last
        return pages

    def lacking(self, page: Page) -> list[str]:
        """The origins of which I hold what is news to the author of the page."""
        theirs = {head.origin: head for head in page.heads}
        start = bisect_right(self._origins, page.after)
        end = bisect_right(self._origins, page.last)
        covered = self._origins[start:end]
        beyond = [origin for origin in theirs if not page.covers(origin)]
        mine = filter(None, map(self._head, (*covered, *beyond)))
        return [head.origin for head in mine if head.adds_to(theirs.get(head.origin))]

    def wanting(self, page: Page) -> list[str]:
        """The origins of which the author of the page holds what is news to me."""
        return [
            head.origin
            for head in page.heads
            if self._has_room_for(head.origin) and head.adds_to(self._head(head.origin))
        ]
