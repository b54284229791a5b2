"""A network without sockets: sessions are queues, and who can call whom is up to the test."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from colme.node.config import NodeConfig
from colme.node.session.transport import Parted, PeerSession
from colme.node.trust.tls import Trust
from colme.node.wire.codec import Refused

T = TypeVar("T")

ROOM = 8
"""Frames that wait for a reader before their author has to."""


@dataclass(eq=False)
class End:
    """One end of a session."""

    peer: str
    inbox: "asyncio.Queue[bytes]" = field(default_factory=lambda: asyncio.Queue(ROOM))
    over: "asyncio.Future[str]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    """Why it is over."""
    other: "End" = field(init=False)
    silent: bool = False
    """Whether what is sent here gets lost, as on a cut cable."""

    async def send(self, frame: bytes) -> None:
        if not self.silent:
            await self._unless_over(self.other.inbox.put(frame))

    async def receive(self) -> bytes:
        if not self.inbox.empty():
            return self.inbox.get_nowait()  # What was sent before the end is read, too.
        return await self._unless_over(self.inbox.get())

    async def close(self, why: str) -> None:
        for end, words in ((self, why), (self.other, f"it hung up ({why})")):
            if not end.over.done():
                end.over.set_result(words)

    async def _unless_over(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(work)
        try:
            both: set[asyncio.Future[Any]] = {task, self.over}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            task.cancel()
        raise Parted(self.over.result())


@dataclass(eq=False)
class Network:
    """All nodes of it, by name, and who can't be called."""

    closed: set[str] = field(default_factory=set)
    """Nodes without an open port."""
    sessions: list[tuple[str, str, End]] = field(default_factory=list)
    """Who called whom, and the caller's end, in order."""
    _waiting: "dict[str, asyncio.Queue[PeerSession]]" = field(default_factory=dict)

    def transport(self, config: NodeConfig, trust: Trust) -> "InMemory":
        """For one of its nodes: `Node(config, transport=network.transport)`."""
        return InMemory(self, trust.identity.name)

    def of(self, name: str) -> "InMemory":
        """The same by its name."""
        return InMemory(self, name)

    def cut(self, *, silent: bool = False) -> None:
        """Break all sessions there are; `silent`: nobody is told."""
        for _, _, end in self.sessions:
            end.silent = end.other.silent = True
            if not silent:
                for one in (end, end.other):
                    if not one.over.done():
                        one.over.set_result("the line was cut")


@dataclass
class InMemory:
    """`transport.Transport` by queues."""

    network: Network
    name: str

    @property
    def _queue(self) -> "asyncio.Queue[PeerSession]":
        return self.network._waiting.setdefault(self.name, asyncio.Queue())

    async def start(self, kept_out: Callable[[Refused], None]) -> None:
        self._queue  # noqa: B018 (it listens from now on)

    async def stop(self) -> None:
        self.network._waiting.pop(self.name, None)

    async def dial(self, peer: str) -> PeerSession:
        await asyncio.sleep(0)
        if peer in self.network.closed or peer not in self.network._waiting:
            raise Parted(f"{peer} can't be reached")
        here, there = End(peer), End(self.name)
        here.other, there.other = there, here
        self.network.sessions.append((self.name, peer, here))
        self.network._waiting[peer].put_nowait(there)
        return here

    async def accept(self) -> PeerSession:
        return await self._queue.get()
