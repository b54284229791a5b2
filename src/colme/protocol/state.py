"""All that an agent remembers, as plain values: what a snapshot holds."""

from dataclasses import dataclass, field
from enum import Enum

from colme.protocol.messages import ConsensusMessage, Message, ReleaseMessage, SizeMessage
from colme.protocol.stream import Stream

SUSPECT_AFTER = 3
"""Missed rounds in a row after which nobody waits for a neighbour any more."""
TRUSTED_AFTER = 2
"""Clean rounds in a row that bring a suspect back."""


class Phase(Enum):
    """Which exchange of the round is open; a round runs through them from top to bottom."""

    RELEASE = "release"
    SIZE = "size"
    CONSENSUS = "consensus"
    IDLE = "idle"

    @property
    def place(self) -> int:
        """Its place in the round."""
        return _ORDER.index(self)


_ORDER = tuple(Phase)
EXCHANGE: dict[type[Message], Phase] = {
    ReleaseMessage: Phase.RELEASE,
    SizeMessage: Phase.SIZE,
    ConsensusMessage: Phase.CONSENSUS,
}
"""The exchange each message belongs to."""


@dataclass(slots=True)
class Inbox:
    """One neighbour's messages of one round, a field for each exchange."""

    release: ReleaseMessage | None = None
    size: SizeMessage | None = None
    consensus: ConsensusMessage | None = None

    def holds(self, exchange: Phase) -> bool:
        """Whether the message of this exchange is here."""
        return getattr(self, exchange.value) is not None

    def put(self, message: Message) -> None:
        """Keep a message."""
        setattr(self, EXCHANGE[type(message)].value, message)

    @property
    def complete(self) -> bool:
        """Whether all three exchanges are here."""
        return all(map(self.holds, EXCHANGE.values()))

    @property
    def empty(self) -> bool:
        """Whether nothing is here."""
        return not any(map(self.holds, EXCHANGE.values()))


@dataclass(slots=True)
class Peer:
    """What I hold about a neighbour."""

    # The paper starts every consensus value at 0, so all of "round 0" is known to all.
    consensus: float = 0.0
    weight: float = 0.0
    excess: float | None = None
    consensus_round: int = 0
    looks_alike: bool = False
    accepted: bool = False
    now: Inbox = field(default_factory=Inbox)
    ahead: Inbox = field(default_factory=Inbox)
    late: int = 0
    late_now: bool = False
    suspect: bool = False
    streak: int = 0
    returned: bool = False
    missed: bool = False

    def awaited(self, exchange: Phase) -> bool:
        """Whether to wait for it: not for one that missed an exchange of this round already.

        Nor for one that has gone on to the next: messages arrive in the order they were sent.
        """
        here = self.now.holds(exchange)
        return not (self.suspect or self.missed or here) and self.ahead.empty

    def close_exchange(self, exchange: Phase) -> None:
        """What has not come of this exchange will not be waited for."""
        self.missed |= not self.now.holds(exchange)

    def judge_round(self) -> None:
        """Count rounds in a row that speak against its standing; enough of them change it."""
        # Nobody waits for a suspect, so it may be late and still clean.
        clean = self.now.complete and (self.suspect or not self.late_now)
        self.streak = self.streak + 1 if clean == self.suspect else 0
        if self.streak == (TRUSTED_AFTER if self.suspect else SUSPECT_AFTER):
            self.suspect = not self.suspect
            self.streak = 0
        if self.returned:
            self.suspect = self.returned = False
            self.streak = 0

    def open_round(self, *, keep_ahead: bool) -> None:
        """Make room for a new round; what came ahead of time is kept if it was for this one."""
        self.now = self.ahead if keep_ahead else Inbox()
        self.ahead = Inbox()
        self.accepted = self.late_now = self.missed = False


@dataclass(slots=True)
class State:
    """An agent between two events."""

    round: int = 0
    phase: Phase = Phase.IDLE
    consensus: float = 0.0
    weight: float = 0.0
    excess: float = 0.0
    input: float = 0.0
    input_weight: float = 0.0
    shared_rounds: int = 0
    age: int = 0
    class_size: int = 1
    shared: float = 0.0
    shared_variance: float = 0.0
    trust: float = 0.0
    stream: Stream = field(default_factory=Stream)
    peers: dict[str, Peer] = field(default_factory=dict)
