"""Owns one agent, whatever its neighbours and the disk do."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import SystemRandom
from typing import Any

from colme.errors import SampleError, StoreError
from colme.network import NoiseSource
from colme.node.contact import Contacts
from colme.node.driving.journal import Journal
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.state import Store
from colme.node.wire import Standing
from colme.protocol.agent import Agent
from colme.protocol.board.record import Entry
from colme.protocol.events import Begin, Effects, Part
from colme.protocol.messages import Message
from colme.protocol.settings import Settings
from colme.protocol.stream import is_finite_number

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
        self, samples: Sequence[float], marks: Mapping[str, int] | None = None
    ) -> "asyncio.Future[None]":
        """Take samples in, all or none; the result is there once they are stored."""
        self._require_disk()
        for number, value in enumerate(samples):
            if not is_finite_number(value):
                raise SampleError(f"sample {number}", type(value).__name__, "a finite number")
        return self._journal.store(marks or {}, self._observe(samples))

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
        self.agent = (
            Agent(replace(self._settings, incarnation=self._store.incarnation))
            if stored is None
            else Agent.restore(self._settings, stored)
        )
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
