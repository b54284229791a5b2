"""A node: one agent among real neighbours, with a state that outlives it.

async with Node("node.toml") as node:
    node.observe(0.3)
    print((await node.estimate()).value)

Before a node starts, its state must be fit for it: what its owner says of the state, and feeds it,
is true of it. Then there is a driver, and an intake that takes a feed's samples into the state.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random, SystemRandom
from traceback import format_tb
from typing import Any, Self

from structlog.typing import FilteringBoundLogger

from colme.errors import (
    ColmeError,
    ConfigError,
    LocalProtocolError,
    NodeError,
    SampleError,
    StoreError,
)
from colme.network import NoiseSource
from colme.node.clock import Clock, SystemClock
from colme.node.config import NodeConfig, SyntheticSource
from colme.node.contact import Contact
from colme.node.driver import Driver
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.owner.answer import Answering
from colme.node.owner.server import OwnerServer
from colme.node.owner.status import Answer, NeighbourStatus, SampleCounts, Status
from colme.node.owner.token import owner_token
from colme.node.samples.feeds import Feed, Synthetic, make_feed, make_noise
from colme.node.samples.first_lines import FirstLines, first_marks
from colme.node.session.admission import Admission, Agreement
from colme.node.session.grpc_transport import GrpcTransport
from colme.node.session.neighbourhood import Neighbourhood, running
from colme.node.session.transport import Transport
from colme.node.state import BATCHES, REPEATABLE, RequestId, Store, replaced_in
from colme.node.trust.identity import Identity
from colme.node.trust.tls import Trust, signing_settings
from colme.node.wire.codec import Reason
from colme.privacy.ledger import Ledger
from colme.protocol.events import Pace, Policy
from colme.protocol.settings import Settings


def require_empty(store: Store) -> None:
    """A loss is believed by a state that has neither samples nor a place in any file.

    A place that a start without the word has stored says nothing of what was read before.
    """
    if store.taken or store.marks.keys() - {REPEATABLE}:
        folder = store.folder
        begun = store.taken or store.floor
        expected = (
            "an empty state: only what was lost can be begun anew. "
            f"{'If this is not the newest, move' if begun else 'Move'} {folder} away, whole, "
            f"and say it again{'; else start without it' if begun else ''}"
            f"{replaced_in(folder)}"
        )
        seen = f"the state in {folder}, which has begun with samples or a file"
        raise ConfigError("--state-lost", seen, expected)


def noise_mark(config: NodeConfig, store: Store) -> dict[str, int]:
    """Noise that can be repeated must never meet real samples, not even in an old state.

    So a state has one kind from its first commit on, whether or not it took a sample in: those
    that a later start takes in may wait for their noise until yet another.
    """
    source = config.source
    repeatable = isinstance(source, SyntheticSource) and source.noise_seed is not None
    real = bool(store.marks.keys() - {REPEATABLE})  # Places in files: real samples came.
    before = store.marks.get(REPEATABLE, 0 if store.taken else None)
    if (before is not None and before != repeatable) or (real and repeatable):
        seen = f"{source.kind}, with {'repeatable' if repeatable else 'secure'} noise"
        whose = "a trial" if repeatable else "real samples"
        expected = f"a state of its own for {whose}: the one in {store.folder} is not"
        raise ConfigError("source", seen, expected)
    return {REPEATABLE: int(repeatable)}


def make_pace(config: NodeConfig) -> Pace:
    """When rounds or ticks begin, as the neighbours agreed and this node chose."""
    agreed, is_trial = config.agreed, isinstance(config.source, SyntheticSource)
    by_clock = agreed.in_rounds and agreed.rounds == "clock"
    return Pace(
        interval=agreed.interval if by_clock else config.pace.interval,
        deadline=config.deadline,
        clock=agreed.start.timestamp() if by_clock else None,
        last=config.pace.last_round,
        always=is_trial,
    )


def _in(name: str, names: Collection[str] | None) -> bool | None:
    return None if names is None else name in names


PAUSE = 0.5
"""Seconds after which a source looks again whether the disk works."""


class Intake:
    """Takes in what a feed brings, as soon as the state is known to be the newest.

    A sample counts once it is stored, whatever the disk does.
    """

    def __init__(
        self,
        driver: Driver,
        neighbourhood: Neighbourhood,
        store: Store,
        log: FilteringBoundLogger,
    ) -> None:
        self._driver = driver
        self._neighbourhood = neighbourhood
        self._store = store
        self._log = log
        self.trouble: str | None = None
        """Why the source has stopped."""

    async def run(self, feed: Feed, begin: Mapping[str, int]) -> None:
        """Until the feed ends; `begin` are the places where it begins, if they are new."""
        if self._neighbourhood.unsure:
            await self._neighbourhood.joined.wait()
        if begin:
            # Stored before the first line is read: from now on this state knows the file.
            await self._take_once_stored([], begin)
        try:
            await feed.run(self._take_once_stored)
        except SampleError as error:
            self.trouble = str(error)
            self._log.error("the source has stopped", why=str(error))
        else:
            self._log.info("the source has ended")

    async def _take_once_stored(self, samples: Sequence[float], marks: Mapping[str, int]) -> None:
        """A source waits while the disk fails, and goes on after what is stored.

        A commit that failed may be on the disk after all. The number of the batch, stored with it,
        tells: standard input has no read position, and its samples would be taken in twice.
        """
        number = self._store.marks.get(BATCHES, 0) + 1
        while self._store.marks.get(BATCHES, 0) < number:
            try:
                await self._driver.observe(samples, {**marks, BATCHES: number})
            except StoreError:
                while self._driver.trouble is not None:
                    await asyncio.sleep(PAUSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What a node is made of while it runs; kept when it is left, to be looked at."""

    identity: Identity
    store: Store
    metrics: Metrics
    neighbourhood: Neighbourhood
    driver: Driver
    intake: Intake
    answering: Answering
    failure: "asyncio.Future[None]"
    """Done once an error has ended the node."""
    log: FilteringBoundLogger


class Node:
    """Joins its neighbours when entered, leaves them when left.

    The rest is what its owner alone can know, for one start: `state_lost`, that the state of before
    is lost and that no sample from before will be fed again; without it, neighbours that remember
    this node make it stop. `first_lines`, of a file that this state has not read and that has lines
    already: "take" them, for none was ever fed to a node, or "skip" them. `told_nothing_since`:
    these neighbours of before, whom a restored state can't ask, were told nothing since its backup.

    `transport` makes what carries its sessions, `clock` is its time, `disk` opens its state,
    `noise` is drawn for its blocks, and `random` draws its boot and the pauses between attempts:
    others than gRPC, the system's, SQLite's thread and the secure noise are for simulations.
    """

    def __init__(
        self,
        config: NodeConfig | Mapping[str, Any] | Path | str,
        *,
        state_lost: bool = False,
        first_lines: FirstLines | None = None,
        told_nothing_since: Collection[str] = (),
        transport: Callable[[NodeConfig, Trust], Transport] = GrpcTransport.of,
        clock: Clock | None = None,
        disk: Callable[[Path, Settings], Store] = Store.open,
        noise: NoiseSource | None = None,
        random: Random | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        if isinstance(config, Path | str):
            config = NodeConfig.load(Path(config))
        elif not isinstance(config, NodeConfig):
            config = NodeConfig.build(config)
        self.config = config
        self._state_lost = state_lost
        self._first_lines = first_lines
        self._told_nothing_since = told_nothing_since
        self._make_transport = transport
        self._disk, self._noise = disk, noise
        self._random = random or SystemRandom()
        self._made: _Parts | None = None
        self._left = False
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        before = self._made, self._left
        try:
            async with AsyncExitStack() as undo:
                await self._start(undo)
                self._open = undo.pop_all()
        except BaseException:
            # What was made is closed again. A node that runs already must stay able to fail.
            self._made, self._left = before
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._open.aclose()
        finally:
            self._left = True
        self._parts.log.info("stopped")

    @property
    def _parts(self) -> _Parts:
        if self._made is None:
            expected = "one that is entered: async with Node(...) as node"
            raise LocalProtocolError("node", "one that has not started", expected)
        return self._made

    @property
    def name(self) -> str:
        """As in its certificate."""
        return self._parts.identity.name

    @property
    def metrics(self) -> Metrics:
        """What it counts."""
        return self._parts.metrics

    def observe(self, sample: float) -> "asyncio.Future[None]":
        """Feed a sample. Await the result to know that it is stored."""
        return self._observe([sample])

    async def estimate(self) -> Answer:
        """The mean of the owner's data, as well as it is known now."""
        return await self._parts.answering.answer()

    async def take(self, samples: Sequence[float], request: RequestId | None = None) -> None:
        """Take samples in, all or none, and return once they are stored.

        Those of a `request` that came before are not taken in a second time.
        """
        await self._observe(samples, request)

    async def failed(self) -> None:
        """Until an error ends the node, and then raise it."""
        failure = self._parts.failure
        if self._left and not failure.done():
            raise LocalProtocolError("node", "one that was left", "one that is entered")
        await asyncio.shield(failure)

    def troubles(self) -> list[str]:
        """Why it is not ready; empty if it is."""
        parts, driver = self._parts, self._parts.driver
        found = [driver.trouble, parts.intake.trouble]
        if parts.failure.done():
            found.append(f"the node has stopped: {parts.failure.exception()}")
        if not parts.neighbourhood.joined.is_set():
            found.append("not joined yet: waiting for the neighbours' answers")
        if self.config.agreed.rounds == "clock" and driver.wait > self.config.agreed.interval:
            why = "agreed.start" if driver.began is None else "the clock was put back"
            found.append(f"the next round is in {driver.wait:.0f} s: {why}")
        found += parts.neighbourhood.troubles()
        blocked = driver.agent.exchange.status.blocked
        found += [f"{origin} is blocked: it has contradicted itself" for origin in blocked]
        known = parts.neighbourhood.acquaintances()
        if known and not any(one.connected for one in known):
            found.append("no neighbour can be reached")
        return [trouble for trouble in found if trouble is not None]

    def status(self) -> Status:
        """Counts and words only, never a sample, a mean or an estimate."""
        parts, agent = self._parts, self._parts.driver.agent
        ledger = Ledger.of(agent)
        exchange = agent.exchange.status
        is_paced = exchange.phase is not None
        return Status(
            name=self.name,
            fingerprint=parts.identity.certificate.fingerprint,
            epoch=parts.store.epoch,
            algorithm=agent.settings.algorithm.name,
            round=agent.round,
            phase=exchange.phase,
            rounds=self.config.agreed.rounds if is_paced else None,
            began=parts.driver.began,
            ended=parts.driver.ended,
            samples=SampleCounts(
                taken=agent.counts.taken,
                released=ledger.samples,
                waiting=ledger.waiting,
                clamped=agent.clamped,
                refused=parts.metrics.samples_refused,
            ),
            privacy=ledger.describe(releases=parts.store.releases, past=parts.store.past),
            class_size=exchange.class_size,
            trust=exchange.trust,
            origin=parts.identity.certificate.origin,
            records=exchange.records,
            board=agent.exchange.digest,
            barred=exchange.blocked,
            neighbours=tuple(
                NeighbourStatus(
                    **asdict(one),
                    suspect=_in(one.name, exchange.suspects),
                    accepted=_in(one.name, exchange.accepted),
                    late=None if exchange.late is None else exchange.late[one.name],
                    vouched_for=exchange.introduced.get(one.name, 0),
                )
                for one in parts.neighbourhood.acquaintances()
            ),
            troubles=tuple(self.troubles()),
        )

    def _observe(
        self, samples: Sequence[float], request: RequestId | None = None
    ) -> "asyncio.Future[None]":
        parts = self._parts
        if isinstance(self.config.source, SyntheticSource):
            expected = "a source other than synthetic, whose noise may be repeatable"
            raise LocalProtocolError("sample", "one from outside", expected)
        if parts.failure.done() or self._left:
            raise LocalProtocolError("sample", "one for a node that has stopped", "one that runs")
        if parts.neighbourhood.unsure:
            # In an old or a lost state it would be lost too, or worse, noised twice.
            expected = "the neighbours' word that the state is the newest: see colme status"
            raise LocalProtocolError("sample", "one before that", expected)
        return parts.driver.observe(samples, request=request)

    async def _start(self, undo: AsyncExitStack) -> None:
        config = self.config
        identity = Identity.load(config.identity)
        log = logger(node=identity.name)
        identity.certificate.require_valid(datetime.now(UTC), "this node")
        pins = {one.name: one.certificate for one in config.neighbours}
        trust = Trust(identity, config.identity, pins)
        settings = signing_settings(config, trust)
        noise = self._noise or make_noise(config.source, settings)

        store = self._disk(config.state, settings)
        undo.callback(store.close)
        if self._state_lost:
            require_empty(store)
        # One that begins after something, with no sample of its own, may follow one that had some.
        begins_late = store.floor > 0 or store.incarnation > 0
        lost = self._state_lost or (begins_late and not store.taken)
        begin = first_marks(config.source, store.marks, self._first_lines, state_lost=lost)
        marks = {**store.marks, **begin}
        feed = make_feed(config.source, marks=marks, refused=self._sample_refused)
        metrics = Metrics(settings.neighbours, settings.profile.epsilon)
        for name, certificate in [
            (identity.name, identity.certificate),
            *((one.name, trust.certificates(one.name)[-1]) for one in config.neighbours),
        ]:
            metrics.certificate_expires(name, certificate.not_after)
        peers = Contact.all_of(config, store.standings)
        neighbourhood = Neighbourhood(
            config,
            self._make_transport(config, trust),
            peers,
            Admission(Agreement.of(config.agreed), boot=self._random.getrandbits(64)),
            store,
            metrics,
            state_lost=self._state_lost,
            told_nothing_since=self._told_nothing_since,
            fail=self._fail,
            log=log,
            random=self._random,
            clock=self._clock,
        )
        source, roster = config.source, config.origins.roster
        supply = Synthetic(source).samples if isinstance(source, SyntheticSource) else None
        driver = neighbourhood.driver = Driver(
            settings,
            store,
            peers,
            policy=Policy(
                limit=config.origins.behind,
                allowlist=None if roster is None else frozenset(roster),
            ),
            pace=make_pace(config),
            state_lost=self._state_lost,
            noise=noise,
            supply=supply,
            post=neighbourhood.post,
            greet=neighbourhood.greet,
            clock=self._clock,
            random=self._random,
            metrics=metrics,
            fail=self._fail,
            marks=noise_mark(config, store),
        )
        intake = Intake(driver, neighbourhood, store, log)
        self._left = False
        self._made = _Parts(
            identity=identity,
            store=store,
            metrics=metrics,
            neighbourhood=neighbourhood,
            driver=driver,
            intake=intake,
            answering=Answering(driver),
            failure=asyncio.get_running_loop().create_future(),
            log=log,
        )
        await undo.enter_async_context(running(driver.run(), self._fail))
        undo.push_async_callback(driver.flush)
        await neighbourhood.open(undo)
        if config.owner is not None:
            owner = OwnerServer(self, listen=config.owner.listen, token=owner_token(config.state))
            await owner.start()
            undo.push_async_callback(owner.stop)
            log.info("owner's side", page=owner.page, port=owner.port)
        await undo.enter_async_context(running(neighbourhood.join(), self._fail))
        if feed is not None:
            await undo.enter_async_context(running(intake.run(feed, begin), self._fail))
        undo.callback(driver.stop)
        log.info(
            "started",
            listen=config.listen,
            epoch=store.epoch,
            round=driver.agent.round,
            privacy=Ledger.of(driver.agent).describe(past=store.past),
        )

    def _sample_refused(self, reason: str, line: int) -> None:
        self._parts.metrics.sample_refused(Reason.INVALID_VALUE)
        self._parts.log.warning("line is no sample", why=reason, line=line)

    def _fail(self, error: BaseException) -> None:
        """Send nothing more; whoever waits for the node is told why."""
        self._parts.driver.stop()
        self._parts.neighbourhood.fall_silent()
        kind, log = type(error).__name__, self._parts.log
        if not isinstance(error, ColmeError):
            # Where, but not the error's text: it may quote a sample.
            log = log.bind(trace="".join(format_tb(error.__traceback__)))
            error = NodeError("node", kind, "no such fault: see its log for the place")
        log.error("stopping", kind=kind, why=str(error))
        if not self._parts.failure.done():
            self._parts.failure.set_exception(error)
            self._parts.failure.exception()  # It is told to whoever asks; nobody has to.
