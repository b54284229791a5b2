"""Why something a neighbour sent was not taken."""

from enum import StrEnum

from colme.errors import RemoteProtocolError
from colme.node.wire.standing import Standing


class Reason(StrEnum):
    """In a word, for counters; the wire has the same names."""

    GARBAGE = "garbage"
    OVERSIZED = "oversized"
    INVALID_VALUE = "invalid value"
    OLD_ROUND = "old round"
    FUTURE_ROUND = "future round"
    DUPLICATE = "duplicate"
    NO_HELLO = "no hello"
    OTHER_CONFIGURATION = "other configuration"
    STALE_STATE = "stale state"
    UNKNOWN_PEER = "unknown peer"
    BAD_SIGNATURE = "bad signature"
    UNKNOWN_ORIGIN = "unknown origin"
    TOO_MANY_ORIGINS = "too many origins"
    NO_PROOF = "no proof"
    ENDLESS_DIGEST = "endless digest"
    OLD_RECORD = "old record"
    LARGE_COUNT = "large count"


class Refused(RemoteProtocolError):  # noqa: N818 (it reads as what it is)
    """A neighbour sent what can't be taken; `reason` says why in a word.

    `remembered` is how far the neighbour had come, where that is why.
    """

    def __init__(
        self,
        reason: Reason,
        peer: str,
        field: str,
        seen: object,
        expected: str,
        remembered: Standing | None = None,
    ) -> None:
        super().__init__(peer, field, seen, expected)
        self.args = (reason, peer, field, seen, expected, remembered)
        self.reason = reason
        self.remembered = remembered
        self.yours = b""
        """The newest entry of the neighbour's own that I hold, where it should know."""
