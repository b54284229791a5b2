"""Nodes that exchange boards, on this machine, and what is on their boards."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from colme.network import NoiseSource
from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.state import Change, Commit, change
from colme.node.trust.identity import Identity
from colme.node.trust.tls import Trust, signing_settings
from colme.node.wire.codec import Reason, Standing
from colme.protocol.board.board import LAST_ORIGIN, Board, Page
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Entry, Record, entry_from_bytes, origin_of_key
from colme.protocol.events import Pace, Policy
from colme.protocol.messages import Message
from colme.protocol.settings import Settings
from colme.relay import Relay
from colme.rules.release import Profile
from colme.signing import Ed25519
from support.boards import written
from support.driven import Harness, Posted
from support.neighbours import Neighbours
from support.waiting import PATIENCE, until

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


EMPTY = Page(after="", last=LAST_ORIGIN, heads=())
"""The digest of a board that holds nothing."""


@dataclass
class Boarded(Harness):
    """With a board."""

    answers: bool = False
    """Whether every neighbour answers a digest at once: it holds nothing."""

    def post(self, peer: str, message: Message) -> None:
        super().post(peer, message)
        if self.answers and isinstance(message, DigestMessage) and not message.answer:
            asyncio.get_running_loop().call_soon(self.answer, peer)

    def told_of(self, one: Posted) -> Sequence[tuple[int, float]]:
        match one.message:
            case RecordsMessage(entries=entries):
                for entry in entries:  # Or a newer one, that came while this was being stored.
                    assert entry_from_bytes(one.entries[entry.origin]).order >= entry.order
                mine = origin_of_key(ME.key)
                records = [one for one in entries if isinstance(one, Record)]
                return [(one.count, one.mean) for one in records if one.origin == mine]
        return []

    def mean_in(self, commit: Commit) -> float:
        record = entry_from_bytes(commit.entries[origin_of_key(ME.key)].content)
        assert isinstance(record, Record)
        return record.mean

    def pester(self) -> None:
        """It says hello, asks what this agent holds, and has news."""
        self.driver.returned("b", Standing(epoch=1, round=0))
        self.driver.receive("b", DigestMessage(page=EMPTY, answer=False))
        self.tell("b", written(somebody(len(self.board)), sequence=1 + len(self.posts)))

    def tell(self, peer: str, *entries: Entry) -> None:
        """A neighbour's records."""
        self.driver.receive(peer, RecordsMessage(entries))

    def answer(self, peer: str) -> None:
        """A neighbour's answer to a digest: it holds nothing."""
        self.driver.receive(peer, DigestMessage(page=EMPTY, answer=True))

    def records_to(self, peer: str) -> list[Entry]:
        """All that a neighbour was sent, in order."""
        return [
            entry
            for one in self.posts
            if one.peer == peer and isinstance(one.message, RecordsMessage)
            for entry in one.message.entries
        ]

    def noted(self, reason: Reason, peer: str = "b") -> bool:
        """Whether one thing of a neighbour was refused or noted, for a reason."""
        return self.counted(f'colme_messages_refused_total{{peer="{peer}",reason="{reason}"}} 1.0')

    def tick(self) -> None:
        """Tick at once, whenever the next tick would be due."""
        self.driver._forget_timer()
        self.driver._begin(self.driver.agent.round + 1)

    def introduced_by(self, peer: str) -> set[str]:
        """The publishers on the board that a neighbour brought first."""
        via = self.driver.agent.exchange.via
        return {origin for origin, first in via.items() if first == peer}

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
    supply: Callable[[int], Sequence[float]] | None = None,
    answers: bool = False,
) -> AsyncIterator[Boarded]:
    """The driver of agent `me`, storing and sending but not begun."""
    settings = settings_of(neighbours, squares=squares)
    one = Boarded(folder, settings, answers=answers)

    async with one.working(
        pace=Pace(interval=interval, deadline=PATIENCE, always=supply is not None),
        policy=Policy(limit=behind, allowlist=None if roster is None else frozenset(roster)),
        state_lost=state_lost,
        noise=noise,
        supply=supply,
    ):
        yield one
