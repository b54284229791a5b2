"""Neighbours on this machine: identities, configurations, and one made by hand that may misbehave.

The one made by hand has a real identity: `calling` calls a node and says what a test tells it to,
`Hearer` lets a node call it and keeps what it gets.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from socket import create_server
from typing import Any

from colme.node.config import NodeConfig
from colme.node.metrics import Metrics
from colme.node.session.admission import Agreement
from colme.node.session.grpc_transport import GrpcTransport
from colme.node.session.transport import Parted, PeerSession
from colme.node.trust.identity import PUBLIC_FILE, Identity
from colme.node.trust.tls import Trust
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import encode
from colme.protocol.messages import Message
from support.waiting import PATIENCE


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now."""
    with ExitStack() as held:
        return [
            held.enter_context(create_server(("127.0.0.1", 0))).getsockname()[1]
            for _ in range(count)
        ]


def counted(metrics: Metrics, series: str) -> float:
    """The value of one series of a node, by its name and labels; 0 if it is not there."""
    name, lines = f"colme_{series} ", metrics.text().decode().splitlines()
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))


INTERVAL = 0.05
"""Seconds between two syncs of a node that relays."""
START = datetime.now(UTC)
"""Of the rounds by clock: their numbers are small."""
RELAY: dict[str, dict[str, Any]] = {
    "agreed": {"bounds": [0, 1]},
    "privacy": {"epsilon": 4, "sigma2": 0.01},
    "pace": {"interval": INTERVAL},
}
ROUNDS: dict[str, dict[str, Any]] = {
    "agreed": {
        "bounds": [0, 1],
        "algorithm": "paper",
        "rounds": "clock",
        "interval": 0.1,
        "start": START,
    },
    "source": {"kind": "synthetic", "mean": 0.5, "sigma": 0.1, "seed": 1},
}


class Neighbours:
    """Some names, each with an identity and a port."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.folder = folder
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        for name in names:
            Identity.create(name, self.identity(name), now=datetime.now(UTC))

    def identity(self, name: str) -> Path:
        """The folder of its key and certificate."""
        return self.folder / name / "identity"

    def address(self, name: str) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.ports[name]}"

    def trust(self, name: str, *others: str) -> Trust:
        """What it needs to speak with others."""
        pins = {other: self.identity(other) / PUBLIC_FILE for other in others}
        return Trust(Identity.load(self.identity(name)), self.identity(name), pins)

    def config(
        self,
        name: str,
        *others: str,
        pins: Mapping[str, str] | None = None,
        defaults: Mapping[str, Mapping[str, Any]] = RELAY,
        **changes: Any,
    ) -> NodeConfig:
        """A node that knows the others; it relays and is fed by the program.

        A table in `changes` changes single fields of the same table in `defaults`. `pins`: whose
        certificate it takes for whose.
        """
        tables = {key: table | changes.pop(key, {}) for key, table in defaults.items()}
        neighbours = [
            {
                "name": other,
                "address": self.address(other),
                "certificate": self.identity((pins or {}).get(other, other)) / PUBLIC_FILE,
            }
            for other in others
        ]
        return NodeConfig.build(
            {
                "identity": self.identity(name),
                "state": self.folder / name / "state",
                "listen": self.address(name),
                "owner": False,
                "neighbours": neighbours,
                **tables,
                **changes,
            }
        )

    def in_rounds(self, name: str, *others: str, **changes: Any) -> NodeConfig:
        """The same with the paper's algorithm, rounds by the clock and made-up samples."""
        return self.config(name, *others, defaults=ROUNDS, **changes)


@dataclass
class Other:
    """An end of a session with a node, in the hands of a test."""

    session: PeerSession
    config: NodeConfig | None = None
    """Of the node: what it has agreed on."""
    heard: list[bytes] = field(default_factory=list)
    """Its messages, in order."""
    answers: list[pb.Frame] = field(default_factory=list)
    """Its welcomes and refusals, in order."""
    boot: int = 1

    async def say(self, data: bytes) -> None:
        """Any bytes as a frame."""
        await self.session.send(data)

    async def tell(self, message: Message, sequence: int) -> None:
        """A message as a frame."""
        await self.say(encode(message, sequence))

    async def hello(self, epoch: int = 1, round_: int = 0, **facts: str) -> pb.Frame:
        """A hello and the answer to it; `facts` differ from what the node has."""
        assert self.config is not None
        agreement = Agreement(dict(Agreement.of(self.config.agreed).facts) | facts)
        await self.say(hello(agreement, epoch=epoch, round_=round_, boot=self.boot))
        await self.say(welcome())
        return await self.hear()

    async def hear(self) -> pb.Frame:
        """The node's next answer; messages that come before it are put aside."""
        async with asyncio.timeout(PATIENCE):
            return await self._answer()

    async def _answer(self) -> pb.Frame:
        while True:
            data = await self.session.receive()
            frame = pb.Frame.FromString(data)
            if frame.WhichOneof("content") in ("welcome", "refusal"):
                self.answers.append(frame)
                return frame
            if not frame.HasField("hello"):
                self.heard.append(data)

    async def listen(self) -> None:
        """Keep the node's messages, until the session is over."""
        with suppress(Parted):
            while True:
                await self._answer()

    async def is_over(self) -> bool:
        """Once the node has hung up; what it says before that is put aside."""
        async with asyncio.timeout(PATIENCE):
            await self.listen()
        return True


def hello(
    agreement: Agreement,
    *,
    epoch: int = 1,
    round_: int = 0,
    boot: int = 1,
    yours: bytes = b"",
    remembered: tuple[int, int] = (0, 0),
) -> bytes:
    """A hello of one that is there, and that remembers this epoch and round of the node."""
    said = pb.Hello(
        agreement=agreement.digest,
        facts=agreement.facts,
        standing=pb.Standing(epoch=epoch, round=round_),
        boot=boot,
        remembered=pb.Standing(epoch=remembered[0], round=remembered[1]),
        yours=yours,
    )
    return pb.Frame(hello=said).SerializeToString()


def welcome(received: int = 0, round_: int = 0) -> bytes:
    """A welcome that has this number last."""
    said = pb.Welcome(standing=pb.Standing(epoch=1, round=round_), received=received)
    return pb.Frame(welcome=said).SerializeToString()


@asynccontextmanager
async def calling(trust: Trust, node: str, config: NodeConfig) -> AsyncIterator[Other]:
    """A session to a node; broken off at the end of the block."""
    session = await GrpcTransport("", trust, {node: config.listen}).dial(node)
    try:
        yield Other(session, config)
    finally:
        await session.close("the test is over")


@dataclass
class Hearer:
    """Takes a node's sessions, one after another, and keeps the messages of each."""

    config: NodeConfig
    """Of the node."""
    answer: Callable[[], Sequence[bytes]] | None = None
    """What it says to a caller, each a frame; a hello and a welcome if nothing else is said."""
    sessions: list[list[bytes]] = field(default_factory=list)
    others: list[Other] = field(default_factory=list)

    async def hang_up(self) -> None:
        """End the session there is."""
        await self.others[-1].session.close("hung up by the test")

    def usual(self, **said: Any) -> list[bytes]:
        """What one says that lets the node in."""
        return [hello(Agreement.of(self.config.agreed), **said), welcome()]

    async def take(self, session: PeerSession) -> None:
        """Answer, and listen to the end."""
        other = Other(session, self.config)
        with suppress(Parted):
            for frame in self.usual() if self.answer is None else self.answer():
                await other.say(frame)
        # Only now, so that a test says nothing by it before that.
        self.sessions.append(other.heard)
        self.others.append(other)
        await other.listen()


@asynccontextmanager
async def hearing(hearer: Hearer, trust: Trust, address: str) -> AsyncIterator[Hearer]:
    """Listen at an address with a real identity."""
    transport = GrpcTransport(address, trust, {})
    await transport.start(lambda _: None)
    tasks: set[asyncio.Task[None]] = set()

    async def take_all() -> None:
        while True:
            tasks.add(asyncio.create_task(hearer.take(await transport.accept())))

    taking = asyncio.create_task(take_all())
    try:
        yield hearer
    finally:
        taking.cancel()
        for task in tasks:
            task.cancel()
        await transport.stop()
