"""What has been read of a file, small enough to be stored and compared with what is there."""

from hashlib import blake2b

TAIL = 4 * 1024
DIGEST_BYTES = 8
_BITS = 8 * DIGEST_BYTES


class Prefix:
    """The bytes of a file up to some place, as a digest; the last of them as they were."""

    def __init__(self) -> None:
        self._digest = blake2b(digest_size=DIGEST_BYTES)
        self.size = 0
        self.tail = b""

    def add(self, piece: bytes) -> None:
        """The bytes that come next."""
        self._digest.update(piece)
        self.size += len(piece)
        self.tail = (self.tail + piece)[-TAIL:]

    @property
    def seal(self) -> int:
        """Size and digest in one number, so that no digest is held against another place."""
        return self.size << _BITS | int.from_bytes(self._digest.digest())

    def ends_where(self, seal: int) -> bool:
        """Whether a seal was made at this place, of whatever bytes."""
        return seal >> _BITS == self.size
