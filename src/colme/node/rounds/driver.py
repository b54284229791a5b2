"""Drives one agent through its rounds, whatever its neighbours, the clock and the disk do."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from random import SystemRandom
from time import time

from colme.errors import RemoteProtocolError, SampleError, StoreError
from colme.network import NoiseSource
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.peer import Peer, Peers
from colme.node.rounds.journal import Journal
from colme.node.rounds.pacing import Pacing
from colme.node.rounds.plausible import require_plausible
from colme.node.state import Store
from colme.node.wire import Reason, Refused, Standing
from colme.protocol.agent import Agent
from colme.protocol.events import Begin, Deadline, Effects, Event, Part, Received, Returned
from colme.protocol.messages import RoundMessage
from colme.protocol.rounds.state import SUSPECT_AFTER, Phase
from colme.protocol.settings import Settings
from colme.protocol.stream import is_finite_number

LONGEST_TICK = 1.0
"""Seconds after which the clock is looked at again: it may have been put forward or back."""
FIRST_RETRY, LONGEST_RETRY = 0.5, 30.0
"""Seconds between attempts to write to a disk that failed."""
FARTHEST = 2**40
"""Rounds ahead that a neighbour can be at most: at 1,000 a second, after 34 years."""
HELLO_DEADLINES = 10
"""A neighbour's hello within so many deadlines of its last one is no reason to wait for it."""


class Driver:
    """Owns the agent. Everything runs in one event loop; only commits are in a thread of theirs.

    A commit that fails is like a crash without the exit: the agent goes back to what is stored,
    nothing that depended on the rest has been sent or acknowledged, and it joins the next round.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        peers: Peers,
        *,
        noise: NoiseSource,
        supply: Callable[[int], Sequence[float]],
        post: Callable[[str, RoundMessage], None],
        greet: Callable[[], None],
        pacing: Pacing,
        deadline: float,
        last_round: int | None,
        metrics: Metrics,
        fail: Callable[[BaseException], None],
        marks: Mapping[str, int] | None = None,
    ) -> None:
        self._disk: StoreError | None = None
        self.wait = 0.0
        """Seconds to the next round, when last looked at between rounds."""
        self.began: float | None = None
        """When the first round of this start began, in seconds since 1970."""
        self.ended: float | None = None
        """When the last round of a trial ended."""
        self._settings = settings
        self._store = store
        self._peers = peers
        self._noise = noise
        self._supply = supply
        self._greet = greet
        self._pacing = pacing
        self._deadline = deadline
        self._last_round = last_round
        self._metrics = metrics
        self._fail = fail
        self._journal = Journal(store, peers, post=post, metrics=metrics, marks=marks or {})
        self._log = logger(node=settings.name)
        self._loop = asyncio.get_running_loop()
        self._running = self._stopped = False
        self._next: asyncio.Handle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._open_exchange: tuple[int, Phase] = (0, Phase.IDLE)
        self._restore()

    @property
    def trouble(self) -> str | None:
        """Why nothing can be stored at present."""
        return None if self._disk is None else str(self._disk)

    @property
    def standing(self) -> Standing:
        """How far this node has come, as far as it is stored: all that it may have sent."""
        return Standing(epoch=self._store.epoch, round=max(self._journal.round, self._store.floor))

    def told(self, peer: str) -> Standing:
        """What a neighbour may know of me, as far as it is stored."""
        return Standing(epoch=self._store.epoch, round=self._journal.told(peer))

    async def add_to_audience(self, peer: str) -> None:
        """A neighbour let me in: from now on it may be told, once that is stored."""
        if self._disk is not None:
            raise StoreError(*self._disk.args)
        await self._journal.add_to_audience(peer)

    def start(self, heard: int) -> None:
        """Begin with rounds; `heard` is the round in which the neighbours are."""
        if self._stopped:
            return
        self._running = True
        number, wait = self._pacing.next_round(self._past, alone=False)
        self._schedule(heard if self._is_worth_following(heard) else number, wait)

    def stop(self) -> None:
        """Begin no further rounds, ever."""
        self._stopped = True
        self._running = False
        self._forget_timers()

    async def flush(self) -> None:
        """Until what has been taken in is stored, or can't be."""
        if self._disk is None:
            await self._journal.flush()

    def observe(
        self, samples: Sequence[float], marks: Mapping[str, int] | None = None
    ) -> "asyncio.Future[None]":
        """Take samples in, all or none; the result is there once they are stored."""
        if self._disk is not None:
            raise StoreError(*self._disk.args)
        for number, value in enumerate(samples):
            if not is_finite_number(value):
                raise SampleError(f"sample {number}", type(value).__name__, "a finite number")
        return self._journal.store(marks or {}, self._observe(samples))

    def receive(self, peer: str, message: RoundMessage) -> None:
        """Take a neighbour's message, or raise Refused."""
        if self._disk is not None:
            return
        require_plausible(peer, message, self._settings)
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

    async def run(self) -> None:
        """Until cancelled: store, then send."""
        await self._journal.run(self._recover)

    async def _recover(self, error: StoreError) -> None:
        self._forget_timers()
        self._log.error("state can't be stored; rounds rest until it can", why=str(error))
        retry, failure = FIRST_RETRY, error
        while True:
            self._disk = failure
            self._metrics.store_failed()
            self._journal.drop(failure)
            await asyncio.sleep(retry * SystemRandom().uniform(0.5, 1))
            retry = min(2 * retry, LONGEST_RETRY)
            try:
                await self._store.reload()
                break
            except StoreError as again:
                failure = again
        self._restore()
        self._disk = None
        self._log.info("state can be stored again")
        if self._running:
            self._schedule_next()

    def _restore(self) -> None:
        """The agent as stored; a round that was open then is over now."""
        stored = self._store.snapshot
        self.agent = Agent.restore(self._settings, stored) if stored else Agent(self._settings)
        self._journal.open(self.agent)
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
        if self._disk is not None:
            return
        first, self.began = self.began is None, self.began or time()
        self._journal.apply(Effects(persist=self._observe(self._supply(number))))
        # Drawn, applied and queued to be stored with no await in between: noise drawn a second time
        # for a block would leak it.
        draws = tuple(self._noise(scale) for scale in self.agent.draws_due)
        self._step(Begin(number, draws))
        counts = self.agent.counts
        self._metrics.round_began(number)
        self._metrics.released(samples=counts.released, blocks=counts.blocks)
        for peer in self._settings.neighbours:
            self._metrics.peer_is_suspect(peer, peer in self.agent.suspects)
        if first:
            self._hear_the_early()

    def _hear_the_early(self) -> None:
        """What came before my first round may well be of that round."""
        for peer in self._peers.values():
            while peer.early:
                with suppress(Refused):
                    self.receive(peer.name, peer.early.popleft())

    def _observe(self, samples: Sequence[float]) -> frozenset[Part]:
        """Take samples in; what has to be stored for that."""
        changed = frozenset[Part]()
        for sample in samples:
            changed |= self.agent.observe(sample).persist
        self._metrics.samples_taken(len(samples))
        return changed

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
        self._metrics.trust_is(self.agent.released_trust)
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
        self._journal.apply(self.agent.step(event))
        self._watch()

    def _is_worth_following(self, number: int) -> bool:
        """Ahead of me by more than a round, yet not by more than ever happens."""
        past_the_end = self._last_round is not None and number > self._last_round
        ahead = number - self._past
        return self._pacing.follows and 1 < ahead <= FARTHEST and not past_the_end

    def _follow(self, peer: Peer, number: int) -> None:
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
