"""What a board holds of an origin: its newest record, or a proof that it contradicts itself.

A record is one agent's release, signed, as it is passed on from neighbour to neighbour. Records of
versions that this program does not know (`Foreign`) are passed on as they came, and never used.
`join` makes one entry of two.

Content, that is what is signed, in this order and big endian (127 bytes):

| bytes | field |
|---|---|
| 12 | "colme record": no signature for anything else can pass for one of a record |
| 2 | version |
| 32 | key |
| 5 x 8 | incarnation, sequence, count, past_count, past_draws |
| 4 x 8 | epsilon, lower bound, upper bound, mean: the bits of each float |
| 1 | which number is last: 0 a declared variance, 1 a released square |
| 8 | that number |

A record as bytes is its content, without the first 12 bytes, which all have, and then the signature
(64 bytes): 179. There is one way to write one.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from struct import Struct
from typing import Self

from colme.errors import ConfigError, MessageError
from colme.rules.release import LARGEST, Profile
from colme.rules.weighing import WeighedBlocks

VERSION = 1
"""Of the fields and what they mean. A record of another version is a `Foreign` one.

All versions begin with the same fields, up to the sequence, and end with a signature: so they can
be ordered, checked and passed on by those who do not know them."""

KEY_SIZE = 32
SIGNATURE_SIZE = 64
ORIGIN_SIZE = 16
"""Bytes of a hash: nobody can find a second key for somebody's origin."""

LARGEST_NUMBER = 2**62
"""No count or place in an order may be larger, so that everybody can store it."""

PREFIX = b"colme record"
"""Of what is signed: no signature for anything else can pass for one of a record."""
_LAYOUT = Struct(f">12sH{KEY_SIZE}s5Q4dBd")
_WITH_VARIANCE, _WITH_SQUARE = 0, 1

RECORD_SIZE = _LAYOUT.size - len(PREFIX) + SIGNATURE_SIZE


def origin_of_key(key: bytes) -> str:
    """The name that goes with a key, in hex. It is a hash, so all origins are spread evenly."""
    return sha256(key).digest()[:ORIGIN_SIZE].hex()


def weighed_blocks(epsilon: float, origin: str) -> WeighedBlocks:
    """Where the blocks of an origin end: its first byte says how early the first one does."""
    return WeighedBlocks(epsilon, early=int(origin[:2], 16))


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one agent had released when it wrote this. All of it is public."""

    version: int = VERSION
    key: bytes
    """The author's public key."""
    incarnation: int
    """How many times the author has lost its state and begun anew."""
    sequence: int
    """Blocks noised since: each release has a larger one."""
    count: int
    """Samples that the release covers."""
    past_count: int = 0
    """Those of them that were released before blocks were weighed, taken as one first block."""
    past_draws: int = 0
    """The noise draws in that block."""
    epsilon: float
    """The privacy of each sample; inf for none."""
    bounds: tuple[float, float]
    """Of the samples: the noise is scaled to them."""
    mean: float
    """The released mean, its blocks weighed."""
    variance: float | None
    """Of the samples, as the author declares it; None where it is not known."""
    square: float | None
    """The released mean square about the midpoint of the bounds, where the variance is not known.
    With its noise it may be negative."""
    signature: bytes
    """Of `content`, by the author."""

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise MessageError("version", self.version, f"{VERSION}")
        require_size("key", self.key, KEY_SIZE)
        require_size("signature", self.signature, SIGNATURE_SIZE)
        require_within("incarnation", self.incarnation, 0, LARGEST_NUMBER)
        require_within("count", self.count, 1, LARGEST_NUMBER)
        # A block has a sample at least, and one draw.
        require_within("sequence", self.sequence, 1, self.count)
        require_within("past_count", self.past_count, 0, self.count)
        fewest = 1 if self.past_count else 0
        require_within("past_draws", self.past_draws, fewest, min(self.past_count, self.sequence))
        if (self.variance is None) == (self.square is None):
            seen = (self.variance, self.square)
            raise MessageError("variance, square", seen, "one of the two, and None for the other")
        try:
            _ = self.profile
        except ConfigError as error:
            field = "variance" if error.field == "sigma2" else error.field
            raise MessageError(field, error.seen, error.expected) from error
        for field, number in (("mean", self.mean), ("square", self.square)):
            if number is not None and not abs(number) <= LARGEST:
                raise MessageError(field, number, f"a number of at most {LARGEST:g} in magnitude")

    @property
    def origin(self) -> str:
        """Whose it is."""
        return origin_of_key(self.key)

    @property
    def schedule(self) -> WeighedBlocks:
        """Where its author's blocks end."""
        return weighed_blocks(self.epsilon, self.origin)

    @property
    def order(self) -> tuple[int, int]:
        """What tells the newer of two records of one origin."""
        return self.incarnation, self.sequence

    @property
    def profile(self) -> Profile:
        """What is public about the author's data; without a variance, the largest there can be."""
        lo, hi = self.bounds
        return Profile.bounded(lo, hi, epsilon=self.epsilon, sigma2=self.variance)

    def content(self) -> bytes:
        """What is signed. Two records say the same where these are the same bytes."""
        known = self.variance is not None
        return _LAYOUT.pack(
            PREFIX,
            self.version,
            self.key,
            self.incarnation,
            self.sequence,
            self.count,
            self.past_count,
            self.past_draws,
            self.epsilon,
            *self.bounds,
            self.mean,
            _WITH_VARIANCE if known else _WITH_SQUARE,
            self.variance if known else self.square,
        )

    def with_signature(self, signature: bytes) -> Self:
        """The same, signed."""
        return replace(self, signature=signature)

    def to_bytes(self) -> bytes:
        """The content, but for what all have in front, and the signature."""
        return self.content().removeprefix(PREFIX) + self.signature

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The record that `to_bytes` wrote. Nothing is said about its signature."""
        require_size("record", data, RECORD_SIZE)
        content, signature = data[:-SIGNATURE_SIZE], data[-SIGNATURE_SIZE:]
        _, version, key, *numbers = _LAYOUT.unpack(PREFIX + content)
        incarnation, sequence, count, past_count, past_draws = numbers[:5]
        epsilon, lo, hi, mean, kind, last = numbers[5:]
        if kind not in (_WITH_VARIANCE, _WITH_SQUARE):
            expected = f"{_WITH_VARIANCE} (variance) or {_WITH_SQUARE} (square)"
            raise MessageError("record", kind, expected)
        return cls(
            version=version,
            key=key,
            incarnation=incarnation,
            sequence=sequence,
            count=count,
            past_count=past_count,
            past_draws=past_draws,
            epsilon=epsilon,
            bounds=(lo, hi),
            mean=mean,
            variance=last if kind == _WITH_VARIANCE else None,
            square=last if kind == _WITH_SQUARE else None,
            signature=signature,
        )


def require_size(field: str, data: bytes, size: int) -> None:
    """Refuse other lengths."""
    if len(data) != size:
        raise MessageError(field, f"{len(data)} bytes", f"{size} bytes")


def require_within(field: str, number: int, lowest: int, highest: int) -> None:
    """Refuse numbers outside."""
    if not lowest <= number <= highest:
        raise MessageError(field, number, f"{lowest} to {highest}")


LARGEST_BODY = 512
"""Bytes of a record that nobody here can read: what is passed on unread must not be large."""

_HEAD = Struct(f">H{KEY_SIZE}s2Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A record of a version that is unknown here: its body can be read by others only."""

    version: int
    key: bytes
    incarnation: int
    sequence: int
    body: bytes
    signature: bytes

    def __post_init__(self) -> None:
        require_within("version", self.version, 1, 2**16 - 1)
        if self.version == VERSION:
            raise MessageError("version", self.version, "one that I do not know")
        require_size("key", self.key, KEY_SIZE)
        require_size("signature", self.signature, SIGNATURE_SIZE)
        require_within("incarnation", self.incarnation, 0, LARGEST_NUMBER)
        require_within("sequence", self.sequence, 1, LARGEST_NUMBER)
        if len(self.body) > LARGEST_BODY:
            raise MessageError("body", f"{len(self.body)} bytes", f"at most {LARGEST_BODY} bytes")

    @property
    def origin(self) -> str:
        """Whose it is."""
        return origin_of_key(self.key)

    @property
    def order(self) -> tuple[int, int]:
        """What tells the newer of two records of one origin."""
        return self.incarnation, self.sequence

    def content(self) -> bytes:
        """What is signed."""
        head = _HEAD.pack(self.version, self.key, self.incarnation, self.sequence)
        return PREFIX + head + self.body

    def to_bytes(self) -> bytes:
        """The content, but for what all have in front, and the signature."""
        return self.content().removeprefix(PREFIX) + self.signature

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The record in these bytes. Nothing is said about its signature."""
        if len(data) < _HEAD.size + SIGNATURE_SIZE:
            expected = f"at least {_HEAD.size + SIGNATURE_SIZE} bytes"
            raise MessageError("record", f"{len(data)} bytes", expected)
        version, key, incarnation, sequence = _HEAD.unpack(data[: _HEAD.size])
        return cls(
            version=version,
            key=key,
            incarnation=incarnation,
            sequence=sequence,
            body=data[_HEAD.size : -SIGNATURE_SIZE],
            signature=data[-SIGNATURE_SIZE:],
        )


Statement = Record | Foreign
"""What somebody has signed about its own releases, in a version that I know or in another."""

_PROOF = b"colme proof "
_SHORT = Struct(">H")
"""A length, or a version."""


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
        return _PROOF + _SHORT.pack(len(first)) + first + self.second.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The proof that `to_bytes` wrote. Nothing is said about its signatures."""
        start = len(_PROOF) + _SHORT.size
        if not data.startswith(_PROOF) or len(data) < start:
            raise MessageError("proof", data[:start], f"{_PROOF!r} in front, and a length")
        (length,) = _SHORT.unpack(data[len(_PROOF) : start])
        first, second = data[start : start + length], data[start + length :]
        return cls(statement_from_bytes(first), statement_from_bytes(second))


Entry = Statement | Proof
"""Of one origin."""


def statements(entry: Entry) -> tuple[Statement, ...]:
    """All that somebody has signed in it."""
    return (entry.first, entry.second) if isinstance(entry, Proof) else (entry,)


def statement_from_bytes(data: bytes) -> Statement:
    """A record: its version tells which."""
    known = data.startswith(_SHORT.pack(VERSION))
    return Record.from_bytes(data) if known else Foreign.from_bytes(data)


def entry_from_bytes(data: bytes) -> Entry:
    """A statement or a proof: how it begins tells which."""
    return Proof.from_bytes(data) if data.startswith(_PROOF) else statement_from_bytes(data)


def join(one: Entry, other: Entry) -> Entry:
    """Return what both together say of their origin; `one` itself where the other adds nothing.

    A newer record replaces an older one; two that claim one place and differ are a proof, and a
    proof stays for good. Contents decide: of two signatures of one content, either will do.

    `join` is commutative and idempotent. It is associative as well for an origin that does not
    contradict itself, and for one whose contradictions are all at its newest place. Otherwise it
    can't be: an older record is not kept, so one that contradicts it and comes later goes
    unnoticed. What follows is not disagreement but luck: whoever did see both has a proof, proofs
    replace records wherever they come, and so all boards that exchange what they hold end alike.
    """
    if one.order == other.order:
        return _of_one_place(one, other)
    match isinstance(one, Proof), isinstance(other, Proof):
        case True, True:
            return one if one.order < other.order else other
        case True, False:
            return one
        case False, True:
            return other
    return one if one.order > other.order else other


def _of_one_place(one: Entry, other: Entry) -> Entry:
    """The two smallest contents of all are the proof, so that everybody picks the same two."""
    different = {said.content(): said for said in (*statements(other), *statements(one))}
    smallest = sorted(different)[:2]
    if smallest == [said.content() for said in statements(one)]:
        return one
    first, second = (different[content] for content in smallest)
    return Proof(first, second)
