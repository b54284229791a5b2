"""My side of the session to one neighbour: what I have to say, in order, across broken lines."""

import asyncio
from random import SystemRandom
from time import monotonic
from typing import Protocol

from grpc import StatusCode
from grpc.aio import AioRpcError, StreamStreamCall, secure_channel

from colme.errors import IdentityError, MessageError, StaleStateError, StoreError
from colme.node.session.outbox import Outbox
from colme.node.trust.tls import Trust, channel_options, explain
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import METHOD, PROTOCOL, parse_reply, shortened
from colme.protocol.messages import Message

SESSION_SECONDS = 3600.0
"""The deadline of a session; the next one takes over."""
ANSWER_SECONDS = 10.0
"""The deadline of a hello."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Seconds from one attempt to the next: doubled each time, up to the longest, and each between half
and all. An attempt that had no answer has waited already: who falls silent is found back as soon as
who hangs up."""

OTHER_VERSION = f"it does not speak {PROTOCOL}: it runs another version of colme; update both"

Session = StreamStreamCall[bytes, bytes]


class Ear(Protocol):
    """What a link tells the node."""

    def greeting(self, peer: str) -> bytes:
        """A hello, as things stand."""
        ...

    async def welcomed(self, peer: str, welcome: pb.Welcome) -> None:
        """The neighbour let me in; nothing is said to it before this returns."""
        ...

    async def refused(self, peer: str, refusal: pb.Refusal) -> None:
        """The neighbour did not let me in, or did not take a message."""
        ...

    def parted(self, peer: str, why: str) -> None:
        """There is no session, for this reason."""
        ...

    def sent(self, peer: str) -> None:
        """A frame is on its way."""
        ...


class Parted(Exception):  # noqa: N818 (it is no error)
    """A session is over; the reason in words."""


class Link:
    """Keeps a session open and speaks on it: what is in its outbox, in order."""

    def __init__(self, peer: str, address: str, trust: Trust, ear: Ear, outbox: Outbox) -> None:
        self.peer = peer
        self.address = address
        self.connected = False
        self._trust = trust
        self._ear = ear
        self._outbox = outbox
        self._greet = False
        self._hellos = self._frames_said = 0
        self._news = asyncio.Event()
        self._random = SystemRandom()

    def post(self, message: Message) -> bool:
        """Send this as soon as there is a session; False if it can't be kept until then."""
        kept = self._outbox.post(message)
        self._news.set()
        return kept

    def drop(self) -> None:
        """Send nothing of what is still waiting."""
        self._outbox.drop()

    def greet(self) -> None:
        """Say hello again: I was away."""
        self._greet = True
        self._news.set()

    async def run(self) -> None:
        """Until cancelled: hold a session, and open the next one when it breaks."""
        pause = FIRST_PAUSE
        while True:
            began = monotonic()
            why = await self._session()
            pause = FIRST_PAUSE if self.connected else min(2 * pause, LONGEST_PAUSE)
            self.connected = False
            if why is not None:
                self._ear.parted(self.peer, why)
            rest = max(pause - (monotonic() - began), FIRST_PAUSE)
            await asyncio.sleep(rest * self._random.uniform(0.5, 1))

    async def _session(self) -> str | None:
        """Hold one session; why it ended, unless it was time for the next one."""
        try:
            credentials = self._trust.channel_credentials(self.peer)
            async with secure_channel(self.address, credentials, channel_options()) as channel:
                call: Session = channel.stream_stream(METHOD)(timeout=SESSION_SECONDS)
                try:
                    await self._open(call)
                    self.connected = True
                    await self._hold(call)
                finally:
                    self._outbox.close()
                    call.cancel()
        except (Parted, IdentityError, StoreError, StaleStateError) as error:
            return str(error)
        except asyncio.InvalidStateError:
            # What gRPC raises where it would write to a session that is over.
            return "it hung up"
        except TimeoutError:
            return f"no answer to my hello within {ANSWER_SECONDS:g} s"
        except MessageError as error:
            return f"its reply is not valid ({error})"
        except AioRpcError as error:
            if self.connected and error.code() is StatusCode.DEADLINE_EXCEEDED:
                return None
            details = shortened(error.details() or "")
            told = f"{error.code().name.lower().replace('_', ' ')}: {details}"
            if error.code() is StatusCode.UNIMPLEMENTED:
                return OTHER_VERSION
            if "Connection refused" in told:
                return f"{self.address} can't be reached (connection refused)"
            return await explain(self.address, self.peer, self._trust) or told
        return "over"

    async def _open(self, call: Session) -> None:
        """Say hello; the answer says where to go on."""
        self._hellos = self._frames_said = 0
        async with asyncio.timeout(ANSWER_SECONDS):
            await self._say_hello(call)
            reply = await read_reply(call)
        if reply.WhichOneof("content") == "welcome":
            # Before it is told: whatever is posted from then on is of this session.
            self._outbox.open(reply.welcome)
        await self._take(reply)
        if reply.WhichOneof("content") == "refusal":
            raise Parted(f"turned away: {reply.refusal.detail}")

    async def _say_hello(self, call: Session) -> None:
        self._hellos += 1
        await call.write(self._ear.greeting(self.peer))

    async def _take(self, reply: pb.Reply) -> None:
        """Tell of a reply; each is to something that I said, or a neighbour could keep me busy."""
        is_welcome = reply.WhichOneof("content") == "welcome"
        if is_welcome and self._hellos:
            self._hellos -= 1
            await self._ear.welcomed(self.peer, reply.welcome)
        elif not is_welcome and self._frames_said + self._hellos:
            # It does not say which of the two it is to.
            if self._frames_said:
                self._frames_said -= 1
            else:
                self._hellos -= 1
            await self._ear.refused(self.peer, reply.refusal)
        else:
            what = "welcome" if is_welcome else "refusal"
            raise Parted(f"it sent a {what} for nothing that I said")

    async def _hold(self, call: Session) -> None:
        sides = {
            asyncio.create_task(self._listen(call)),
            asyncio.create_task(self._speak(call)),
        }
        try:
            done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
            for side in done:
                side.result()
        finally:
            for side in sides:
                side.cancel()
            await asyncio.gather(*sides, return_exceptions=True)

    async def _listen(self, call: Session) -> None:
        while True:
            await self._take(await read_reply(call))

    async def _speak(self, call: Session) -> None:
        while True:
            self._news.clear()
            if self._greet:
                self._greet = False
                await self._say_hello(call)
            while (frame := self._outbox.next()) is not None:
                self._frames_said += 1
                await call.write(frame)
                self._ear.sent(self.peer)
            await self._news.wait()


async def read_reply(call: Session) -> pb.Reply:
    """The next one; Parted if there is none."""
    data = await call.read()
    if isinstance(data, bytes):
        return parse_reply(data)
    raise Parted(f"it hung up ({shortened(await call.details() or 'no reason given')})")
