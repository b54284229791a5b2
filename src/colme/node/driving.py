"""Drives one agent, whatever it exchanges and whatever its neighbours and the disk do.

First stored, then sent: what the agent asks for, in order, one transaction after the other.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import SystemRandom
from time import perf_counter
from typing import Any

from colme.errors import SampleError, StoreError
from colme.network import NoiseSource
from colme.node.contact import Contacts
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.state import Commit, RequestId, Store
from colme.node.wire.codec import Standing, encode
from colme.privacy.ledger import Ledger, entry_between
from colme.protocol.agent import Agent
from colme.protocol.board.record import Entry
from colme.protocol.events import EVERYTHING, Begin, Effects, Part
from colme.protocol.messages import Message, ReleaseMessage
from colme.protocol.settings import Settings
from colme.protocol.stream import is_finite_number


@dataclass(slots=True)
class _Pending:
    """What one transaction stores, and what is done once it is durable."""

    persist: frozenset[Part] = frozenset()
    """The parts of the agent that have changed since the last transaction began."""
    send: list[tuple[str, Message]] = field(default_factory=list)
    stored: list["asyncio.Future[None]"] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    requests: list[RequestId] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.persist or self.send or self.stored)


class Journal:
    """Writes down an agent's state. What comes while a commit runs shares the next one."""

    def __init__(
        self,
        store: Store,
        peers: Contacts,
        *,
        post: Callable[[str, Message], None],
        metrics: Metrics,
        marks: Mapping[str, int],
    ) -> None:
        self._store = store
        self._peers = peers
        self._post = post
        self._metrics = metrics
        self._marks = marks
        self._pending = _Pending()
        self._work = asyncio.Event()
        self._under_way: dict[str, tuple[bytes, asyncio.Future[None]]] = {}
        """Requests whose samples are not stored yet, by key: a retry waits for the same commit."""
        self._committing = False
        self._closed: StoreError | None = None

    def open(self, agent: Agent) -> None:
        """From now on it is this agent, which is as it is stored."""
        self._agent = agent
        self._ledger = Ledger.of(agent)
        self.round = agent.round
        """The last round that is stored: nothing of a later one has been sent."""
        self.drop(StoreError("state", "read anew from the disk", "to be asked again"))

    async def add_to_audience(self, peer: str) -> None:
        """From now on this neighbour may be told what is stored, and that it may is stored."""
        self._peers[peer].is_audience = True
        await self.store({})

    def told(self, peer: str) -> int:
        """The last round that a neighbour may have heard of."""
        return max(self._store.told.get(peer, 0), self._store.floor)

    def apply(self, effects: Effects) -> None:
        """Send at once if nothing has to be stored or sent before; else once it is."""
        if not effects.persist and not self._committing and self._pending.empty:
            for peer, message in effects.send:
                self._post(peer, message)
            return
        self._pending.persist |= effects.persist
        self._pending.send += effects.send
        self._work.set()

    def store(
        self,
        marks: Mapping[str, int],
        parts: frozenset[Part] = frozenset(),
        request: RequestId | None = None,
    ) -> "asyncio.Future[None]":
        """Store these parts of the agent with all that waits; the result is there once done."""
        if self._closed is not None:
            raise StoreError(*self._closed.args)
        stored = asyncio.get_running_loop().create_future()
        stored.add_done_callback(_noted)
        self._pending.stored.append(stored)
        self._pending.marks |= marks
        if request is not None:
            self._pending.requests.append(request)
            self._under_way[request.key] = request.digest, stored
            stored.add_done_callback(lambda _: self._under_way.pop(request.key))
        self.apply(Effects(persist=parts))
        return stored

    def seen(self, request: RequestId) -> "asyncio.Future[None] | None":
        """When the samples of a request that came before are stored; None if it is a new one."""
        digest, stored = self._under_way.get(request.key, (None, None))
        if stored is None and (digest := self._store.requests.get(request.key)) is not None:
            stored = asyncio.get_running_loop().create_future()
            stored.set_result(None)
        if digest not in (None, request.digest):
            expected = "a key of its own for each request, and the same body for a retry"
            raise SampleError("Idempotency-Key", "the key of another body", expected)
        return stored

    async def flush(self) -> None:
        """Until all that is here is stored, or can't be: also how far neighbours had come, or a
        state of theirs could be put back to an older one unnoticed.
        """
        is_behind = not all(peer.standing_is_stored for peer in self._peers.values())
        if self._closed is None and (self._committing or is_behind or not self._pending.empty):
            await asyncio.wait({self.store({})})

    def drop(self, error: StoreError) -> None:
        """Nothing of what is waiting will be stored."""
        pending, self._pending = self._pending, _Pending()
        _tell(pending, error)

    async def run(self, recover: Callable[[StoreError], Awaitable[None]]) -> None:
        """Until cancelled; `recover` is awaited where a commit fails."""
        while True:
            await self._work.wait()
            # The end of a round and the begin of the next are one commit if both are here.
            await asyncio.sleep(0)
            self._work.clear()
            pending, self._pending = self._pending, _Pending()
            self._committing = True
            try:
                await self._commit(pending)
            except StoreError as error:
                _tell(pending, error)
                await recover(error)
            except BaseException:
                # Cancelled, or beyond repair: nobody is to wait for what will not be stored.
                self._closed = StoreError("state", "a node that has ended", "one that runs")
                _tell(pending, self._closed)
                self.drop(self._closed)
                raise
            finally:
                self._committing = False

    def _written(
        self, parts: frozenset[Part], send: Sequence[tuple[str, Message]]
    ) -> dict[str, Any]:
        """What a commit has of the agent itself, and the release in what is sent once it is."""
        released = [message for _, message in send if isinstance(message, ReleaseMessage)]
        return {
            "snapshot": self._agent.snapshot(parts),
            "released": encode(released[-1]) if released else None,
        }

    async def _commit(self, pending: _Pending) -> None:
        if pending.persist or pending.stored:
            # A part alone is no state yet where there is none.
            parts = EVERYTHING if self._store.snapshot is None else pending.persist
            # No await from here to the commit: ledger entry, snapshot and bytes are of one moment,
            # or what was noised meanwhile would be stored as released, and not be listed.
            ledger, number = Ledger.of(self._agent), self._agent.round
            news = [peer for peer in self._peers.values() if not peer.standing_is_stored]
            commit = Commit(
                **self._written(parts, pending.send),
                entry=entry_between(self._ledger, ledger, round=number),
                told={name: number for name, one in self._peers.items() if one.is_audience},
                standings={peer.name: peer.standing for peer in news},
                marks={**self._marks, **pending.marks},
                requests=pending.requests,
            )
            for peer in news:
                peer.standing_is_stored = True  # Unless the commit fails, or more comes meanwhile.
            began = perf_counter()
            try:
                await self._store.commit(commit)
            except StoreError:
                for peer in news:
                    peer.standing_is_stored = False
                raise
            self._metrics.committed(perf_counter() - began)
            self._ledger, self.round = ledger, number
        for name, message in pending.send:
            self._post(name, message)
        for stored in pending.stored:
            if not stored.done():
                stored.set_result(None)


def _noted(stored: "asyncio.Future[None]") -> None:
    """Whoever feeds a sample without waiting for the disk need not hear of its failure."""
    if not stored.cancelled():
        stored.exception()


def _tell(pending: _Pending, error: StoreError) -> None:
    for stored in pending.stored:
        if not stored.done():
            stored.set_exception(error)


FIRST_RETRY, LONGEST_RETRY = 0.5, 30.0
"""Seconds between attempts to write to a disk that failed."""


class AgentDriver(ABC):
    """Everything runs in one event loop; only commits are in a thread of theirs.

    A commit that fails is like a crash without the exit: the agent goes back to what is stored,
    nothing that depended on the rest has been sent or acknowledged, and it goes on from there.
    """

    agent: Agent
    wait: float = 0.0
    """Seconds to the next round, when last looked at between rounds."""
    began: float | None = None
    """When the first round of this start began, in seconds since 1970."""
    ended: float | None = None
    """When the last round of a trial ended."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        peers: Contacts,
        *,
        noise: NoiseSource,
        supply: Callable[[int], Sequence[float]],
        journal: Journal,
        metrics: Metrics,
        fail: Callable[[BaseException], None],
    ) -> None:
        self._settings = settings
        self._store = store
        self._peers = peers
        self._noise = noise
        self._supply = supply
        self._journal = journal
        self._metrics = metrics
        self._fail = fail
        self._disk: StoreError | None = None
        self._log = logger(node=settings.name)
        self._loop = asyncio.get_running_loop()
        self._running = self._stopped = False
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

    @abstractmethod
    def start(self, heard: int) -> None:
        """Begin with what needs neighbours; `heard` is the round in which they are."""

    @abstractmethod
    def receive(self, peer: str, message: Message) -> None:
        """Take a neighbour's message, or raise Refused."""

    @abstractmethod
    def returned(self, peer: str, standing: Standing) -> None:
        """A neighbour said hello, from here."""

    @abstractmethod
    def unsaid(self, peer: str) -> None:
        """Something could not be said to a neighbour: it may lack that."""

    @abstractmethod
    def compare(self, peer: str, yours: Entry) -> None:
        """A neighbour holds this of mine: StaleStateError if my state is older than that."""

    @abstractmethod
    async def welcomed(self, peer: str) -> None:
        """A neighbour let me in: from now on it may be told more."""

    @abstractmethod
    def held_of(self, peer: str) -> Entry | None:
        """What I hold of a neighbour's own, if anything: for it to compare with its state."""

    @abstractmethod
    async def begin_anew(self) -> None:
        """The state of before is lost, and all neighbours have said what they know of it."""

    def stop(self) -> None:
        """Begin nothing further, ever."""
        self._stopped = True
        self._running = False
        self._forget_timers()

    async def flush(self) -> None:
        """Until what has been taken in is stored, or can't be."""
        if self._disk is None:
            await self._journal.flush()

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
        return before or self._journal.store(marks or {}, self._observe(samples), request)

    async def run(self) -> None:
        """Until cancelled: store, then send."""
        await self._journal.run(self._recover)

    async def _recover(self, error: StoreError) -> None:
        self._forget_timers()
        self._log.error("state can't be stored; all rests until it can", why=str(error))
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
            self._go_on()

    def _restore(self) -> None:
        """The agent as stored, or a new one in the life that this state is of."""
        stored = self._snapshot()
        settings = replace(self._settings, incarnation=self._store.incarnation)
        self.agent = Agent(settings) if stored is None else Agent.restore(settings, stored)
        self._journal.open(self.agent)

    def _snapshot(self) -> dict[str, Any] | None:
        """What is stored of the agent; None if nothing is."""
        return self._store.snapshot

    @abstractmethod
    def _go_on(self) -> None:
        """After an outage of the disk."""

    @abstractmethod
    def _forget_timers(self) -> None:
        """Nothing that waits for its time is to happen."""

    def _require_disk(self) -> None:
        if self._disk is not None:
            raise StoreError(*self._disk.args)

    def _publish(self, number: int) -> Effects:
        """Take in what a trial supplies, and begin a round or a tick with the noise that is due."""
        self._journal.apply(Effects(persist=self._observe(self._supply(number))))
        # Drawn, applied and queued to be stored with no await in between: noise drawn a second time
        # for a block would leak it.
        draws = tuple(self._noise(scale) for scale in self.agent.draws_due)
        effects = self.agent.step(Begin(number, draws))
        self._journal.apply(effects)
        counts = self.agent.counts
        self._metrics.round_began(number)
        self._metrics.released(samples=counts.released, blocks=counts.blocks)
        return effects

    def _observe(self, samples: Sequence[float]) -> frozenset[Part]:
        """Take samples in; what has to be stored for that."""
        changed = frozenset[Part]()
        for sample in samples:
            changed |= self.agent.observe(sample).persist
        self._metrics.samples_taken(len(samples))
        return changed

    def _supervise(self, work: Callable[..., None], *arguments: object) -> None:
        """What the loop calls has nobody to raise to: an error there ends the node."""
        try:
            work(*arguments)
        except Exception as error:
            self._fail(error)
