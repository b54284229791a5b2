"""Ed25519: who an agent is to all others where they need not trust those in between."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from colme.errors import ConfigError
from colme.protocol.board.record import KEY_SIZE, origin_of_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SECRET_SIZE = 32


class Ed25519:
    """One agent's private key, and the public keys of those neighbours that are known by theirs."""

    def __init__(
        self, private: "Ed25519PrivateKey", neighbours: Mapping[str, bytes] | None = None
    ) -> None:
        self.key: bytes = private.public_key().public_bytes_raw()
        self._private = private
        self._origins = {name: _origin(name, key) for name, key in (neighbours or {}).items()}

    @classmethod
    def generate(cls, neighbours: Mapping[str, bytes] | None = None) -> Self:
        """With a new key, from the randomness of the machine."""
        return cls(_ed25519().Ed25519PrivateKey.generate(), neighbours)

    @classmethod
    def from_bytes(cls, secret: bytes, neighbours: Mapping[str, bytes] | None = None) -> Self:
        """With the key that `to_bytes` wrote."""
        if len(secret) != SECRET_SIZE:
            # Not the bytes: they may be a key all the same.
            raise ConfigError("private key", f"{len(secret)} bytes", f"{SECRET_SIZE} bytes")
        return cls(_ed25519().Ed25519PrivateKey.from_private_bytes(secret), neighbours)

    def to_bytes(self) -> bytes:
        """The private key, to keep: whoever has it can speak in this agent's name."""
        return self._private.private_bytes_raw()

    def sign(self, content: bytes) -> bytes:
        """Deterministic: the same content has the same signature."""
        return self._private.sign(content)

    def verify(self, key: bytes, content: bytes, signature: bytes) -> bool:
        """Whether the owner of this public key has signed this content."""
        from cryptography.exceptions import InvalidSignature

        try:
            _ed25519().Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
        except (InvalidSignature, ValueError):  # the latter for bytes that are no key
            return False
        return True

    def origin_of(self, neighbour: str) -> str | None:
        """Of a neighbour whose key is known."""
        return self._origins.get(neighbour)


def _origin(name: str, key: bytes) -> str:
    if len(key) != KEY_SIZE:
        raise ConfigError(f"key of {name}", f"{len(key)} bytes", f"{KEY_SIZE} bytes")
    return origin_of_key(key)


def _ed25519() -> Any:
    """The package is needed where keys are, and nowhere else."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        expected = "pip install '.[node]' in a clone of this project"
        raise ConfigError("signatures", "no package cryptography", expected) from error
    return ed25519
