"""What can go wrong, and who erred.

ColmeError
├── InvalidValue              a value that can never be right, wherever it came from
│   ├── ConfigError           … in the configuration (the operator erred)
│   │   └── UnknownOption     … an option that the chosen kind of thing does not have
│   ├── SampleError           … in a sample (the data source erred)
│   ├── MessageError          … in a message, while it is built (its author erred)
│   └── SnapshotError         … in a stored state (another version, another agent, damage)
├── ProtocolError             a move that is not legal now
│   ├── LocalProtocolError    … by the program that drives the agent
│   └── RemoteProtocolError   … by a neighbour; carries its name as `peer`
└── NodeError                 a node can't start or go on: its machine or files are to blame
    ├── IdentityError         … a key or certificate that is missing, damaged or expired
    ├── StoreError            … its state can't be read or written, or another process has it
    ├── StaleStateError       … its state is older than what it has already sent
    │   └── ForkedStateError  … two copies of its state have sent: only a new key goes on
    ├── LedgerError           … a sample would be noised a second time
    └── NetworkError          … its address is taken, or a neighbour can't be reached

Each names the field, what was seen and what would be right. The object that raises it is unchanged.
"""

import difflib
from collections.abc import Sequence
from enum import StrEnum


class ColmeError(Exception):
    """Base of every error raised on purpose."""

    def __init__(self, field: str, seen: object, expected: str) -> None:
        super().__init__(field, seen, expected)
        self.field = field
        self.seen = seen
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.field}: saw {self.seen!r}, expected {self.expected}"


class InvalidValue(ColmeError, ValueError):  # noqa: N818 (it reads as what it is)
    """A value that can never be right."""


class ConfigError(InvalidValue):
    """A setting that can never be right."""


class UnknownOption(ConfigError):  # noqa: N818 (it reads as what it is)
    """An option that the chosen algorithm, rule, distribution or graph does not have."""

    def __init__(self, field: str, kind: str, options: Sequence[str]) -> None:
        super().__init__(field, kind, f"one of {', '.join(options)}" if options else "no options")
        self.args = (field, kind, options)
        self.options = options

    def __str__(self) -> str:
        has = f" (it has {', '.join(self.options)})" if self.options else ""
        return f"{self.field}: {self.seen!r} has none{has}"


class SampleError(InvalidValue):
    """A sample that is not a finite number."""


class MessageError(InvalidValue):
    """A message that can't be built: a field of it is out of range."""


class SnapshotError(InvalidValue):
    """A stored state that does not fit this version or this agent."""


class ProtocolError(ColmeError):
    """A move that is not legal now."""


class LocalProtocolError(ProtocolError):
    """The program that drives the agent made an illegal move."""


class Reason(StrEnum):
    """Why something a neighbour sent was not taken; counters and the wire have the same names."""

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


class RemoteProtocolError(ProtocolError):
    """A neighbour made an illegal move; `reason` says in a word why it is not taken."""

    def __init__(
        self,
        peer: str,
        field: str,
        seen: object,
        expected: str,
        reason: Reason = Reason.INVALID_VALUE,
    ) -> None:
        super().__init__(field, seen, expected)
        self.args = (peer, field, seen, expected, reason)
        self.peer = peer
        self.reason = reason

    def __str__(self) -> str:
        return f"from {self.peer}: {super().__str__()}"


class NodeError(ColmeError):
    """A node can't start, or can't go on."""


class IdentityError(NodeError):
    """A key or certificate is missing, damaged or expired."""


class StoreError(NodeError):
    """A node's state can't be read or written, or another process has it."""


class StaleStateError(NodeError):
    """A node's state is older than what it has already sent: to go on would noise samples twice."""


class ForkedStateError(StaleStateError):
    """Two copies of a node's state have released, each its own noise for the same samples."""


class LedgerError(NodeError):
    """A sample would be noised a second time."""


class NetworkError(NodeError):
    """A node's address is taken, or a neighbour can't be reached."""


def one_of(seen: str, known: Sequence[str]) -> str:
    """What would be right where a name is not known."""
    close = difflib.get_close_matches(seen, known, n=1)
    return f"{close[0]!r}, perhaps" if close else f"one of {', '.join(known)}"


def needs(package: str | None, extra: str) -> str:
    """What is not installed, and the command that brings it."""
    return (
        f"this needs the package {package}, which comes with the extra '{extra}': "
        f"pip install '.[{extra}]' in a clone of this project"
    )
