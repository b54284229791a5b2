"""Drives one agent through its rounds, whatever its neighbours, the clock and the disk do.

The next round begins by the clock, or as fast as the neighbours deliver.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import floor
from time import monotonic, time
from typing import Protocol

from colme.errors import RemoteProtocolError
from colme.network import NoiseSource
from colme.node.config import NodeConfig
from colme.node.contact import Contact, Contacts
from colme.node.driving import AgentDriver, Journal
from colme.node.metrics import Metrics
from colme.node.state import Store
from colme.node.wire.codec import Reason, Refused, Standing
from colme.protocol.board.record import Entry
from colme.protocol.events import Deadline, Event, Received, Returned
from colme.protocol.messages import Message, RoundMessage
from colme.protocol.rounds.state import SUSPECT_AFTER, Phase
from colme.protocol.settings import Settings

LARGEST_DRIFT = 1.0
"""Seconds that the clock may gain or lose at once; more is a jump."""


class Pacing(Protocol):
    """Decides which round is next, and how many seconds from now."""

    follows: bool
    """Whether a neighbour that is far ahead is followed: rounds have no other measure."""

    def next_round(self, current: int, *, alone: bool) -> tuple[int, float]:
        """After `current`; `alone` if there is no neighbour to wait for."""
        ...


class Free:
    """The next round begins when the last one has ended; alone, at the pace of deadlines."""

    follows = True

    def __init__(self, deadline: float, elapsed: Callable[[], float] = monotonic) -> None:
        self._deadline = deadline
        self._elapsed = elapsed
        self._last = -deadline

    def next_round(self, current: int, *, alone: bool) -> tuple[int, float]:
        """Nobody delivers to one that is alone, and rounds must not race away from the others."""
        wait = self._last + self._deadline - self._elapsed() if alone else 0.0
        if wait <= 0:
            self._last = self._elapsed()
        return current + 1, wait


class Clock:
    """Round k begins at start + (k - 1) intervals; missed rounds are skipped, none comes twice."""

    follows = False

    def __init__(
        self,
        start: float,
        interval: float,
        jumped: Callable[[float], None],
        now: Callable[[], float] = time,
        elapsed: Callable[[], float] = monotonic,
    ) -> None:
        self._start = start
        self._interval = interval
        self._jumped = jumped
        self._now = now
        self._elapsed = elapsed
        self._last = (now(), elapsed())

    def next_round(self, current: int, *, alone: bool) -> tuple[int, float]:
        """A clock that was put back makes a node wait: the rounds until then have been."""
        now = self._look()
        due = floor((now - self._start) / self._interval) + 1
        if due > current:
            return due, 0.0
        return current + 1, self._start + current * self._interval - now

    def _look(self) -> float:
        before, self._last = self._last, (self._now(), self._elapsed())
        drift = (self._last[0] - before[0]) - (self._last[1] - before[1])
        if abs(drift) > LARGEST_DRIFT:
            self._jumped(drift)
        return self._last[0]


def make_pacing(config: NodeConfig, jumped: Callable[[float], None]) -> Pacing:
    """As the neighbours agreed."""
    agreed = config.agreed
    if agreed.rounds == "free":
        return Free(config.deadline)
    return Clock(agreed.start.timestamp(), agreed.interval, jumped)


LONGEST_TICK = 1.0
"""Seconds after which the clock is looked at again: it may have been put forward or back."""
FARTHEST = 2**40
"""Rounds ahead that a neighbour can be at most: at 1,000 a second, after 34 years."""
HELLO_DEADLINES = 10
"""A neighbour's hello within so many deadlines of its last one is no reason to wait for it."""


class Driver(AgentDriver):
    """Begins rounds, ends exchanges that have waited long enough, and follows who is far ahead."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        peers: Contacts,
        *,
        noise: NoiseSource,
        supply: Callable[[int], Sequence[float]],
        post: Callable[[str, Message], None],
        greet: Callable[[], None],
        pacing: Pacing,
        deadline: float,
        last_round: int | None,
        metrics: Metrics,
        fail: Callable[[BaseException], None],
        marks: Mapping[str, int] | None = None,
    ) -> None:
        self._greet = greet
        self._pacing = pacing
        self._deadline = deadline
        self._last_round = last_round
        self._next: asyncio.Handle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._open_exchange: tuple[int, Phase] = (0, Phase.IDLE)
        super().__init__(
            settings,
            store,
            peers,
            noise=noise,
            supply=supply,
            journal=Journal(store, peers, post=post, metrics=metrics, marks=marks or {}),
            metrics=metrics,
            fail=fail,
        )

    def compare(self, peer: str, yours: Entry) -> None:
        """In rounds there is nothing of mine to hold."""

    async def welcomed(self, peer: str) -> None:
        """A neighbour let me in: from now on it may be told, once that is stored."""
        self._require_disk()
        await self._journal.add_to_audience(peer)

    def unsaid(self, peer: str) -> None:
        """Its round is over, or it will be asked for again."""

    async def begin_anew(self) -> None:
        """The round after those that neighbours remember is stored as the store's floor."""

    def held_of(self, peer: str) -> Entry | None:
        """Rounds have nothing to hold."""
        return None

    def start(self, heard: int) -> None:
        """Begin with rounds; `heard` is the round in which the neighbours are."""
        if self._stopped:
            return
        self._running = True
        number, wait = self._pacing.next_round(self._past, alone=False)
        self._schedule(heard if self._is_worth_following(heard) else number, wait)

    def receive(self, peer: str, message: Message) -> None:
        """Take a neighbour's message, or raise Refused."""
        if not isinstance(message, RoundMessage):
            seen, expected = type(message).__name__, "one of a round"
            raise Refused(Reason.OTHER_CONFIGURATION, peer, "message", seen, expected)
        self._receive(peer, message)
        self._peers[peer].heard_in(message.round)

    def _receive(self, peer: str, message: RoundMessage) -> None:
        if self._disk is not None:
            return
        if self.began is None:
            self._peers[peer].early.append(message)
            return
        now = self.agent.round
        if self._running and self._is_worth_following(message.round):
            self._follow(self._peers[peer], message.round)
        try:
            effects = self.agent.step(Received(peer, message))
        except RemoteProtocolError as error:
            reason, expected = _reason(message.round, now), error.expected
            if reason is Reason.FUTURE_ROUND and not self._pacing.follows:
                expected += ", by my clock"
            raise Refused(reason, peer, error.field, error.seen, expected) from error
        self._journal.apply(effects)
        self._watch()

    def returned(self, peer: str, standing: Standing) -> None:
        """A neighbour said hello, from here: wait for it again.

        Not for one that says hello time and again: it would be waited for in vain.
        """
        if self._disk is not None:
            return
        now, patience = self._loop.time(), HELLO_DEADLINES * self._deadline
        known = self._peers[peer]
        epoch, last = known.returned
        if standing.epoch > epoch or now - last >= patience:
            known.returned = (standing.epoch, now)
            self._journal.apply(self.agent.step(Returned(peer)))
        if self._running and self._is_worth_following(standing.round):
            self._follow(known, standing.round)

    def _restore(self) -> None:
        """A round that was open when it was stored is over now."""
        super()._restore()
        self._close_round()

    def _go_on(self) -> None:
        self._schedule_next()

    def _close_round(self) -> None:
        """What it still would have sent is of no use to anybody."""
        while self.agent.phase is not Phase.IDLE:
            self.agent.step(Deadline())
        self._open_exchange = (self.agent.round, Phase.IDLE)

    @property
    def _past(self) -> int:
        return max(self.agent.round, self._store.floor)

    def _schedule_next(self) -> None:
        alone = not (set(self._settings.neighbours) - self.agent.suspects)
        self._schedule(*self._pacing.next_round(self._past, alone=alone))

    def _schedule(self, number: int, wait: float) -> None:
        self.wait = wait
        if self._next is not None:
            self._next.cancel()
            self._next = None
        if self._last_round is not None and number > self._last_round:
            self.ended = self.ended or time()
        elif wait > 0:
            tick = min(wait, LONGEST_TICK)
            self._next = self._loop.call_later(tick, self._supervise, self._schedule_next)
        else:
            self._next = self._loop.call_soon(self._supervise, self._begin, number)

    def _begin(self, number: int) -> None:
        self._next = None
        if self._disk is not None:
            return
        first, self.began = self.began is None, self.began or time()
        self._publish(number)
        self._watch()
        for peer in self._settings.neighbours:
            self._metrics.peer_is_suspect(peer, peer in self.agent.suspects)
        if first:
            self._hear_the_early()

    def _hear_the_early(self) -> None:
        """What came before my first round may well be of that round."""
        for peer in self._peers.values():
            while peer.early:
                with suppress(Refused):
                    self._receive(peer.name, peer.early.popleft())

    def _watch(self) -> None:
        """After a step: has an exchange opened, or the round ended?"""
        exchange = (self.agent.round, self.agent.phase)
        if exchange == self._open_exchange or not self._running:
            return
        self._open_exchange = exchange
        if self._patience is not None:
            self._patience.cancel()
        if self.agent.phase is not Phase.IDLE:
            self._patience = self._loop.call_later(
                self._deadline, self._supervise, self._expire, exchange
            )
            return
        self._metrics.class_is(self.agent.class_size)
        self._metrics.trust_is(self.agent.rounds.state.trust)
        for peer, late in self.agent.late.items():
            self._metrics.messages_late(peer, late)
        self._schedule_next()

    def _expire(self, exchange: tuple[int, Phase]) -> None:
        number, phase = exchange
        self._metrics.deadline_passed(phase)
        self._log.info(
            "waited in vain", round=number, exchange=phase.value, peers=sorted(self.agent.awaited)
        )
        self._step(Deadline())

    def _step(self, event: Event) -> None:
        self._journal.apply(self.agent.step(event))
        self._watch()

    def _is_worth_following(self, number: int) -> bool:
        """Ahead of me by more than a round, yet not by more than ever happens."""
        past_the_end = self._last_round is not None and number > self._last_round
        ahead = number - self._past
        return self._pacing.follows and 1 < ahead <= FARTHEST and not past_the_end

    def _follow(self, peer: Contact, number: int) -> None:
        """A neighbour is far ahead: skip to its round. It may ask for that once a deadline."""
        now = self._loop.time()
        if now - peer.followed_at < self._deadline:
            return
        peer.followed_at = now
        behind = number - self.agent.round
        self._log.info("skipping rounds to catch up", peer=peer.name, round=number, behind=behind)
        self._forget_timers()
        self._close_round()
        self._supervise(self._begin, number)
        if behind > SUSPECT_AFTER:
            self._greet()

    def _forget_timers(self) -> None:
        for timer in (self._next, self._patience):
            if timer is not None:
                timer.cancel()
        self._next = self._patience = None


def _reason(number: int, now: int) -> Reason:
    if number < now:
        return Reason.OLD_ROUND
    return Reason.FUTURE_ROUND if number > now + 1 else Reason.DUPLICATE
