"""A node: one agent among real neighbours, with a state that outlives it.

async with Node("node.toml") as node:
    node.observe(0.3)
    print(node.estimate().value)
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from colme.errors import ConfigError, LocalProtocolError, SampleError, StoreError
from colme.node.config import FileSource, NodeConfig, SyntheticSource
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.owner import Answer, OwnerServer, owner_token
from colme.node.rounds import Driver, make_pacing
from colme.node.samples import Feed, Synthetic, make_feed, make_noise
from colme.node.session import Admission, Agreement, Neighbourhood
from colme.node.state import Store
from colme.node.tasks import running
from colme.node.trust import Identity, Trust
from colme.node.wire import Reason
from colme.privacy.ledger import Ledger

REPEATABLE = "repeatable noise"
"""Marks a state of a trial."""
SOURCE_PAUSE = 0.5
"""Seconds after which a source looks again whether the disk works."""


class Node:
    """Joins its neighbours when entered, leaves them when left.

    `state_lost` is the owner's word that the state of before is lost and that no sample from
    before will be fed again; without it, neighbours that remember this node make it stop.
    """

    def __init__(
        self, config: NodeConfig | Mapping[str, Any] | Path | str, *, state_lost: bool = False
    ) -> None:
        if isinstance(config, Path | str):
            config = NodeConfig.load(Path(config))
        elif not isinstance(config, NodeConfig):
            config = NodeConfig.build(config)
        self.config = config
        self._state_lost = state_lost
        self._source_trouble: str | None = None
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as undo:
            await self._start(undo)
            self._open = undo.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()
        self._log.info("stopped")

    @property
    def name(self) -> str:
        """As in its certificate."""
        return self._identity.name

    @property
    def metrics(self) -> Metrics:
        """What it counts."""
        return self._metrics

    def observe(self, sample: float) -> "asyncio.Future[None]":
        """Feed a sample. Await the result to know that it is stored."""
        return self._observe([sample])

    def estimate(self) -> Answer:
        """The mean of the owner's data, as well as it is known now."""
        agent = self._driver.agent
        estimate, (lo, hi) = agent.estimate, agent.settings.profile.bounds
        return Answer(
            round=estimate.round,
            value=estimate.value,
            low=max(lo, estimate.value - estimate.margin),
            high=min(hi, estimate.value + estimate.margin),
            local=estimate.local,
            class_size=estimate.class_size,
            collaborative=estimate.collaborative,
            samples=agent.counts[0],
        )

    async def take(self, samples: Sequence[float]) -> None:
        """Take samples in, all or none, and return once they are stored."""
        await self._observe(samples)

    async def failed(self) -> None:
        """Until an error ends the node, and then raise it."""
        await asyncio.shield(self._failure)

    def troubles(self) -> list[str]:
        """Why it is not ready; empty if it is."""
        found = [self._driver.trouble, self._source_trouble]
        if not self._neighbourhood.joined.is_set():
            found.append("not joined yet: waiting for the neighbours' answers")
        if self.config.agreed.rounds == "clock" and self._driver.wait > self.config.agreed.interval:
            why = "agreed.start" if self._driver.began is None else "the clock was put back"
            found.append(f"the next round is in {self._driver.wait:.0f} s: {why}")
        known = self._neighbourhood.acquaintances()
        if known and not any(one.connected for one in known):
            found.append("no neighbour can be reached")
        return [trouble for trouble in found if trouble is not None]

    def status(self) -> dict[str, Any]:
        """Counts and words only, never a sample, a mean or an estimate."""
        agent = self._driver.agent
        ledger = Ledger.of(agent)
        return {
            "name": self.name,
            "fingerprint": self._identity.certificate.fingerprint,
            "epoch": self._store.epoch,
            "round": agent.round,
            "phase": agent.phase.value,
            "rounds": self.config.agreed.rounds,
            "began": self._driver.began,
            "ended": self._driver.ended,
            "samples": {
                "taken": agent.counts[0],
                "released": ledger.samples,
                "waiting": ledger.waiting,
                "clamped": agent.clamped,
                "refused": self._metrics.samples_refused,
            },
            "privacy": ledger.describe(releases=self._store.releases),
            "class_size": agent.class_size,
            "neighbours": [
                asdict(one)
                | {
                    "suspect": one.name in agent.suspects,
                    "accepted": one.name in agent.accepted,
                    "late": agent.late[one.name],
                }
                for one in self._neighbourhood.acquaintances()
            ],
            "troubles": self.troubles(),
        }

    def _observe(self, samples: Sequence[float]) -> "asyncio.Future[None]":
        if isinstance(self.config.source, SyntheticSource):
            expected = "a source other than synthetic, whose noise may be repeatable"
            raise LocalProtocolError("sample", "one from outside", expected)
        if self._failure.done():
            raise LocalProtocolError("sample", "one for a node that has stopped", "one that runs")
        if self._neighbourhood.unsure:
            # In an old or a lost state it would be lost too, or worse, noised twice.
            expected = "every neighbour's word that the state is the newest: see colme status"
            raise LocalProtocolError("sample", "one before that", expected)
        return self._driver.observe(samples)

    async def _start(self, undo: AsyncExitStack) -> None:
        config = self.config
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._identity = Identity.load(config.identity)
        self._log = logger(node=self.name)
        self._identity.certificate.require_valid(datetime.now(UTC), "this node")
        pins = {one.name: one.certificate for one in config.neighbours}
        trust = Trust(self._identity, config.identity, pins)
        settings = config.settings(self.name)
        noise = make_noise(config.source)

        self._store = Store.open(config.state, name=self.name, profile=settings.profile)
        undo.callback(self._store.close)
        if self._state_lost and self._store.taken:
            expected = "an empty state: only what was lost can be begun anew"
            raise ConfigError("--state-lost", f"the state in {config.state}", expected)
        if self._state_lost and isinstance(config.source, FileSource) and _has_lines(config.source):
            expected = "a new file: how far the old one had been read is lost with the state"
            raise ConfigError("source.path", str(config.source.path), expected)
        feed = make_feed(config.source, marks=self._store.marks, refused=self._sample_refused)
        self._metrics = Metrics(settings.neighbours, settings.profile.epsilon)
        for name, certificate in [
            (self.name, self._identity.certificate),
            *((one.name, trust.certificates(one.name)[-1]) for one in config.neighbours),
        ]:
            self._metrics.certificate_expires(name, certificate.not_after)
        self._neighbourhood = neighbourhood = Neighbourhood(
            config,
            trust,
            Admission(Agreement.of(config.agreed), self._store.standings),
            self._store,
            self._metrics,
            state_lost=self._state_lost,
            fail=self._fail,
        )
        self._driver = neighbourhood.driver = Driver(
            settings,
            self._store,
            noise=noise,
            supply=Synthetic(config.source).samples
            if isinstance(config.source, SyntheticSource)
            else lambda _: (),
            post=neighbourhood.post,
            greet=neighbourhood.greet,
            pacing=make_pacing(config, self._clock_jumped),
            deadline=config.deadline,
            last_round=config.pace.last_round,
            metrics=self._metrics,
            fail=self._fail,
            marks=self._trial_mark(),
        )
        await undo.enter_async_context(running(self._driver.run(), self._fail))
        undo.push_async_callback(self._driver.flush)
        await neighbourhood.open(undo)
        if config.owner is not None:
            owner = OwnerServer(self, listen=config.owner.listen, token=owner_token(config.state))
            await owner.start()
            undo.push_async_callback(owner.stop)
            self._log.info("owner's side", address=f"{config.owner.listen}", port=owner.port)
        await undo.enter_async_context(running(neighbourhood.join(), self._fail))
        if feed is not None:
            await undo.enter_async_context(running(self._take_from(feed), self._fail))
        undo.callback(self._driver.stop)
        self._log.info(
            "started",
            listen=config.listen,
            epoch=self._store.epoch,
            round=self._driver.agent.round,
            privacy=Ledger.of(self._driver.agent).describe(),
        )

    def _trial_mark(self) -> dict[str, int]:
        """Noise that can be repeated must never meet real samples, not even in an old state."""
        source = self.config.source
        repeatable = isinstance(source, SyntheticSource) and source.noise_seed is not None
        if self._store.taken and (REPEATABLE in self._store.marks) != repeatable:
            made = "repeatable" if REPEATABLE in self._store.marks else "secure"
            expected = f"another state: the one in {self.config.state} was made with {made} noise"
            raise ConfigError("source.noise_seed", source.kind, expected)
        return {REPEATABLE: 1} if repeatable else {}

    async def _take_from(self, feed: Feed) -> None:
        if self._neighbourhood.unsure:
            await self._neighbourhood.joined.wait()
        try:
            await feed.run(self._take_once_stored)
        except SampleError as error:
            self._source_trouble = str(error)
            self._log.error("the source has stopped", why=str(error))
        else:
            self._log.info("the source has ended")

    async def _take_once_stored(self, samples: Sequence[float], marks: Mapping[str, int]) -> None:
        """A source waits while the disk fails, and goes on after what is stored."""
        while True:
            try:
                return await self._driver.observe(samples, marks)
            except StoreError:
                while self._driver.trouble is not None:
                    await asyncio.sleep(SOURCE_PAUSE)
            # A commit that failed may be on the disk after all.
            if marks and marks.items() <= self._store.marks.items():
                return None

    def _sample_refused(self, reason: str, line: int) -> None:
        self._metrics.sample_refused(Reason.INVALID_VALUE)
        self._log.warning("line is no sample", why=reason, line=line)

    def _clock_jumped(self, seconds: float) -> None:
        self._metrics.clock_jumped()
        self._log.warning("the clock jumped", seconds=round(seconds, 3))

    def _fail(self, error: BaseException) -> None:
        """Send nothing more; whoever waits for the node is told why."""
        self._driver.stop()
        self._neighbourhood.fall_silent()
        self._log.error("stopping", kind=type(error).__name__, why=str(error))
        if not self._failure.done():
            self._failure.set_exception(error)
            self._failure.exception()  # It is told to whoever asks; nobody has to.


def _has_lines(source: FileSource) -> bool:
    if not source.path.exists():
        return False
    with source.path.open("rb") as file:
        first = file.readline()
        is_header = source.column is not None and not first.lstrip().startswith(b"{")
        return bool(file.read(1) if is_header else first)
