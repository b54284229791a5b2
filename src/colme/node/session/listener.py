"""My side of the sessions that neighbours open: who they are, and what they send, checked."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

import grpc
from grpc.aio import Server, ServicerContext, server

from colme.errors import NetworkError
from colme.node.contact import Contact, Contacts
from colme.node.trust.tls import Trust, server_options
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import (
    OLD_SERVICES,
    PROTOCOL,
    SERVICE,
    Reason,
    Refused,
    message_in,
    parse_frame,
    reply_of,
)
from colme.protocol.messages import Message

HELLO_SECONDS = 10.0
"""How long a caller may take to prove who it is and to say hello."""
BREAK_OFF_SECONDS = 2.0
"""How long those calls may take to end that gRPC has broken off."""

STRANGER = "a stranger"

Context = ServicerContext[bytes, bytes]


class Door(Protocol):
    """What a listener asks and tells the node."""

    def admit(self, peer: str, hello: pb.Hello) -> pb.Welcome:
        """Let a neighbour in, or raise Refused."""
        ...

    def receive(self, peer: str, message: Message) -> None:
        """Take a message, or raise Refused."""
        ...

    def kept_out(self, error: Refused) -> None:
        """Somebody was not let in."""
        ...

    def left_out(self, error: Refused) -> None:
        """A message was not taken."""
        ...

    def broken(self, error: Exception) -> None:
        """A session ended by a fault of this node."""
        ...


class Listener:
    """Takes the sessions of pinned neighbours, one for each, and nobody else's."""

    def __init__(self, address: str, trust: Trust, peers: Contacts, door: Door) -> None:
        self.port = 0
        self._address = address
        self._trust = trust
        self._peers = peers
        self._door = door
        self._server: Server | None = None
        self._stopping = False
        self._loop = asyncio.get_running_loop()
        self._handshakes: deque[asyncio.TimerHandle] = deque()
        self._connections: set[str] = set()
        self._calls: set[asyncio.Task[object]] = set()

    async def start(self) -> None:
        """Bind and serve."""
        self._server = server(options=server_options())
        handler: grpc.RpcMethodHandler[bytes, bytes]
        handler = grpc.stream_stream_rpc_method_handler(self._call)
        old: grpc.RpcMethodHandler[bytes, bytes]
        old = grpc.stream_stream_rpc_method_handler(self._old_call)
        services = {SERVICE: handler, **dict.fromkeys(OLD_SERVICES, old)}
        self._server.add_generic_rpc_handlers(
            tuple(
                grpc.method_handlers_generic_handler(name, {"Session": one})
                for name, one in services.items()
            )
        )
        credentials = self._trust.server_credentials(self._met_in_a_thread)
        try:
            self.port = self._server.add_secure_port(self._address, credentials)
        except RuntimeError:
            self.port = 0
        if self.port == 0:
            raise NetworkError("listen", self._address, "a free port of this machine: is it taken?")
        await self._server.start()

    async def stop(self) -> None:
        """Hang up."""
        self._stopping = True
        for handshake in self._handshakes:
            handshake.cancel()
        if self._server is not None:
            await self._server.stop(grace=0)
        # gRPC does not wait for its handlers, and prints a traceback for each that the end of the
        # loop finds at work.
        if self._calls:
            await asyncio.wait(self._calls, timeout=BREAK_OFF_SECONDS)

    def _met_in_a_thread(self) -> None:
        with suppress(RuntimeError):  # The loop is closed: it came too late.
            self._loop.call_soon_threadsafe(self._met)

    def _met(self) -> None:
        """A handshake began; unless it leads to a session in time, it was a stranger's."""

        def unproven() -> None:
            self._handshakes.popleft()
            expected = "a pinned certificate and a hello"
            self._door.kept_out(
                Refused(Reason.UNKNOWN_PEER, STRANGER, "connection", "a handshake", expected)
            )

        self._handshakes.append(self._loop.call_later(HELLO_SECONDS, unproven))

    async def _call(self, frames: AsyncIterator[bytes], context: Context) -> None:
        call = asyncio.current_task()
        assert call is not None
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            await self._session(frames, context)
        except Exception as error:
            if self._stopping:
                return
            # gRPC would send its text to the neighbour.
            self._door.broken(error)
            await context.abort(grpc.StatusCode.INTERNAL, "a fault of this node")
        finally:
            self._connections.discard(context.peer())

    async def _old_call(self, frames: AsyncIterator[bytes], context: Context) -> None:
        """A neighbour of an earlier version is told so, in words that it understands."""
        try:
            peer = self._identify(context).name
            # Whoever is answered before it has spoken may fail to speak, and never read the answer.
            async with asyncio.timeout(HELLO_SECONDS):
                await anext(frames, b"")
            seen, expected = "an earlier version of colme", f"{PROTOCOL}: update it"
            raise Refused(Reason.OTHER_CONFIGURATION, peer, "agreed.protocol", seen, expected)
        except Refused as error:
            self._door.kept_out(error)
            await context.write(reply_of(error))
        except TimeoutError:
            return

    async def _session(self, frames: AsyncIterator[bytes], context: Context) -> None:
        try:
            peer = self._identify(context)
            async with asyncio.timeout(HELLO_SECONDS):
                frame = parse_frame(peer.name, await anext(frames, b""))
            if frame.WhichOneof("content") != "hello":
                raise Refused(Reason.NO_HELLO, peer.name, "frame", "a message", "a hello first")
            welcome = self._welcome(peer, frame.hello)
        except Refused as error:
            self._door.kept_out(error)
            await context.write(reply_of(error))
            return
        except TimeoutError:
            return
        if not frame.hello.check:
            self._take_over(peer)
        await context.write(pb.Reply(welcome=welcome).SerializeToString())
        if not frame.hello.check:
            await self._serve(peer, frame.hello.standing.epoch, frames, context)

    def _identify(self, context: Context) -> Contact:
        if context.peer() not in self._connections:
            self._connections.add(context.peer())
            if self._handshakes:
                self._handshakes.popleft().cancel()
        (pem,) = context.auth_context()["x509_pem_cert"]
        name = self._trust.name_of(pem)
        if name is None:
            # Vouched for by a pinned certificate, which can't vouch for others here.
            raise Refused(
                Reason.UNKNOWN_PEER, STRANGER, "certificate", "another", "one that is pinned"
            )
        return self._peers[name]

    def _welcome(self, peer: Contact, hello: pb.Hello) -> pb.Welcome:
        welcome = self._door.admit(peer.name, hello)
        epoch, received = peer.received
        welcome.received = received if epoch == hello.standing.epoch else 0
        return welcome

    def _take_over(self, peer: Contact) -> None:
        """A new session means that the old one is broken, whether or not it is known here."""
        before, peer.session = peer.session, asyncio.current_task()
        if before is not None:
            before.cancel()

    async def _serve(
        self, peer: Contact, epoch: int, frames: AsyncIterator[bytes], context: Context
    ) -> None:
        try:
            async for data in frames:
                try:
                    frame = parse_frame(peer.name, data)
                    if frame.WhichOneof("content") == "hello":
                        welcome = self._welcome(peer, frame.hello)
                        await context.write(pb.Reply(welcome=welcome).SerializeToString())
                    else:
                        self._take(peer, epoch, frame)
                except Refused as error:
                    self._door.left_out(error)
                    await context.write(reply_of(error))
                    if error.reason in (Reason.GARBAGE, Reason.OVERSIZED, Reason.STALE_STATE):
                        return
        except asyncio.CancelledError:
            # Hang up where a new session is the reason; else it is the caller who did.
            if peer.session is asyncio.current_task():
                raise
        finally:
            if peer.session is asyncio.current_task():
                peer.session = None

    def _take(self, peer: Contact, epoch: int, frame: pb.Frame) -> None:
        known_epoch, received = peer.received
        if known_epoch == epoch and frame.sequence <= received:
            raise Refused(
                Reason.DUPLICATE, peer.name, "sequence", frame.sequence, f"more than {received}"
            )
        peer.received = (epoch, frame.sequence)
        self._door.receive(peer.name, message_in(peer.name, frame))
