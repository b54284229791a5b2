"""Records of versions that I do not know: kept apart, passed on as they came, and never used."""

from dataclasses import dataclass
from struct import Struct
from typing import Self

from colme.errors import MessageError
from colme.protocol.board.record import (
    KEY_SIZE,
    LARGEST_NUMBER,
    PREFIX,
    SIGNATURE_SIZE,
    VERSION,
    origin_of_key,
    require_size,
    require_within,
)

LARGEST_BODY = 512
"""Bytes of a record that nobody here can read: what is passed on unread must not be large."""

_HEAD = Struct(f">H{KEY_SIZE}s2Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """Whose it is, which is newer, and a body that only others can read."""

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
