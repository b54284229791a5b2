"""Who an agent is to all others: a key, and signatures that go with it."""

from hashlib import sha256, sha512
from typing import Protocol

from colme.protocol.board.record import origin_of_key


class BoardIdentity(Protocol):
    """Signs an agent's own records and checks everybody's."""

    @property
    def key(self) -> bytes:
        """The public key: 32 bytes."""
        ...

    def sign(self, content: bytes) -> bytes:
        """The signature of a content under that key: 64 bytes, the same each time."""
        ...

    def verify(self, key: bytes, content: bytes, signature: bytes) -> bool:
        """Whether the owner of a key, mine or not, has signed this content."""
        ...

    def origin_of(self, neighbour: str) -> str | None:
        """The origin of a neighbour's records; None where it is not known."""
        ...


class InProcess:
    """For agents of one process, which need not distrust each other.

    Anybody can make its signatures: they tell damage, not forgery.
    """

    def __init__(self, name: str) -> None:
        self.key = _key_of(name)

    def sign(self, content: bytes) -> bytes:
        """A hash."""
        return sha512(self.key + content).digest()

    def verify(self, key: bytes, content: bytes, signature: bytes) -> bool:
        """Whether it is that hash."""
        return signature == sha512(key + content).digest()

    def origin_of(self, neighbour: str) -> str:
        """Names are all it takes to know everybody's."""
        return origin_of_key(_key_of(neighbour))


def _key_of(name: str) -> bytes:
    return sha256(name.encode()).digest()
