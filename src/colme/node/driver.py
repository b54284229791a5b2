"""Drives one agent: feeds it events, stores what it asks to store, and only then sends."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import SystemRandom
from time import perf_counter, time

from colme.errors import RemoteProtocolError, SampleError, StoreError
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.pacing import Pacing
from colme.node.refusal import Reason, Refused
from colme.node.store import Commit, Standing, Store
from colme.node.wire import encode
from colme.privacy.ledger import Ledger, entry_between
from colme.protocol.agent import Agent, Settings
from colme.protocol.events import Begin, Deadline, Effects, Event, Received, Returned
from colme.protocol.messages import Message, ReleaseMessage
from colme.protocol.network import NoiseSource
from colme.protocol.state import SUSPECT_AFTER, Phase
from colme.protocol.stream import is_finite_number

LONGEST_TICK = 1.0
"""Seconds after which the clock is looked at again: it may have been put forward or back."""
FIRST_RETRY, LONGEST_RETRY = 0.5, 30.0
"""Seconds between attempts to write to a disk that failed."""
EARLY_MESSAGES = 6
"""Of a neighbour, kept until my first round begins: a link keeps those of two rounds."""
FARTHEST = 2**40
"""Rounds ahead that a neighbour can be at most: at 1,000 a second, after 34 years."""
HELLO_DEADLINES = 10
"""A neighbour's hello within so many deadlines of its last one is no reason to wait for it."""
ABSURD = 40.0
"""Standard deviations beyond the bounds where no released mean ever is (chance: below 1e-20)."""


@dataclass(slots=True)
class _Batch:
    """What one transaction stores and what is done once it is durable."""

    persist: bool = False
    send: list[tuple[str, Message]] = field(default_factory=list)
    stored: list["asyncio.Future[None]"] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)


class Driver:
    """Owns the agent. Everything runs in one event loop; only commits are in a thread of theirs.

    A commit that fails is like a crash without the exit: the agent goes back to what is stored,
    nothing that depended on the rest has been sent or acknowledged, and it joins the next round.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
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
        self.trouble: str | None = None
        self.wait = 0.0
        """Seconds to the next round, when last looked at between rounds."""
        self.began: float | None = None
        """When the first round of this start began, in seconds since 1970."""
        self.ended: float | None = None
        """When the last round of a trial ended."""
        self._settings = settings
        self._store = store
        self._noise = noise
        self._supply = supply
        self._post = post
        self._greet = greet
        self._pacing = pacing
        self._deadline = deadline
        self._last_round = last_round
        self._metrics = metrics
        self._fail = fail
        self._marks = marks or {}
        self._log = logger(node=settings.name)
        self._loop = asyncio.get_running_loop()
        self._batch = _Batch()
        self._work = asyncio.Event()
        self._committing = False
        self._running = False
        self._next: asyncio.Handle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._open_exchange: tuple[int, Phase] = (0, Phase.IDLE)
        self._followed: dict[str, float] = {}
        self._early: dict[str, deque[Message]] = {}
        self._returned: dict[str, tuple[int, float]] = {}
        self._standings: dict[str, Standing] = {}
        self._ledger: Ledger
        self._restore()

    @property
    def standing(self) -> Standing:
        """How far this node has come, as far as it is stored: all that it may have sent."""
        return Standing(epoch=self._store.epoch, round=max(self._durable_round, self._store.floor))

    def start(self, heard: int) -> None:
        """Begin with rounds; `heard` is the round in which the neighbours are."""
        self._running = True
        number, wait = self._pacing.next_round(self._past, alone=False)
        self._schedule(heard if self._is_worth_following(heard) else number, wait)

    def stop(self) -> None:
        """Begin no further rounds."""
        self._running = False
        self._forget_timers()

    async def flush(self) -> None:
        """Until what has been taken in is stored, or can't be."""
        if self.trouble is None and (self._batch.persist or self._committing):
            stored = self._loop.create_future()
            self._batch.stored.append(stored)
            self._apply(Effects(persist=True))
            await asyncio.wait({stored})

    def observe(
        self, samples: Sequence[float], marks: Mapping[str, int] | None = None
    ) -> "asyncio.Future[None]":
        """Take samples in, all or none; the result is there once they are stored."""
        if self.trouble is not None:
            raise StoreError("state", self.trouble, "a disk that can be written to; try again")
        for number, value in enumerate(samples):
            if not is_finite_number(value):
                raise SampleError(f"sample {number}", type(value).__name__, "a finite number")
        self._observe(samples)
        stored = self._loop.create_future()
        self._batch.stored.append(stored)
        self._batch.marks |= marks or {}
        self._apply(Effects(persist=True))
        return stored

    def receive(self, peer: str, message: Message) -> None:
        """Take a neighbour's message, or raise Refused."""
        if self.trouble is not None:
            return
        self._require_plausible(peer, message)
        if self.began is None:
            self._early.setdefault(peer, deque(maxlen=EARLY_MESSAGES)).append(message)
            return
        now = self.agent.round
        if self._running and self._is_worth_following(message.round):
            self._follow(peer, message.round)
        try:
            effects = self.agent.step(Received(peer, message))
        except RemoteProtocolError as error:
            raise Refused(
                _reason(message.round, now), peer, error.field, error.seen, error.expected
            ) from error
        self._apply(effects)
        self._watch()

    def returned(self, peer: str, standing: Standing) -> None:
        """A neighbour said hello: remember how far it is, and wait for it again.

        Not for one that says hello time and again: it would be waited for in vain.
        """
        self.remember(peer, standing)
        now, patience = self._loop.time(), HELLO_DEADLINES * self._deadline
        epoch, last = self._returned.get(peer, (0, -patience))
        if standing.epoch > epoch or now - last >= patience:
            self._returned[peer] = (standing.epoch, now)
            self._apply(self.agent.step(Returned(peer)))
        if self._running and self._is_worth_following(standing.round):
            self._follow(peer, standing.round)

    def remember(self, peer: str, standing: Standing) -> None:
        """Keep how far a neighbour is, with the next commit."""
        self._standings[peer] = standing

    async def run(self) -> None:
        """Until cancelled: store, then send."""
        while True:
            await self._work.wait()
            # The end of a round and the begin of the next are one commit if both are here.
            await asyncio.sleep(0)
            self._work.clear()
            batch, self._batch = self._batch, _Batch()
            self._committing = True
            try:
                await self._commit(batch)
            except StoreError as error:
                await self._recover(batch, error)
            finally:
                self._committing = False

    async def _commit(self, batch: _Batch) -> None:
        if batch.persist:
            ledger, number = Ledger.of(self.agent), self.agent.round
            released = [m for _, m in batch.send if isinstance(m, ReleaseMessage)]
            standings, self._standings = self._standings, {}
            commit = Commit(
                snapshot=self.agent.snapshot(),
                released=encode(released[-1]) if released else None,
                entry=entry_between(self._ledger, ledger, round=number),
                standings=standings,
                marks={**self._marks, **batch.marks},
            )
            began = perf_counter()
            await self._store.commit(commit)
            self._metrics.committed(perf_counter() - began)
            self._ledger, self._durable_round = ledger, number
        for peer, message in batch.send:
            self._post(peer, message)
        for stored in batch.stored:
            if not stored.done():
                stored.set_result(None)

    async def _recover(self, batch: _Batch, error: StoreError) -> None:
        self.trouble = str(error)
        self._forget_timers()
        self._log.error("state can't be stored; rounds rest until it can", why=str(error))
        retry = FIRST_RETRY
        while True:
            self._metrics.store_failed()
            batch.stored += self._batch.stored
            self._batch = _Batch()
            for stored in batch.stored:
                if not stored.done():
                    stored.set_exception(error)
            batch.stored.clear()
            await asyncio.sleep(retry * SystemRandom().uniform(0.5, 1))
            retry = min(2 * retry, LONGEST_RETRY)
            try:
                await self._store.reload()
            except StoreError as again:
                self.trouble = str(again)
                continue
            break
        self._restore()
        self.trouble = None
        self._log.info("state can be stored again")
        if self._running:
            self._schedule_next()

    def _restore(self) -> None:
        """The agent as stored; a round that was open then is over now."""
        stored = self._store.snapshot
        self.agent = Agent.restore(self._settings, stored) if stored else Agent(self._settings)
        self._durable_round = self.agent.round
        self._ledger = Ledger.of(self.agent)
        self._close_round()

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
        first, self.began = self.began is None, self.began or time()
        self._observe(self._supply(number))
        draws = tuple(self._noise(scale) for scale in self.agent.draws_due)
        self._step(Begin(number, draws))
        _, released, blocks = self.agent.counts
        self._metrics.round_began(number)
        self._metrics.released(samples=released, blocks=blocks)
        for peer in self._settings.neighbours:
            self._metrics.peer_is_suspect(peer, peer in self.agent.suspects)
        if first:
            self._hear_the_early()

    def _hear_the_early(self) -> None:
        """What came before my first round may well be of that round."""
        early, self._early = self._early, {}
        for peer, messages in early.items():
            for message in messages:
                with suppress(Refused):
                    self.receive(peer, message)

    def _observe(self, samples: Sequence[float]) -> None:
        for sample in samples:
            self.agent.observe(sample)
        self._metrics.samples_taken(len(samples))

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

    def _supervise(self, work: Callable[..., None], *arguments: object) -> None:
        """What the loop calls has nobody to raise to: an error there ends the node."""
        try:
            work(*arguments)
        except Exception as error:
            self._fail(error)

    def _step(self, event: Event) -> None:
        self._apply(self.agent.step(event))
        self._watch()

    def _apply(self, effects: Effects) -> None:
        """Send at once if nothing has to be stored before; else once it is."""
        if not (effects.persist or self._committing or self._batch.persist):
            for peer, message in effects.send:
                self._post(peer, message)
            return
        self._batch.persist |= effects.persist
        self._batch.send += effects.send
        self._work.set()

    def _is_worth_following(self, number: int) -> bool:
        """Ahead of me by more than a round, yet not by more than ever happens."""
        return self._pacing.follows and 1 < number - self._past <= FARTHEST

    def _follow(self, peer: str, number: int) -> None:
        """A neighbour is far ahead: skip to its round. It may ask for that once a deadline."""
        now = self._loop.time()
        if now - self._followed.get(peer, -self._deadline) < self._deadline:
            return
        self._followed[peer] = now
        behind = number - self.agent.round
        self._log.info("skipping rounds to catch up", peer=peer, round=number, behind=behind)
        self._forget_timers()
        self._close_round()
        self._begin(number)
        if behind > SUSPECT_AFTER:
            self._greet()

    def _forget_timers(self) -> None:
        for timer in (self._next, self._patience):
            if timer is not None:
                timer.cancel()
        self._next = self._patience = None

    def _require_plausible(self, peer: str, message: Message) -> None:
        """A released mean may lie outside the bounds, by noise; but not by that much."""
        if isinstance(message, ReleaseMessage) and message.release is not None:
            profile, release = self._settings.profile, message.release
            far = profile.half_range + ABSURD * release.variance**0.5
            if abs(release.mean - profile.midpoint) > far:
                expected = f"within {far:g} of {profile.midpoint:g}, as its variance allows"
                raise Refused(Reason.INVALID_VALUE, peer, "mean", release.mean, expected)


def _reason(number: int, now: int) -> Reason:
    if number < now:
        return Reason.OLD_ROUND
    return Reason.FUTURE_ROUND if number > now + 1 else Reason.DUPLICATE
