"""A driver with a real store and no network: what it posts is kept, with what was stored then.

The one that relays is `support.boarded`; here are what both share, and the one in rounds.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from colme.network import NoiseSource
from colme.node.clock import Clock, SystemClock
from colme.node.contact import Contact, Contacts
from colme.node.driver import Driver
from colme.node.metrics import Metrics
from colme.node.state import Commit, Store
from colme.node.state.database import FILE
from colme.node.state.stored import Progress, snapshot_in
from colme.node.wire.codec import Refused, Standing, release_in
from colme.protocol.events import Pace, Policy
from colme.protocol.messages import (
    ConsensusMessage,
    Message,
    ReleaseMessage,
    RoundMessage,
    SizeMessage,
    of_round,
)
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.rules.release import Blocks, Profile, Release
from support.waiting import PATIENCE

PROFILE = Profile.bounded(0, 1, epsilon=1, sigma2=0.01)
SETTINGS = Settings(
    name="me", neighbours=("b",), profile=PROFILE, algorithm=Paper(schedule=Blocks(1.0))
)


def stored_progress(folder: Path) -> Progress:
    """What another process would find in the state now."""
    with closing(sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)) as connection:
        return Progress.of(snapshot_in(connection, folder))


def growing(number: int) -> list[float]:
    """Samples of a round or a tick: so many more each time that most of them release something."""
    return [0.25] * 20 * min(number, 10)


@dataclass
class Posted:
    """A message, and what was on disk when it left."""

    peer: str
    message: Message
    stored: Progress
    entries: dict[str, bytes]
    """The board, by origin."""

    @property
    def round(self) -> int:
        """Of a message of a round."""
        return of_round(self.message).round


@dataclass
class Harness:
    """A driver with a real store and no network, and what came of it."""

    folder: Path
    settings: Settings
    driver: Driver = field(init=False)
    store: Store = field(init=False)
    metrics: Metrics = field(init=False)
    peers: Contacts = field(init=False)
    run: "asyncio.Task[None]" = field(init=False)
    """Stores and sends; an error that ends the driver is its own."""
    posts: list[Posted] = field(default_factory=list)
    draws: list[float] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    greetings: int = 0

    def post(self, peer: str, message: Message) -> None:
        with closing(sqlite3.connect(f"file:{self.folder / FILE}?mode=ro", uri=True)) as found:
            stored = Progress.of(snapshot_in(found, self.folder))
            entries = dict(found.execute("SELECT origin, content FROM entry"))
        self.posts.append(Posted(peer, message, stored, entries))

    def noise(self, scale: float) -> int:
        self.draws.append(scale)
        return 1000 * len(self.draws)

    def counted(self, line: str) -> bool:
        """Whether the metrics hold this line."""
        return line in self.metrics.text().decode().splitlines()

    def told_of(self, one: Posted) -> Sequence[tuple[int, float]]:
        """The counts and means of this agent's own that a message tells."""
        raise NotImplementedError

    def told(self) -> dict[int, set[float]]:
        """The means told of so many samples; whatever was told had been stored before."""
        means: dict[int, set[float]] = {}
        for post in self.posts:
            for count, mean in self.told_of(post):
                assert post.stored.released >= count
                means.setdefault(count, set()).add(mean)
        return means

    def mean_in(self, commit: Commit) -> float:
        """The mean of the release that a commit stores."""
        raise NotImplementedError

    def pester(self) -> None:
        """Neighbour b says all that could make a node say something."""
        raise NotImplementedError

    def greet(self) -> None:
        """Count how often all neighbours are greeted again."""
        self.greetings += 1

    @asynccontextmanager
    async def working(
        self,
        *,
        pace: Pace,
        policy: Policy | None = None,
        state_lost: bool = False,
        noise: NoiseSource | None = None,
        supply: Callable[[int], Sequence[float]] | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[None]:
        """Its driver, storing and sending but not begun."""
        self.metrics = Metrics(self.settings.neighbours, self.settings.profile.epsilon)
        self.peers = {name: Contact(name=name) for name in self.settings.neighbours}
        self.store = Store.open(self.folder, self.settings)
        try:
            self.driver = Driver(
                self.settings,
                self.store,
                self.peers,
                policy=policy or Policy(),
                pace=pace,
                state_lost=state_lost,
                noise=noise or self.noise,
                supply=supply,
                post=self.post,
                greet=self.greet,
                clock=clock or SystemClock(),
                random=Random(0),
                metrics=self.metrics,
                fail=self.failures.append,
            )
            self.run = asyncio.create_task(self.driver.run())
            try:
                yield
            finally:
                self.driver.stop()
                self.run.cancel()
                await asyncio.gather(self.run, return_exceptions=True)
        finally:
            self.store.close()


@dataclass
class Driven(Harness):
    """In rounds."""

    answers: bool = True
    """Whether neighbour b answers what it gets."""

    def post(self, peer: str, message: Message) -> None:
        super().post(peer, message)
        if self.answers:
            answer = answer_to(of_round(message))
            asyncio.get_running_loop().call_soon(self.driver.receive, peer, answer)

    def told_of(self, one: Posted) -> Sequence[tuple[int, float]]:
        assert one.stored.round >= one.round
        match one.message:
            case ReleaseMessage(release=Release(count=count, mean=mean)):
                return [(count, mean)]
        return []

    def mean_in(self, commit: Commit) -> float:
        assert commit.released is not None
        release = release_in(commit.released)
        assert release is not None
        return release.mean

    def pester(self) -> None:
        """It is far ahead, by a hello and by a message."""
        number = self.driver.agent.round + 100
        self.driver.returned("b", Standing(epoch=number, round=number))
        with suppress(Refused):  # Where the hello was followed, this is a round too far.
            self.driver.receive("b", ReleaseMessage(round=number + 100, release=None))

    @property
    def releases(self) -> list[ReleaseMessage]:
        """Those posted so far, in order."""
        return [one.message for one in self.posts if isinstance(one.message, ReleaseMessage)]


def answer_to(message: RoundMessage) -> RoundMessage:
    """What a neighbour of another class would say in the same exchange."""
    match message:
        case ReleaseMessage():
            return ReleaseMessage(round=message.round, release=None)
        case SizeMessage():
            return SizeMessage(round=message.round, size=1, degree=1, accepts=False)
        case ConsensusMessage():
            return ConsensusMessage(round=message.round, value=0.0)


@asynccontextmanager
async def driven(
    folder: Path,
    *,
    supply: Callable[[int], Sequence[float]] = lambda _: (0.25,),
    pace: Pace | None = None,
    clock: Clock | None = None,
    deadline: float = PATIENCE,
    last_round: int | None = None,
    answers: bool = True,
    settings: Settings = SETTINGS,
) -> AsyncIterator[Driven]:
    """The driver in rounds of agent `me` with neighbour b, storing and sending but not begun."""
    one = Driven(folder, settings, answers=answers)

    pace = pace or Pace(interval=1.0, deadline=deadline, last=last_round)
    async with one.working(pace=pace, supply=supply, clock=clock):
        try:
            yield one
            assert one.failures == []
        finally:
            one.answers = False
