"""A driver with a real store and no network: what it posts is kept, with what was stored then."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

from colme.node.clock import Clock, SystemClock
from colme.node.contact import Contact, Contacts
from colme.node.driver import Driver
from colme.node.metrics import Metrics
from colme.node.state import Store
from colme.node.state.database import FILE
from colme.node.state.stored import Progress, snapshot_in
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
from colme.rules.release import Blocks, Profile
from support.waiting import PATIENCE

PROFILE = Profile.bounded(0, 1, epsilon=1, sigma2=0.01)
SETTINGS = Settings(
    name="me", neighbours=("b",), profile=PROFILE, algorithm=Paper(schedule=Blocks(1.0))
)


def stored_progress(folder: Path) -> Progress:
    """What another process would find in the state now."""
    with closing(sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)) as connection:
        return Progress.of(snapshot_in(connection, folder))


@dataclass
class Posted:
    """A message, and how far the state on disk was when it left."""

    peer: str
    message: RoundMessage
    stored: Progress


@dataclass
class Driven:
    """A driver, its surroundings and what came of them."""

    folder: Path
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
    answers: bool = True
    """Whether neighbour b answers what it gets."""

    def post(self, peer: str, message: Message) -> None:
        message = of_round(message)
        self.posts.append(Posted(peer, message, stored_progress(self.folder)))
        if self.answers:
            asyncio.get_running_loop().call_soon(self.driver.receive, peer, answer_to(message))

    def noise(self, scale: float) -> int:
        self.draws.append(scale)
        return 1000 * len(self.draws)

    def greet(self) -> None:
        self.greetings += 1

    def counted(self, line: str) -> bool:
        """Whether the metrics hold this line."""
        return line in self.metrics.text().decode().splitlines()

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
    """The driver of agent `me` with neighbour b, storing and sending but not begun."""
    one = Driven(folder, answers=answers)
    one.metrics = Metrics(settings.neighbours, settings.profile.epsilon)
    one.peers = {name: Contact(name=name) for name in settings.neighbours}
    one.store = Store.open(folder, settings)
    try:
        one.driver = Driver(
            settings,
            one.store,
            one.peers,
            policy=Policy(),
            pace=pace or Pace(interval=1.0, deadline=deadline, last=last_round),
            state_lost=False,
            noise=one.noise,
            supply=supply,
            post=one.post,
            greet=one.greet,
            clock=clock or SystemClock(),
            metrics=one.metrics,
            fail=one.failures.append,
        )
        one.run = asyncio.create_task(one.driver.run())
        try:
            yield one
            assert one.failures == []
        finally:
            one.driver.stop()
            one.answers = False
            one.run.cancel()
            await asyncio.gather(one.run, return_exceptions=True)
    finally:
        one.store.close()
