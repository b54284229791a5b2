"""What neighbours say to each other in rounds: Algorithm 1's exchanges. Valid by construction."""

from dataclasses import dataclass

from colme.errors import MessageError
from colme.protocol.board.messages import BoardMessage
from colme.rules.release import LARGEST, Release

LARGEST_ROUND = 2**62
"""No round on the wire may be larger, so that everybody can store it."""


def _require_round(value: int) -> None:
    if not 1 <= value <= LARGEST_ROUND:
        raise MessageError("round", value, f"1 to {LARGEST_ROUND}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseMessage:
    """Exchange 1, "sample means": my released mean; None while I have published nothing yet."""

    round: int
    release: Release | None

    def __post_init__(self) -> None:
        _require_round(self.round)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeMessage:
    """Exchange 2, "set sizes": |C_a|, and whether I use the edge to you this round.

    `accepts` says "I accept you and hold all I need from you": your release of this round and your
    consensus value of the last. An edge counts where that was both sent and received.
    """

    round: int
    size: int
    degree: int
    accepts: bool

    def __post_init__(self) -> None:
        _require_round(self.round)
        if not 1 <= self.size <= self.degree + 1:
            raise MessageError("size", self.size, f"1 to degree + 1 = {self.degree + 1}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusMessage:
    """Exchange 3, "consensus means": mu-tilde-hat, for the mix of the next round."""

    round: int
    value: float

    def __post_init__(self) -> None:
        _require_round(self.round)
        if not abs(self.value) <= LARGEST:
            expected = f"a number of at most {LARGEST:g} in magnitude"
            raise MessageError("value", self.value, expected)


RoundMessage = ReleaseMessage | SizeMessage | ConsensusMessage
Message = RoundMessage | BoardMessage
"""Of any algorithm."""


def of_round(message: Message) -> RoundMessage:
    """What an agent in rounds sends: for those who drive no other."""
    assert isinstance(message, RoundMessage)
    return message
