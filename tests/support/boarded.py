"""Nodes that exchange boards, on this machine, and what is on their boards."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

from colme.network import NoiseSource
from colme.node.boards import BoardsDriver, Speakers
from colme.node.config import NodeConfig
from colme.node.contact import Contact, Contacts
from colme.node.metrics import Metrics
from colme.node.node import Node
from colme.node.state import Change, Store, change
from colme.node.state.database import FILE
from colme.node.trust.identity import Identity
from colme.node.trust.tls import Trust, signing_settings
from colme.node.wire.codec import Reason
from colme.protocol.board.board import LAST_ORIGIN, Board, Page
from colme.protocol.board.messages import BoardMessage, DigestMessage, RecordsMessage
from colme.protocol.board.record import Entry, Record, origin_of_key
from colme.protocol.messages import Message
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile
from colme.signing import Ed25519
from support.neighbours import Neighbours
from support.waiting import until

PROFILE = Profile.bounded(0, 1, epsilon=4, sigma2=0.01)


def board_of(node: Node) -> Board:
    """What a node holds."""
    return node._parts.driver.agent.boards.board


def of(node: Node, origin: str) -> Record | None:
    """What a node holds of an origin."""
    entry = board_of(node).get(origin)
    assert entry is None or isinstance(entry, Record)
    return entry


def origin_in(names: Neighbours, name: str) -> str:
    """Whose records a neighbour writes."""
    origin = Identity.load(names.identity(name)).certificate.origin
    assert origin is not None
    return origin


def changed(config: NodeConfig, *, drop_waiting: bool = False) -> Change:
    """`colme state change`: its state is one for this configuration."""
    pins = {one.name: one.certificate for one in config.neighbours}
    trust = Trust(Identity.load(config.identity), config.identity, pins)
    return change(config.state, signing_settings(config, trust), drop_waiting=drop_waiting)


def orders(node: Node) -> dict[str, tuple[int, int]]:
    """How far each origin is, on a node's board."""
    return {entry.origin: entry.order for entry in board_of(node)}


async def release(node: Node) -> None:
    """It takes in so many samples that it releases some; return once that is stored."""
    before = node.status().samples
    await node.take([0.5] * (20 + 2 * before.taken))
    await until(lambda: node.status().samples.released > before.released)


@dataclass
class Said:
    """A message about boards, and what was on disk when it left."""

    peer: str
    message: BoardMessage
    stored: dict[str, bytes]
    """The board, by origin."""
    released: int
    """Samples that the ledger lists."""


@dataclass
class Boarded:
    """A driver of a board with a real store and no network, and what came of it."""

    folder: Path
    identity: Ed25519
    driver: BoardsDriver = field(init=False)
    store: Store = field(init=False)
    metrics: Metrics = field(init=False)
    peers: Contacts = field(init=False)
    said: list[Said] = field(default_factory=list)
    draws: list[float] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)

    def post(self, peer: str, message: Message) -> None:
        assert isinstance(message, BoardMessage)
        with closing(sqlite3.connect(f"file:{self.folder / FILE}?mode=ro", uri=True)) as found:
            entries = dict(found.execute("SELECT origin, content FROM entry"))
            (listed,) = found.execute("SELECT coalesce(max(last), 0) FROM ledger").fetchone()
        self.said.append(Said(peer, message, entries, listed))

    def noise(self, scale: float) -> int:
        self.draws.append(scale)
        return 1000 * len(self.draws)

    def tell(self, peer: str, *entries: Entry) -> None:
        """A neighbour's records."""
        self.driver.receive(peer, RecordsMessage(entries))

    def answer(self, peer: str) -> None:
        """A neighbour's answer to a digest: it holds nothing."""
        page = Page(after="", last=LAST_ORIGIN, heads=())
        self.driver.receive(peer, DigestMessage(page=page, answer=True))

    def records_to(self, peer: str) -> list[Entry]:
        """All that a neighbour was sent, in order."""
        return [
            entry
            for one in self.said
            if one.peer == peer and isinstance(one.message, RecordsMessage)
            for entry in one.message.entries
        ]

    def counted(self, reason: Reason, peer: str = "b") -> int:
        """How often something of a neighbour was refused or noted, for a reason."""
        line = f'colme_messages_refused_total{{peer="{peer}",reason="{reason}"}} '
        found = [one for one in self.metrics.text().decode().splitlines() if one.startswith(line)]
        return int(float(found[0].removeprefix(line))) if found else 0

    @property
    def board(self) -> Board:
        """What it holds."""
        return self.driver.agent.boards.board


ME = Ed25519.from_bytes(bytes(31) + b"m", {"b": Ed25519.from_bytes(bytes(31) + b"b").key})
"""Agent `me`, which knows the key of neighbour b alone."""
B = Ed25519.from_bytes(bytes(31) + b"b")


def somebody(number: int) -> Ed25519:
    """One of many whom nobody knows."""
    return Ed25519.from_bytes(bytes(28) + (1000 + number).to_bytes(4))


def settings_of(neighbours: tuple[str, ...] = ("b", "c"), *, squares: bool = False) -> Settings:
    """Of agent `me`."""
    return Settings(
        name="me",
        neighbours=neighbours,
        profile=PROFILE,
        algorithm=Relay(release_squares=squares),
        identity=ME,
    )


@asynccontextmanager
async def boarded(
    folder: Path,
    *,
    neighbours: tuple[str, ...] = ("b", "c"),
    interval: float = 0.01,
    behind: int = 100,
    roster: tuple[str, ...] | None = None,
    state_lost: bool = False,
    squares: bool = False,
    noise: NoiseSource | None = None,
) -> AsyncIterator[Boarded]:
    """The driver of agent `me`, storing and sending but not begun."""
    settings = settings_of(neighbours, squares=squares)
    one = Boarded(folder, ME)
    one.metrics = Metrics(settings.neighbours, PROFILE.epsilon)
    one.peers = {name: Contact(name=name) for name in settings.neighbours}
    one.store = Store.open(folder, settings)
    try:
        one.driver = BoardsDriver(
            settings,
            one.store,
            one.peers,
            noise=noise or one.noise,
            supply=None,
            post=one.post,
            interval=interval,
            last_tick=None,
            speakers=Speakers(
                behind=behind,
                roster=roster,
                known=[origin_of_key(ME.key), origin_of_key(B.key)],
            ),
            state_lost=state_lost,
            metrics=one.metrics,
            fail=one.failures.append,
        )
        run = asyncio.create_task(one.driver.run())
        try:
            yield one
        finally:
            one.driver.stop()
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
    finally:
        one.store.close()
