"""A node as its owner sees it, with known content, and its owner's side on a real socket."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPMessage
from typing import Any

from colme.errors import ColmeError, LocalProtocolError
from colme.node.metrics import Metrics
from colme.node.owner.server import OwnerServer
from colme.node.owner.status import Answer, NeighbourStatus, SampleCounts, Status
from colme.node.state import RequestId

TOKEN = "a-token-of-at-least-thirty-two-characters"

ANSWER = Answer(
    value=0.123456789,
    low=0.0987654321,
    high=0.1481481477,
    alone=0.2345678901,
    samples=41,
    records=12,
    classes=3,
    oldest=61.5,
    why=None,
)

NEIGHBOUR = NeighbourStatus(
    name="there",
    address="10.0.0.2:7400",
    connected=True,
    round=7,
    last_error=None,
    suspect=False,
    accepted=True,
    late=4,
    vouched_for=0,
)

STATUS = Status(
    name="here",
    fingerprint="ab:cd",
    epoch=2,
    algorithm="paper",
    round=7,
    phase="size",
    rounds="clock",
    began=1767225600.5,
    ended=None,
    samples=SampleCounts(taken=41, released=32, waiting=9, clamped=1, refused=0),
    privacy="epsilon = 1 for each sample",
    class_size=3,
    trust=0.875,
    origin="ab" * 16,
    records=None,
    board=None,
    barred=(),
    neighbours=(NEIGHBOUR,),
    troubles=(),
)


@dataclass
class KnownNode:
    """Takes samples into a list; `before_taking` may wait or raise first."""

    response: Answer | ColmeError | Exception = ANSWER
    seen: Status = STATUS
    before_taking: Callable[[], Any] = lambda: asyncio.sleep(0)
    taken: list[float] = field(default_factory=list)
    metrics: Metrics = field(default_factory=lambda: Metrics(["there"], 1.0))
    name: str = "here"

    async def estimate(self) -> Answer:
        if isinstance(self.response, Answer):
            return self.response
        raise self.response

    async def take(self, samples: Sequence[float], request: RequestId | None = None) -> None:
        await self.before_taking()
        self.taken.extend(samples)
        self.metrics.samples_taken(len(samples))

    def troubles(self) -> list[str]:
        return list(self.seen.troubles)

    def status(self) -> Status:
        return self.seen


NO_SAMPLE = LocalProtocolError("estimate", "no sample", "a sample first")


@dataclass
class Heard:
    """An HTTP response."""

    code: int
    headers: HTTPMessage
    body: bytes


@dataclass
class Client:
    """Asks a server over a real socket, in a thread of its own."""

    port: int

    async def ask(
        self,
        path: str,
        method: str = "GET",
        body: Any = None,
        *,
        authorization: str | None = f"Bearer {TOKEN}",
        kind: str | None = None,
        host: str | None = None,
        also: Mapping[str, str] | None = None,
    ) -> Heard:
        headers = {"Authorization": authorization, "Content-Type": kind, "Host": host}
        given = {name: value for name, value in headers.items() if value is not None}
        given |= also or {}
        return await asyncio.to_thread(self._ask, path, method, body, given)

    def _ask(self, path: str, method: str, body: Any, headers: dict[str, str]) -> Heard:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Heard(response.status, response.headers, response.read())
        finally:
            connection.close()


@asynccontextmanager
async def served(node: KnownNode) -> AsyncIterator[Client]:
    """The node's owner's side at any free port, until the end of the block."""
    server = OwnerServer(node, listen="127.0.0.1:0", token=TOKEN)
    await server.start()
    try:
        yield Client(server.port)
    finally:
        await server.stop()
