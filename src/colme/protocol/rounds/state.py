"""All that an agent remembers of its rounds, as plain values: what a snapshot holds."""

from dataclasses import dataclass, field
from enum import StrEnum

from colme.protocol.messages import ConsensusMessage, ReleaseMessage, RoundMessage, SizeMessage

SUSPECT_AFTER = 3
"""Missed rounds in a row after which nobody waits for a neighbour any more."""
TRUSTED_AFTER = 2
"""Clean rounds in a row that bring a suspect back."""


class Phase(StrEnum):
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
EXCHANGE: dict[type[RoundMessage], Phase] = {
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
        return getattr(self, exchange) is not None

    def put(self, message: RoundMessage) -> None:
        """Keep a message."""
        setattr(self, EXCHANGE[type(message)], message)

    @property
    def complete(self) -> bool:
        """Whether all three exchanges are here."""
        return not (self.release is None or self.size is None or self.consensus is None)

    @property
    def empty(self) -> bool:
        """Whether nothing is here."""
        return self.release is None and self.size is None and self.consensus is None


@dataclass(slots=True)
class Peer:
    """What I hold about a neighbour."""

    # The paper starts every consensus value at 0, so all of "round 0" is known to all.
    consensus: float = 0.0
    """Its value of `consensus_round`, for my next mix."""
    consensus_round: int = 0
    """The round of that value. One of an older round than the last is not mixed."""
    looks_alike: bool = False
    """What the rule said when both releases were last here: the topology that resets alpha."""
    accepted: bool = False
    """Whether I told it, this round, that I use the edge."""
    now: Inbox = field(default_factory=Inbox)
    """Its messages of my current round."""
    ahead: Inbox = field(default_factory=Inbox)
    """Its messages of the next round, which it began before me."""
    late: int = 0
    """How many of its messages came after their exchange had closed, ever."""
    late_now: bool = False
    """Whether one did in this round."""
    suspect: bool = False
    """Whether I have stopped waiting for it."""
    streak: int = 0
    """Rounds in a row that speak against its standing."""
    returned: bool = False
    """Whether it said that it is back: it is trusted again from the next round on."""
    missed: bool = False
    """Whether it missed an exchange of this round: the rest of the round does not wait for it."""

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
class RoundState:
    """The rounds of an agent between two events. A node that loses it starts its averages anew.

    What protects privacy is in the `Stream`; yet `round` must not fall back: a neighbour takes
    no message of a round that it has seen.
    """

    round: int
    """The last round begun; 0 before the first. It has no default: a stored state without it would
    fall back."""
    phase: Phase = Phase.IDLE
    """Which exchange of it is open."""
    consensus: float = 0.0
    """mu-tilde-hat, as I sent it last."""
    age: int = 0
    """The time of the alpha schedule: rounds since the topology around me last changed."""
    class_size: int = 1
    """How many look alike, I included, as last announced."""
    shared_variance: float = 0.0
    """The variance of `consensus`, for the answer's interval."""
    trust: float = 0.0
    """The weight of `consensus` in the answer: 1, or 0 for my exact mean alone. It follows from
    what was sent, so it is no secret."""
    peers: dict[str, Peer] = field(default_factory=dict)
    """By name, in order: sums over neighbours are repeated bit for bit."""
