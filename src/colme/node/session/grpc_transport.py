"""Sessions as gRPC streams over mutual TLS; who calls from where is counted here."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Self

import grpc
from grpc import StatusCode
from grpc.aio import (
    AioRpcError,
    Channel,
    Server,
    ServicerContext,
    StreamStreamCall,
    UsageError,
    secure_channel,
    server,
)

from colme.errors import IdentityError, NetworkError
from colme.node.config import NodeConfig
from colme.node.session.transport import Parted, PeerSession
from colme.node.trust.tls import Trust, channel_options, explain, server_options
from colme.node.wire.codec import (
    METHOD,
    OLD_SERVICES,
    PROTOCOL,
    SERVICE,
    Reason,
    Refused,
    old_reply_of,
    shortened,
)

HELLO_SECONDS = 10.0
"""How long a caller may take from its handshake to its call."""
DIAL_SECONDS = 10.0
"""How long a call to a neighbour may take to get there."""
GOODBYE_SECONDS = 2.0
"""How long the other end may take to end a session that was closed here."""
LEAVING_SECONDS = 0.2
"""How long neighbours may take to leave; at once, and gRPC would tell them of an error."""

OTHER_VERSION = f"it does not speak {PROTOCOL}: it runs another version of colme; update both"
STRANGER = "a stranger"

Call = StreamStreamCall[bytes, bytes]
Context = ServicerContext[bytes, bytes]
Explain = Callable[[StatusCode, str, bool], Awaitable[str]]
"""Puts what gRPC tells of a call in words; told whether anything was heard before it."""

_OVER = (AioRpcError, UsageError, asyncio.InvalidStateError, asyncio.CancelledError)
"""What gRPC raises at whoever uses a call that is over: CancelledError too, if nobody cancels."""


class _Stream(ABC):
    """A call of either end: gRPC reads and writes them alike."""

    def __init__(self, peer: str, stream: Call | Context) -> None:
        self.peer = peer
        self._stream = stream
        self._heard = self._reading = False
        self._closed: str | None = None

    async def send(self, frame: bytes) -> None:
        """Write it, once HTTP/2 has room."""
        try:
            await self._stream.write(frame)
        except _OVER as error:
            raise await self._parted(error) from None

    async def receive(self) -> bytes:
        """Return what comes, or say why nothing more does."""
        self._reading = True
        try:
            # After it was closed the rest is read too: gRPC tells of the end after it.
            while isinstance(data := await self._stream.read(), bytes):
                if self._closed is None:
                    self._heard = True
                    return data
        except _OVER as error:
            raise await self._parted(error) from None
        finally:
            self._reading = False
        raise await self._parted(None)

    async def _parted(self, error: BaseException | None) -> BaseException:
        if error is not None and _is_of_this_task(error):
            return error
        return Parted(self._closed or await self._why(error))

    @abstractmethod
    async def _why(self, error: BaseException | None) -> str:
        """Say why the other end has ended it."""


def _is_of_this_task(error: BaseException) -> bool:
    """Whether it is this task that is cancelled, and not the call alone."""
    task = asyncio.current_task()
    is_cancelled = task is not None and task.cancelling() > 0
    return isinstance(error, asyncio.CancelledError) and is_cancelled


class Dialled(_Stream):
    """A session that this node has opened."""

    def __init__(self, peer: str, channel: Channel, call: Call, explain_: Explain) -> None:
        super().__init__(peer, call)
        self._channel = channel
        self._call = call
        self._explain = explain_

    async def close(self, why: str) -> None:
        """Let the other end read all that was written, and then end the call."""
        if self._closed is not None:
            return
        self._closed = why
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._call.done_writing()
                # A call that is cancelled takes back what the other end has not read.
                while not self._reading and isinstance(await self._call.read(), bytes):
                    pass
                await self._call.code()
        except (TimeoutError, *_OVER) as error:
            if _is_of_this_task(error):
                raise
        finally:
            self._call.cancel()
            await self._channel.close()

    async def _why(self, error: BaseException | None) -> str:
        code, details = StatusCode.OK, None
        if isinstance(error, AioRpcError):
            code, details = error.code(), error.details()
        elif self._call.done():
            # gRPC raises InvalidStateError where it would write to a session that is over.
            code, details = await self._call.code(), await self._call.details()
        details = shortened(details or "no reason given")
        if code in (StatusCode.OK, StatusCode.CANCELLED):
            return f"it hung up ({details})"
        return await self._explain(code, details, self._heard)


class Accepted(_Stream):
    """A session that a neighbour has opened."""

    def __init__(self, peer: str, context: Context) -> None:
        super().__init__(peer, context)
        self._context = context
        self._over = asyncio.Event()

    async def close(self, why: str) -> None:
        """End the call: gRPC sends its end after all that was written."""
        self._closed = self._closed or why
        self._over.set()

    async def serve(self) -> None:
        """Keep the call open until either end closes it."""
        try:
            await self._over.wait()
            self._context.set_details(self._closed or "")
        finally:
            await self.close("it hung up")

    async def _why(self, error: BaseException | None) -> str:
        return "it hung up"


class GrpcTransport:
    """Calls neighbours at their addresses and takes the calls of those that are pinned."""

    def __init__(self, listen: str, trust: Trust, addresses: Mapping[str, str]) -> None:
        self.port = 0
        self._listen = listen
        self._trust = trust
        self._addresses = addresses
        self._server: Server | None = None
        self._loop = asyncio.get_running_loop()
        self._kept_out: Callable[[Refused], None] = lambda _: None
        self._handshakes: deque[asyncio.TimerHandle] = deque()
        self._connections: set[str] = set()
        self._calls: set[asyncio.Task[object]] = set()
        self._met_sessions: asyncio.Queue[PeerSession] = asyncio.Queue()

    @classmethod
    def of(cls, config: NodeConfig, trust: Trust) -> Self:
        """As a node is configured."""
        return cls(config.listen, trust, {one.name: one.address for one in config.neighbours})

    async def start(self, kept_out: Callable[[Refused], None]) -> None:
        """Bind and serve."""
        self._kept_out = kept_out
        self._server = server(options=server_options())
        for name in (SERVICE, *OLD_SERVICES):
            take = self._take if name == SERVICE else self._refuse
            handler: grpc.RpcMethodHandler[bytes, bytes]
            handler = grpc.stream_stream_rpc_method_handler(partial(self._call, take))
            generic = grpc.method_handlers_generic_handler(name, {"Session": handler})
            self._server.add_generic_rpc_handlers((generic,))
        credentials = self._trust.server_credentials(self._met_in_a_thread)
        with suppress(RuntimeError):
            self.port = self._server.add_secure_port(self._listen, credentials)
        if self.port == 0:
            raise NetworkError("listen", self._listen, "a free port of this machine: is it taken?")
        await self._server.start()

    async def stop(self) -> None:
        """Hang up."""
        for handshake in self._handshakes:
            handshake.cancel()
        if self._server is not None:
            await self._server.stop(grace=LEAVING_SECONDS)
        # gRPC does not wait for its handlers, and prints a traceback for each that the end of the
        # loop finds at work.
        if self._calls:
            await asyncio.wait(self._calls, timeout=GOODBYE_SECONDS)

    async def dial(self, peer: str) -> PeerSession:
        """Open a call to a neighbour; it knows of it once this returns."""
        address = self._addresses[peer]
        try:
            credentials = self._trust.channel_credentials(peer)
        except IdentityError as error:
            raise Parted(str(error)) from None
        channel = secure_channel(address, credentials, channel_options())
        call: Call = channel.stream_stream(METHOD)()
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                await call.wait_for_connection()
        except TimeoutError:
            await channel.close()
            raise Parted(f"no answer from {address} within {DIAL_SECONDS:g} s") from None
        except AioRpcError as error:
            await channel.close()
            details = shortened(error.details() or "")
            raise Parted(await self._in_words(peer, error.code(), details, False)) from None
        except BaseException:
            await channel.close()
            raise
        return Dialled(peer, channel, call, partial(self._in_words, peer))

    async def accept(self) -> PeerSession:
        """Return the next session of a pinned neighbour."""
        return await self._met_sessions.get()

    async def _in_words(self, peer: str, code: StatusCode, details: str, heard: bool) -> str:
        address, told = self._addresses[peer], f"{code.name.lower().replace('_', ' ')}: {details}"
        if code is StatusCode.UNIMPLEMENTED:
            return OTHER_VERSION
        if "Connection refused" in told:
            return f"{address} can't be reached (connection refused)"
        # What breaks a session that has begun is not found out by another handshake.
        return told if heard else await explain(address, peer, self._trust) or told

    def _met_in_a_thread(self) -> None:
        with suppress(RuntimeError):  # The loop is closed: it came too late.
            self._loop.call_soon_threadsafe(self._met)

    def _met(self) -> None:
        """A handshake began; unless it leads to a call in time, it was a stranger's."""

        def unproven() -> None:
            self._handshakes.popleft()
            expected = "a pinned certificate and a hello"
            self._kept_out(
                Refused(Reason.UNKNOWN_PEER, STRANGER, "connection", "a handshake", expected)
            )

        self._handshakes.append(self._loop.call_later(HELLO_SECONDS, unproven))

    async def _call(
        self,
        take: Callable[[str, Context], Awaitable[None]],
        _frames: AsyncIterator[bytes],
        context: Context,
    ) -> None:
        call = asyncio.current_task()
        assert call is not None
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            await take(self._identify(context), context)
        except Refused as error:
            self._kept_out(error)
            await context.abort(StatusCode.PERMISSION_DENIED, str(error.expected))
        finally:
            self._connections.discard(context.peer())

    async def _take(self, peer: str, context: Context) -> None:
        # The caller learns that its call is here, whoever speaks first.
        await context.send_initial_metadata(())
        session = Accepted(peer, context)
        self._met_sessions.put_nowait(session)
        await session.serve()

    async def _refuse(self, peer: str, context: Context) -> None:
        """A neighbour of an earlier version is told so, in words that it understands."""
        with suppress(TimeoutError):
            # Whoever is answered before it has spoken may fail to speak, and never read the answer.
            async with asyncio.timeout(HELLO_SECONDS):
                await context.read()
            seen, expected = "an earlier version of colme", f"{PROTOCOL}: update it"
            error = Refused(Reason.OTHER_CONFIGURATION, peer, "agreed.protocol", seen, expected)
            self._kept_out(error)
            await context.write(old_reply_of(error))

    def _identify(self, context: Context) -> str:
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
        return name
