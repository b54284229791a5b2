"""Neighbours on this machine: identities, configurations, and one made by hand that may misbehave.

The one made by hand has a real identity and speaks gRPC itself: `Caller` says what a test tells it
to, `Hearer` lets a node call it and keeps what it gets.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from socket import create_server
from typing import Any

import grpc
from grpc.aio import EOF, AioRpcError, ServicerContext, StreamStreamCall, secure_channel, server

from colme.node.config import NodeConfig
from colme.node.metrics import Metrics
from colme.node.session.admission import Agreement
from colme.node.trust.identity import PUBLIC_FILE, Identity
from colme.node.trust.tls import Trust, channel_options, server_options
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import METHOD, SERVICE, encode
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
class Caller:
    """A session to a node, in the hands of a test."""

    call: "StreamStreamCall[bytes, bytes]"
    config: NodeConfig
    """Of the node: what it has agreed on."""

    async def say(self, data: bytes) -> None:
        """Any bytes as a frame."""
        await self.call.write(data)

    async def tell(self, message: Message, sequence: int) -> None:
        """A message as a frame."""
        await self.say(encode(message, sequence))

    async def hello(self, epoch: int = 1, round_: int = 0, **facts: str) -> pb.Reply:
        """A hello and the answer to it; `facts` differ from what the node has."""
        agreement = Agreement(dict(Agreement.of(self.config.agreed).facts) | facts)
        standing = pb.Standing(epoch=epoch, round=round_)
        hello = pb.Hello(agreement=agreement.digest, facts=agreement.facts, standing=standing)
        await self.say(pb.Frame(hello=hello).SerializeToString())
        return await self.hear()

    async def hear(self) -> pb.Reply:
        """What the node answers."""
        async with asyncio.timeout(PATIENCE):
            data = await self.call.read()
        assert isinstance(data, bytes), "the node hung up"
        return pb.Reply.FromString(data)

    async def is_over(self) -> bool:
        """Whether the node hangs up next."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self.call.read() is EOF
        except AioRpcError:
            return True


@asynccontextmanager
async def calling(
    trust: Trust, node: str, config: NodeConfig, *, seconds: float | None = PATIENCE
) -> AsyncIterator[Caller]:
    """A session to a node; broken off at the end of the block, or after so many seconds."""
    credentials = trust.channel_credentials(node)
    async with secure_channel(config.listen, credentials, channel_options()) as channel:
        call: StreamStreamCall[bytes, bytes] = channel.stream_stream(METHOD)(timeout=seconds)
        try:
            yield Caller(call, config)
        finally:
            call.cancel()


def welcome(received: int = 0, **remembered: int) -> bytes:
    """A welcome that has this number last and remembers this standing."""
    told = pb.Welcome(
        standing=pb.Standing(epoch=1, round=0),
        received=received,
        remembered=pb.Standing(**remembered),
    )
    return pb.Reply(welcome=told).SerializeToString()


@dataclass
class Hearer:
    """Takes a node's sessions, one after another, and keeps the frames of each."""

    answer: Callable[[], Sequence[bytes]] = lambda: [welcome()]
    """What a hello gets, each a reply."""
    sessions: list[list[bytes]] = field(default_factory=list)
    _hang_up: asyncio.Event = field(default_factory=asyncio.Event)

    def hang_up(self) -> None:
        """End the session there is."""
        self._hang_up.set()

    async def take(
        self, frames: AsyncIterator[bytes], context: "ServicerContext[bytes, bytes]"
    ) -> None:
        self._hang_up = over = asyncio.Event()
        await anext(frames)
        kept: list[bytes] = []
        self.sessions.append(kept)
        for reply in self.answer():
            await context.write(reply)

        async def keep() -> None:
            async for data in frames:
                kept.append(data)  # noqa: PERF401 (others look on meanwhile)

        keeping = asyncio.create_task(keep())
        await over.wait()
        keeping.cancel()


@asynccontextmanager
async def hearing(hearer: Hearer, trust: Trust, address: str) -> AsyncIterator[Hearer]:
    """Listen at an address with a real identity."""
    listener = server(options=server_options())
    handler: grpc.RpcMethodHandler[bytes, bytes]
    handler = grpc.stream_stream_rpc_method_handler(hearer.take)
    listener.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, {"Session": handler}),)
    )
    assert listener.add_secure_port(address, trust.server_credentials(lambda: None))
    await listener.start()
    try:
        yield hearer
    finally:
        hearer.hang_up()
        await listener.stop(grace=0)
