"""When rounds begin, how long an exchange waits, and when to skip to a neighbour that is far ahead.

Pure: the time is data. Rounds begin by the clock, or as fast as the neighbours deliver.
"""

from collections import deque
from dataclasses import dataclass, field
from math import floor, inf

from colme.protocol.events import Begin, Deadline, Due, Returned, Start
from colme.protocol.messages import RoundMessage

FARTHEST = 2**40
"""Rounds ahead that a neighbour can be at most: at 1,000 a second, after 34 years."""
RETURN_DEADLINES = 10
"""A neighbour that returns within so many deadlines of the last time is not waited for again: one
that says hello time and again would be waited for in vain."""
EARLY_MESSAGES = 6
"""Messages of a neighbour that are stored until the next round begins: those of two rounds."""


@dataclass(slots=True)
class _Neighbour:
    """What pacing remembers of a neighbour."""

    early: "deque[RoundMessage]" = field(default_factory=lambda: deque(maxlen=EARLY_MESSAGES))
    """What came before a round of it could begin here."""
    followed_at: float = -inf
    """When it last made this agent skip rounds."""
    returned: tuple[int, float] = (0, -inf)
    """The epoch in which it last returned, and when."""


class Pacing:
    """The clock of one agent's rounds, from its `Start` on."""

    def __init__(self, start: Start, current: int, now: float) -> None:
        self._pace = start.pace
        self._clock = start.pace.clock
        self._after = max(start.after, current)
        self._round, self._phase = current, ""
        self._is_alone = False
        self._began_at = now - start.pace.deadline
        self._expires_at: float | None = None
        self._neighbours: dict[str, _Neighbour] = {}
        self._skip_to = start.round if self.is_worth_following(start.round) else None
        self.has_begun = False
        """Whether a round has begun since the start."""

    @property
    def is_by_clock(self) -> bool:
        """Whether rounds begin by the clock, or as fast as neighbours deliver."""
        return self._clock is not None

    @property
    def is_following(self) -> bool:
        """Whether the next round skips others, to catch up with a neighbour."""
        return self._skip_to is not None

    @property
    def holds_messages(self) -> bool:
        """Whether messages have to wait until the next round begins."""
        return self.is_following or not self.has_begun

    @property
    def is_over(self) -> bool:
        """Whether the last round of a trial has ended."""
        last = self._pace.last
        return last is not None and self._expires_at is None and self._after >= last

    @property
    def wake_at(self) -> float | None:
        """When an exchange has waited long enough, or the next round begins."""
        if self._skip_to is not None:
            return -inf
        if self._expires_at is not None:
            return self._expires_at
        if self.is_over:
            return None
        if self._clock is not None:
            return self._clock + self._after * self._pace.interval
        return self._began_at + self._pace.deadline if self._is_alone else -inf

    def due(self, now: float) -> Due | None:
        """What is due at this time."""
        if self._skip_to is not None:
            return Begin(self._skip_to, ())
        if self.wake_at is None or now < self.wake_at:
            return None
        if self._expires_at is not None:
            return Deadline()
        number = self._after + 1
        if self._clock is not None:
            # Rounds that were missed are skipped. A clock that was put back makes an agent wait.
            number = max(number, floor((now - self._clock) / self._pace.interval) + 1)
        last = self._pace.last
        if last is not None and number > last:
            self._after = last  # The rest of the trial was missed.
            return None
        return Begin(number, ())

    def jump(self, seconds: float) -> None:
        """Keep to the wall clock, which has jumped."""
        if self._clock is not None:
            self._clock -= seconds

    def begin(self, number: int, now: float) -> None:
        """A round begins."""
        self._after, self._began_at = number, now
        self._skip_to, self.has_begun = None, True

    def watch(self, round_: int, phase: str, *, idle: bool, alone: bool, now: float) -> None:
        """Wait for the exchange that has opened; or for the next round if this one has ended.

        An agent that is alone has nobody who delivers, and its rounds must not race away.
        """
        self._is_alone = alone
        if (round_, phase) != (self._round, self._phase):
            self._round, self._phase = round_, phase
            self._expires_at = None if idle else now + self._pace.deadline

    def hold(self, peer: str, message: RoundMessage) -> None:
        """Store a message until the next round begins."""
        self._neighbour(peer).early.append(message)

    def held(self) -> list[tuple[str, RoundMessage]]:
        """Return the messages that waited, once."""
        held = [(name, one) for name, peer in self._neighbours.items() for one in peer.early]
        for peer in self._neighbours.values():
            peer.early.clear()
        return held

    def follow(self, peer: str, number: int, now: float) -> bool:
        """Decide whether to skip to a neighbour's round: once a deadline, if it is far ahead."""
        known = self._neighbour(peer)
        if not self.is_worth_following(number) or now - known.followed_at < self._pace.deadline:
            return False
        known.followed_at = now
        self._skip_to = number
        return True

    def waits_for(self, returned: Returned, now: float) -> bool:
        """Decide whether a neighbour that says it is back is waited for again."""
        known = self._neighbour(returned.peer)
        epoch, last = known.returned
        if returned.epoch <= epoch and now - last < RETURN_DEADLINES * self._pace.deadline:
            return False
        known.returned = (returned.epoch, now)
        return True

    def is_worth_following(self, number: int) -> bool:
        """Decide whether a round is ahead by more than one, yet by no more than ever happens.

        Rounds by the clock have another measure than the neighbours.
        """
        past_the_end = self._pace.last is not None and number > self._pace.last
        return self._clock is None and 1 < number - self._after <= FARTHEST and not past_the_end

    def _neighbour(self, name: str) -> _Neighbour:
        return self._neighbours.setdefault(name, _Neighbour())
