"""A node: one agent among real neighbours, with a state that outlives it.

async with Node("node.toml") as node:
    node.observe(0.3)
    print((await node.estimate()).value)
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from structlog.typing import FilteringBoundLogger

from colme.errors import LocalProtocolError
from colme.node.config import NodeConfig, SyntheticSource
from colme.node.contact import Contact
from colme.node.drivers import make_driver
from colme.node.driving import AgentDriver
from colme.node.fit import require_empty
from colme.node.intake import Intake
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.owner import (
    Answer,
    Answering,
    NeighbourStatus,
    OwnerServer,
    SampleCounts,
    Status,
    owner_token,
)
from colme.node.samples import FirstLines, first_marks, make_feed, make_noise
from colme.node.session import Admission, Agreement, Neighbourhood
from colme.node.state import Store
from colme.node.tasks import running
from colme.node.trust import Identity, Trust, signing_settings
from colme.node.wire import Reason
from colme.privacy.ledger import Ledger
from colme.protocol.board.record import Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What a node is made of while it runs; kept when it is left, to be looked at."""

    identity: Identity
    store: Store
    metrics: Metrics
    neighbourhood: Neighbourhood
    driver: AgentDriver
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
    """

    def __init__(
        self,
        config: NodeConfig | Mapping[str, Any] | Path | str,
        *,
        state_lost: bool = False,
        first_lines: FirstLines | None = None,
        told_nothing_since: Collection[str] = (),
    ) -> None:
        if isinstance(config, Path | str):
            config = NodeConfig.load(Path(config))
        elif not isinstance(config, NodeConfig):
            config = NodeConfig.build(config)
        self.config = config
        self._state_lost = state_lost
        self._first_lines = first_lines
        self._told_nothing_since = told_nothing_since
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

    async def take(self, samples: Sequence[float]) -> None:
        """Take samples in, all or none, and return once they are stored."""
        await self._observe(samples)

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
        if not parts.neighbourhood.joined.is_set():
            found.append("not joined yet: waiting for the neighbours' answers")
        if self.config.agreed.rounds == "clock" and driver.wait > self.config.agreed.interval:
            why = "agreed.start" if driver.began is None else "the clock was put back"
            found.append(f"the next round is in {driver.wait:.0f} s: {why}")
        known = parts.neighbourhood.acquaintances()
        if known and not any(one.connected for one in known):
            found.append("no neighbour can be reached")
        return [trouble for trouble in found if trouble is not None]

    def status(self) -> Status:
        """Counts and words only, never a sample, a mean or an estimate."""
        parts, agent = self._parts, self._parts.driver.agent
        ledger = Ledger.of(agent)
        in_rounds = agent.rounds if self.config.agreed.in_rounds else None
        board = () if in_rounds else tuple(agent.boards.board)
        barred = [entry.origin for entry in board if isinstance(entry, Proof)]
        return Status(
            name=self.name,
            fingerprint=parts.identity.certificate.fingerprint,
            epoch=parts.store.epoch,
            algorithm=agent.settings.algorithm.name,
            round=agent.round,
            phase=in_rounds.state.phase.value if in_rounds else None,
            rounds=self.config.agreed.rounds if in_rounds else None,
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
            class_size=in_rounds.state.class_size if in_rounds else None,
            trust=in_rounds.state.trust if in_rounds else None,
            origin=parts.identity.certificate.origin,
            records=None if in_rounds else len(board) - len(barred),
            board=None if in_rounds else agent.boards.board.fingerprint,
            barred=tuple(barred),
            neighbours=tuple(
                NeighbourStatus(
                    **asdict(one),
                    suspect=one.name in agent.suspects if in_rounds else None,
                    accepted=one.name in agent.accepted if in_rounds else None,
                    late=agent.late[one.name] if in_rounds else None,
                )
                for one in parts.neighbourhood.acquaintances()
            ),
            troubles=tuple(self.troubles()),
        )

    def _observe(self, samples: Sequence[float]) -> "asyncio.Future[None]":
        parts = self._parts
        if isinstance(self.config.source, SyntheticSource):
            expected = "a source other than synthetic, whose noise may be repeatable"
            raise LocalProtocolError("sample", "one from outside", expected)
        if parts.failure.done() or self._left:
            raise LocalProtocolError("sample", "one for a node that has stopped", "one that runs")
        if parts.neighbourhood.unsure:
            # In an old or a lost state it would be lost too, or worse, noised twice.
            expected = "every neighbour's word that the state is the newest: see colme status"
            raise LocalProtocolError("sample", "one before that", expected)
        return parts.driver.observe(samples)

    async def _start(self, undo: AsyncExitStack) -> None:
        config = self.config
        identity = Identity.load(config.identity)
        log = logger(node=identity.name)
        identity.certificate.require_valid(datetime.now(UTC), "this node")
        pins = {one.name: one.certificate for one in config.neighbours}
        trust = Trust(identity, config.identity, pins)
        settings = signing_settings(config, trust)
        noise = make_noise(config.source, settings)

        store = Store.open(config.state, settings)
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
            trust,
            peers,
            Admission(Agreement.of(config.agreed)),
            store,
            metrics,
            state_lost=self._state_lost,
            told_nothing_since=self._told_nothing_since,
            fail=self._fail,
        )
        driver = neighbourhood.driver = make_driver(
            config,
            settings,
            store,
            peers,
            noise=noise,
            post=neighbourhood.post,
            greet=neighbourhood.greet,
            state_lost=self._state_lost,
            metrics=metrics,
            clock_jumped=self._clock_jumped,
            fail=self._fail,
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

    def _clock_jumped(self, seconds: float) -> None:
        self._parts.metrics.clock_jumped()
        self._parts.log.warning("the clock jumped", seconds=round(seconds, 3))

    def _fail(self, error: BaseException) -> None:
        """Send nothing more; whoever waits for the node is told why."""
        self._parts.driver.stop()
        self._parts.neighbourhood.fall_silent()
        self._parts.log.error("stopping", kind=type(error).__name__, why=str(error))
        if not self._parts.failure.done():
            self._parts.failure.set_exception(error)
            self._parts.failure.exception()  # It is told to whoever asks; nobody has to.
