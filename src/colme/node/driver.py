"""The loop of a node: event in, `Agent.step`, persist, send, acknowledge.

How it works
------------
An agent (`colme.protocol.agent`) is a pure machine: it takes an event and the time, and returns
what to store and what to send. Everything that happens to a node becomes such an event, here:

    a sample           observe()    Observe   acknowledged once it is stored
    a message          receive()    Received  what is not taken of it is counted and answered
    a neighbour back   returned()   Returned
    the time           _wake()      Begin with noise, or Deadline, as `Agent.due` asks for

Each event is one call of `_step`: the agent changes in memory, and its effects go to the `Journal`.
The journal stores what changed in one transaction, and only then sends and acknowledges. Events
that come while a commit runs share the next one, so the disk sets the pace, not the loop.

The order protects privacy. Noise that is drawn twice for the same samples can be averaged away, so
what was drawn must be on disk before a byte of it leaves: in `_begin` noise is drawn, applied and
queued to be stored with no await in between. A commit that fails is like a crash without the exit:
the agent goes back to what is stored, nothing that rested on the rest has been sent or
acknowledged, and it goes on from there. Never acknowledge or send beside the journal.

The loop does not know which algorithm runs: `Agent.exchange` says what is due, stored and shown.

All of it runs in one event loop; only commits are in a thread of their own.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from colme.errors import (
    ForkedStateError,
    MessageError,
    RemoteProtocolError,
    SampleError,
    StaleStateError,
    StoreError,
)
from colme.network import NoiseSource
from colme.node.clock import Clock
from colme.node.contact import Contacts
from colme.node.journal import Journal
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.state import RequestId, Store, newest_instead
from colme.node.wire.codec import Reason, Refused, Standing
from colme.protocol.agent import Agent
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.board.record import Entry, Proof, statements
from colme.protocol.events import (
    Begin,
    ClockJumped,
    Deadline,
    Effects,
    Event,
    Pace,
    Part,
    Policy,
    Received,
    Returned,
    Start,
)
from colme.protocol.messages import Message, RoundMessage
from colme.protocol.settings import Settings
from colme.protocol.stream import is_finite_number

BLOCKED = "both signed by this node's key: two states have had it, and all block it for good"
NEW_KEY = (
    "a key that one state alone has had. Stop this node, make another identity (colme identity "
    "new), let all neighbours pin its certificate, move the state away and begin with an empty one "
    "(--state-lost and, for a file, --first-lines skip). Never feed it samples of before: they "
    "would be noised twice"
)
FIRST_RETRY, LONGEST_RETRY = 0.5, 30.0
"""Seconds between attempts to write to a disk that failed."""
LARGEST_DRIFT = 1.0
"""Seconds that the wall clock may gain or lose at once; more is a jump."""
LONGEST_WAIT = 1.0
"""Seconds after which a wall clock that matters is looked at again."""


class Driver:
    """Drives one agent, whatever it exchanges and whatever its neighbours and the disk do."""

    agent: Agent
    began: float | None = None
    """When the first round or tick of this start began, in seconds since 1970."""
    ended: float | None = None
    """When the last round or tick of a trial ended."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        peers: Contacts,
        *,
        policy: Policy,
        pace: Pace,
        state_lost: bool,
        noise: NoiseSource,
        supply: Callable[[int], Sequence[float]] | None,
        post: Callable[[str, Message], None],
        greet: Callable[[], None],
        clock: Clock,
        random: Random,
        metrics: Metrics,
        fail: Callable[[BaseException], None],
        marks: Mapping[str, int] | None = None,
    ) -> None:
        self._settings = settings
        self._store = store
        self._peers = peers
        self._policy = policy
        self._pace = pace
        self._is_lost = state_lost
        self._lost_incarnation = -1
        self._noise = noise
        self._supply = supply
        self._greet = greet
        self.clock = clock
        self._random = random
        self._metrics = metrics
        self._fail = fail
        self._journal = Journal(
            store,
            peers,
            clock=clock,
            post=post,
            metrics=metrics,
            marks=marks or {},
        )
        self._disk: StoreError | None = None
        self._log = logger(node=settings.name)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle | None = None
        self._wakes_at: float | None = None
        self._running = self._stopped = False
        self._heard_round = 0
        self._drift = clock.wall() - clock.monotonic()
        self._restores = self._news = 0
        self.arrivals: dict[str, float] = {}
        """When the newest record of each publisher came, in seconds since 1970."""
        self._restore()

    # What the node asks.

    @property
    def trouble(self) -> str | None:
        """Why nothing can be stored at present."""
        return None if self._disk is None else str(self._disk)

    @property
    def standing(self) -> Standing:
        """How far this node has come, as far as it is stored: all that it may have sent."""
        return Standing(epoch=self._store.epoch, round=max(self._journal.round, self._store.floor))

    @property
    def wait(self) -> float:
        """Seconds until something is due by itself; 0 if nothing is."""
        at = self.agent.wake_at
        return max(0.0, at - self.clock.monotonic()) if at is not None else 0.0

    @property
    def version(self) -> object:
        """Another value whenever an answer may be another."""
        counts = self.agent.counts
        return self._restores, counts.taken, counts.blocks, self._news

    def told(self, peer: str) -> Standing:
        """What a neighbour may know of me, as far as it is stored."""
        return Standing(epoch=self._store.epoch, round=self._journal.sent(peer))

    def start(self, heard: int) -> None:
        """Begin with rounds or ticks; `heard` is the latest round that a neighbour is in."""
        if not self._stopped:
            self._running, self._heard_round = True, heard
            self._start()

    def stop(self) -> None:
        """Begin nothing further, ever."""
        self._stopped = True
        self._running = False
        self._forget_timer()

    async def flush(self) -> None:
        """Return once what has been taken in is stored, or can't be."""
        if self._disk is None:
            await self._journal.flush()

    async def run(self) -> None:
        """Until cancelled: store, then send."""
        await self._journal.run(self._recover)

    # What comes in.

    def observe(
        self,
        samples: Sequence[float],
        marks: Mapping[str, int] | None = None,
        request: RequestId | None = None,
    ) -> "asyncio.Future[None]":
        """Take samples in, all or none; the result is there once they are stored.

        Those of a request that came before are not taken in a second time.
        """
        self._require_disk()
        for number, value in enumerate(samples):
            if not is_finite_number(value):
                raise SampleError(f"sample {number}", type(value).__name__, "a finite number")
        before = None if request is None else self._journal.seen(request)
        stored = before or self._journal.store(marks, self._observe(samples), request)
        self._plan()
        return stored

    def receive(self, peer: str, message: Message) -> None:
        """Take what may be taken of a neighbour's message, and raise Refused for the rest."""
        if self._disk is not None:
            return
        try:
            effects = self._take(peer, message)
        except ForkedStateError as blocked:
            self._fail(blocked)
            return
        for note in effects.noted:
            self._metrics.message_refused(peer, note.reason)
            self._log.info("noted of a neighbour", peer=peer, reason=note.reason, why=str(note))
        if effects.persist:
            # Stored at once: a record of its own, which shows whether this state is the newest.
            self._supervise(self._require_newest_state)
        for error in effects.refused[1:]:
            self._metrics.message_refused(peer, error.reason)
        if effects.refused:
            raise _refused(effects.refused[0])

    def returned(self, peer: str, standing: Standing) -> None:
        """A neighbour said hello, from here."""
        if self._disk is None:
            self._step(Returned(peer, standing.epoch, standing.round))

    async def welcomed(self, peer: str) -> None:
        """A neighbour let me in: from now on it may be sent what is stored, and that is stored.

        A backup of this state must name all who can know more than it does. A state after a loss
        has nothing to send yet, and no snapshot before it has begun its incarnation.
        """
        self._require_disk()
        self._peers[peer].is_audience = True
        # Rounds that were stored before it let me in wait to be sent: they are told from now on.
        is_told = self._store.told.get(peer, -1) >= self.agent.exchange.announced_round
        if not is_told and not self._is_lost:
            await self._journal.store()
        self._step(Returned(peer))

    def unsaid(self, peer: str) -> None:
        """Something could not be sent to a neighbour: it lacks that."""
        self._step(Returned(peer))

    async def begin_anew(self) -> None:
        """Begin an incarnation above all that neighbours know of, and those that they do not.

        The state of before is lost. Seconds since 1970 are above any that began so before.
        """
        number = max(self._lost_incarnation + 1, int(self.clock.wall()))
        await self._store.begin_incarnation(number)
        self._is_lost = False
        self._restore()

    def held_of(self, peer: str) -> Entry | None:
        """Return what is held of a neighbour's own, for it to compare with its state."""
        return self.agent.exchange.held_of(peer)

    def compare(self, peer: str, yours: Entry) -> None:
        """A neighbour holds this of mine: StaleStateError if my state is older than that."""
        self._require_disk()
        if yours.origin != self._settings.origin:
            raise MessageError("yours", f"an entry of {yours.origin}", "one of this node")
        try:
            self._take(peer, RecordsMessage((yours,)))
        except Refused as error:
            raise MessageError("yours", error.seen, error.expected) from error
        self._require_newest_state()

    # The loop.

    def _take(self, peer: str, message: Message) -> Effects:
        if self._is_lost and isinstance(message, RecordsMessage):
            others = self._without_lost(peer, message.entries)
            if not others:
                return Effects()
            message = RecordsMessage(others)
        try:
            effects = self._step(Received(peer, message))
        except RemoteProtocolError as error:
            raise _refused(error) from error
        self._news += len(effects.changed)
        self.arrivals |= dict.fromkeys(effects.changed, self.clock.wall())
        if isinstance(message, RoundMessage):
            self._peers[peer].heard_in(message.round)
        return effects

    def _without_lost(self, peer: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """Note records of the state that was lost, and return the others.

        The next incarnation is above them. On the board they would look newer than the state that
        begins.
        """
        identity, others = self._settings.signs_as, list[Entry]()
        for entry in entries:
            if entry.origin != self._settings.origin:
                others.append(entry)
                continue
            for said in statements(entry):
                if not identity.verify(said.key, said.content(), said.signature):
                    seen = f"a bad one on a record of {said.origin}"
                    raise Refused(Reason.BAD_SIGNATURE, peer, "signature", seen, "my own")
            if isinstance(entry, Proof):
                raise ForkedStateError("state", f"two records that differ, {BLOCKED}", NEW_KEY)
            self._lost_incarnation = max(self._lost_incarnation, entry.order[0])
        return tuple(others)

    def _step(self, event: Event) -> Effects:
        effects = self.agent.step(event, self.clock.monotonic())
        self._journal.apply(effects)
        self._plan()
        return effects

    def _plan(self) -> None:
        """Wake when the agent wants to: one timer, moved only if it has to be."""
        if self.ended is None and self.agent.exchange.is_over:
            self.ended = self.clock.wall()
        at = self.agent.wake_at if self._running and self._disk is None else None
        if at is not None and self._pace.clock is not None:
            at = min(at, self.clock.monotonic() + LONGEST_WAIT)
        if self._timer is not None:
            if at == self._wakes_at:
                return
            self._forget_timer()
        if at is not None:
            self._wakes_at = at
            delay = max(0.0, at - self.clock.monotonic())
            self._timer = self._loop.call_later(delay, self._supervise, self._wake)

    def _wake(self) -> None:
        self._timer = None
        if self._disk is not None or not self._running:
            return
        self._look_at_the_clock()
        match self.agent.due(self.clock.monotonic()):
            case Begin(number):
                self._begin(number)
            case Deadline():
                status = self.agent.exchange.status
                if status.phase is not None:
                    self._metrics.deadline_passed(status.phase)
                    waited = sorted(status.awaited)
                    self._log.info("waited in vain", exchange=status.phase, peers=waited)
                self._step(Deadline())
            case None:
                pass
        self._metrics.exchange_is(self.agent.exchange.status)
        self._plan()

    def _begin(self, number: int) -> None:
        """Take in what a trial supplies, and begin a round or a tick with the noise that is due."""
        # Before noise is drawn; the agent would refuse to release, too.
        self._require_newest_state()
        self.began = self.began or self.clock.wall()
        over = self._pace.last is not None and number > self._pace.last
        supplied = () if self._supply is None or over else self._supply(number)
        self._journal.apply(Effects(persist=self._observe(supplied)))
        # Drawn, applied and queued to be stored with no await in between: noise drawn a second time
        # for a block would leak it.
        draws = tuple(self._noise(scale) for scale in self.agent.draws_due)
        effects = self._step(Begin(number, draws))
        if effects.hello:
            self._log.info("skipping rounds to catch up", round=number)
            self._greet()
        counts = self.agent.counts
        self._metrics.round_began(number)
        self._metrics.released(samples=counts.released, blocks=counts.blocks)

    def _observe(self, samples: Sequence[float]) -> frozenset[Part]:
        """Take samples in; return what has to be stored for that."""
        changed = frozenset[Part]()
        for sample in samples:
            changed |= self.agent.observe(sample).persist
        self._metrics.samples_taken(len(samples))
        return changed

    def _look_at_the_clock(self) -> None:
        before, self._drift = self._drift, self.clock.wall() - self.clock.monotonic()
        jump = self._drift - before
        if abs(jump) > LARGEST_DRIFT:
            self._metrics.clock_jumped()
            self._log.warning("the clock jumped", seconds=round(jump, 3))
            self._step(ClockJumped(jump))

    def _start(self) -> None:
        pace = self._pace
        if pace.clock is not None:
            # The agent's time is that of a clock which never jumps.
            pace = replace(pace, clock=pace.clock - self._drift)
        self._step(Start(pace=pace, round=self._heard_round, after=self._store.floor))

    # The disk.

    async def _recover(self, error: StoreError) -> None:
        self._forget_timer()
        self._log.error("state can't be stored; all rests until it can", why=str(error))
        retry, failure = FIRST_RETRY, error
        while True:
            self._disk = failure
            self._metrics.store_failed()
            self._journal.drop(failure)
            await asyncio.sleep(retry * self._random.uniform(0.5, 1))
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
            self._start()

    def _restore(self) -> None:
        """Make the agent as it is stored, or a new one in the incarnation of this state."""
        self._restores += 1
        self.arrivals = {origin: one.at for origin, one in self._store.entries.items()}
        stored = self._stored()
        settings = replace(self._settings, incarnation=self._store.incarnation)
        self.agent = Agent(settings) if stored is None else Agent.restore(settings, stored)
        self._journal.open(self.agent, self.arrivals)
        self.agent.step(self._policy)

    def _stored(self) -> Mapping[str, Any] | None:
        """Return the stored snapshot in one piece; None if nothing was ever stored."""
        snapshot, entries = self._store.snapshot, self._store.entries
        if snapshot is None or not (entries or self._store.fingerprints):
            return snapshot
        apart = {
            "entries": {origin: one.content.hex() for origin, one in entries.items()},
            "via": {origin: one.via for origin, one in entries.items()},
            "fingerprints": dict(self._store.fingerprints),
        }
        return snapshot | {Part.EXCHANGE.value: snapshot[Part.EXCHANGE] | apart}

    def _require_newest_state(self) -> None:
        try:
            self.agent.exchange.require_newest_state()
        except ForkedStateError as error:
            raise ForkedStateError(error.field, error.seen, NEW_KEY) from None
        except StaleStateError as error:
            remedy = newest_instead(self._store.folder)
            raise StaleStateError(error.field, error.seen, remedy) from None

    def _require_disk(self) -> None:
        if self._disk is not None:
            raise StoreError(*self._disk.args)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._wakes_at = None

    def _supervise(self, work: Callable[..., Any], *arguments: object) -> None:
        """Do what nobody waits for: an error there ends the node."""
        try:
            work(*arguments)
        except Exception as error:
            self._fail(error)


def _refused(error: RemoteProtocolError) -> Refused:
    return Refused(error.reason, error.peer, error.field, error.seen, error.expected)
