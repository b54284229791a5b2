"""The session with one neighbour: who calls, the hello, what is said and what is heard.

    caller                              the other
      hello  ------------------------>    (both at once: progress, and what I know of you)
             <------------------------  hello
             compare: is its state the newest, and is mine?
      welcome ----------------------->
             <------------------------  welcome
      messages, and refusals of messages, both ways, until the stream ends

Who called makes no difference to what is said. A node calls while it has no session. A session
speaks from when the neighbour's hello was found good; the one before it, if any, ends then.
"""

import asyncio
from dataclasses import dataclass
from random import Random
from typing import Protocol

from colme.errors import MessageError, StaleStateError, StoreError
from colme.node.clock import Clock
from colme.node.contact import Contact
from colme.node.session.outbox import Outbox
from colme.node.session.transport import Parted, PeerSession, Transport
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import Reason, Refused, message_in, parse_frame, portions_of, reply_of
from colme.protocol.messages import Message

SESSION_SECONDS = 3600.0
"""Its caller ends a session after this, so that handshakes look at certificates and pins again."""
LONGER_SECONDS = 60.0
"""The other end ends it so much later, if its caller did not."""
ANSWER_SECONDS = 10.0
"""How long a hello may wait for its answer."""
COLLISION_SECONDS = 10.0
"""Two sessions opened by different ends within this may have been opened at the same time."""
UNREAD_SECONDS = 20.0
"""How long a neighbour may read nothing of what is sent."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Seconds from one call to the next: doubled each time, up to the longest, and each between half
and all. A call that had no answer has waited already: who falls silent is found back as soon as
who hangs up."""
TURN_SECONDS = 0.005
"""Work for one neighbour after which it waits for as long as the work took, so that a flood takes
half of a node's time at most."""
MOST_AT_ONCE = 8
"""Sessions with one neighbour that say hello or goodbye at a time."""

ENDING = (Reason.GARBAGE, Reason.OVERSIZED, Reason.STALE_STATE)
"""After these a neighbour is not listened to any more."""


class Host(Protocol):
    """What a link asks and tells its node."""

    boot: int
    """Drawn at this start."""

    def greeting(self, peer: str) -> bytes:
        """A hello, as things stand."""
        ...

    async def meet(self, peer: str, hello: pb.Hello, *, again: bool) -> pb.Welcome:
        """Answer a hello, or raise Refused; StaleStateError if it shows that my state is old.

        `again`: it has a session with me, and may have said this before what came by that.
        """
        ...

    async def welcomed(self, peer: str, welcome: pb.Welcome) -> None:
        """Both hellos are answered; nothing is said before this returns."""
        ...

    def heard(self, peer: str) -> None:
        """A message has come."""
        ...

    def receive(self, peer: str, message: Message) -> None:
        """Take a message or a portion of it, or raise Refused."""
        ...

    def refused(self, peer: str, refusal: pb.Refusal) -> None:
        """The neighbour did not let me in, or did not take a message."""
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

    def parted(self, peer: str, why: str) -> None:
        """There is no session, for this reason."""
        ...

    def sent(self, peer: str) -> None:
        """A message is on its way."""
        ...


@dataclass(eq=False, slots=True)
class _Talk:
    """One session, and how far it has come."""

    session: PeerSession
    dialled: bool
    """Whether it was opened here."""
    lock: asyncio.Lock
    """Refusals and messages come from two tasks, and one frame is written at a time."""
    task: "asyncio.Task[bool]"
    boot: int = 0
    """The neighbour's."""
    epoch: int = 0
    since: float = 0.0
    """When its hello was found good, in seconds of the loop."""
    welcomed: bool = False
    """Whether both hellos are answered."""
    worked: float = 0.0
    """Seconds of work for it since it last waited."""
    said: int = 0
    """Messages that it has not refused yet, or it could keep me busy with refusals."""


class Link:
    """Keeps a session with one neighbour, and says by it what is in the outbox, in order."""

    def __init__(
        self,
        peer: Contact,
        transport: Transport,
        host: Host,
        *,
        random: Random,
        clock: Clock,
    ) -> None:
        self.peer = peer.name
        self._contact = peer
        self._transport = transport
        self._host = host
        self._random = random
        self._clock = clock
        self._outbox = Outbox()
        self._talk: _Talk | None = None
        """The one that speaks."""
        self._tasks: set[asyncio.Task[bool]] = set()
        self._next_turn = 0.0
        """When the next session that it opens may begin, in seconds of the loop."""
        self._greet = False
        self._news = asyncio.Event()
        self._is_alone = asyncio.Event()
        self._is_alone.set()

    @property
    def connected(self) -> bool:
        """Whether there is a session in which both hellos are answered."""
        return self._talk is not None and self._talk.welcomed

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
        """Until cancelled: call the neighbour whenever there is no session with it."""
        loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
        while True:
            await self._is_alone.wait()
            began = loop.time()
            was_welcomed = await self._call()
            pause = FIRST_PAUSE if was_welcomed else min(2 * pause, LONGEST_PAUSE)
            rest = max(pause - (loop.time() - began), FIRST_PAUSE)
            await asyncio.sleep(rest * self._random.uniform(0.5, 1))

    async def stop(self) -> None:
        """End all sessions with it."""
        for task in (tasks := tuple(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def take(self, session: PeerSession) -> None:
        """Speak by a session that the neighbour has opened."""
        if len(self._tasks) >= MOST_AT_ONCE:
            await session.close("too many sessions at once")
            return
        # Each costs a commit or a whole digest: a neighbour that opens them in a hurry has to wait.
        now = asyncio.get_running_loop().time()
        begin = max(now, self._next_turn)
        self._next_turn = begin + FIRST_PAUSE
        self._begin(session, dialled=False, wait=begin - now)

    def _begin(
        self, session: PeerSession, *, dialled: bool, wait: float = 0.0
    ) -> "asyncio.Task[bool]":
        task = asyncio.create_task(self._live(session, dialled, wait))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _call(self) -> bool:
        try:
            session = await self._transport.dial(self.peer)
        except Parted as error:
            if self._talk is None:
                self._host.parted(self.peer, str(error))
            return False
        if self._talk is not None:
            # It has called meanwhile. Nothing was said by this one, so it can't prefer it.
            await session.close("there is another session")
            return True
        task = self._begin(session, dialled=True)
        await asyncio.wait({task})
        return not task.cancelled() and task.result()

    async def _live(self, session: PeerSession, dialled: bool, wait: float) -> bool:
        task = asyncio.current_task()
        assert task is not None
        talk = _Talk(session, dialled, asyncio.Lock(), task)
        why: str | None = "it stops, or a newer session took its place"
        try:
            await asyncio.sleep(wait)
            why = await self._until_parted(talk)
        finally:
            is_the_last = self._talk in (None, talk)
            if self._talk is talk:
                self._talk = None
                self._outbox.close()
                self._is_alone.set()
            await session.close(why or "time for the next one")
        if is_the_last and why is not None:
            self._host.parted(self.peer, why)
        return talk.welcomed

    async def _until_parted(self, talk: _Talk) -> str | None:
        """Live through a session; why it ended, unless it was time for the next one."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS) as limit:
                if await self._meet(talk):
                    seconds = SESSION_SECONDS + (0.0 if talk.dialled else LONGER_SECONDS)
                    limit.reschedule(asyncio.get_running_loop().time() + seconds)
                    await self._speak_and_listen(talk)
        except (Parted, StoreError, StaleStateError) as error:
            return str(error)
        except MessageError as error:
            return f"what it said is not valid ({error})"
        except TimeoutError:
            if not talk.welcomed:
                return f"no answer to my hello within {ANSWER_SECONDS:g} s"
        except Exception as error:
            self._host.broken(error)
            return "a fault of this node"
        return None

    async def _meet(self, talk: _Talk) -> bool:
        """Say hello and answer the neighbour's; whether messages follow."""
        await self._send(talk, self._host.greeting(self.peer))
        try:
            frame = await self._next(talk)
            if frame.WhichOneof("content") != "hello":
                raise Refused(Reason.NO_HELLO, self.peer, "frame", "another", "a hello first")
        except Refused as error:
            raise await self._kept_out(talk, error) from None
        try:
            talk.boot, talk.epoch = frame.hello.boot, frame.hello.standing.epoch
            self._require_place(talk)
            again = self._talk is not None and self._talk.boot == talk.boot
            welcome = await self._host.meet(self.peer, frame.hello, again=again)
        except Refused as error:
            parted = await self._kept_out(talk, error)
            if not frame.hello.check:
                await self._hear_answer(talk)
            raise parted from None
        if not frame.hello.check:
            self._take_place(talk)
        await self._send(talk, pb.Frame(welcome=welcome).SerializeToString())
        if frame.hello.check:
            return False
        answer = await self._hear_answer(talk)
        # Before it is told: whatever is posted from then on is of this session.
        self._outbox.open(answer)
        # Not before it has compared, too: a state that finds itself old in doing so never speaks,
        # and is no twin of the newest, which may begin the same start.
        self._contact.booted = (talk.epoch, talk.boot)
        await self._host.welcomed(self.peer, answer)
        talk.welcomed = True
        return True

    async def _kept_out(self, talk: _Talk, error: Refused) -> Parted:
        self._host.kept_out(error)
        await self._send(talk, reply_of(error))
        return Parted(f"not let in: {error}")

    async def _hear_answer(self, talk: _Talk) -> pb.Welcome:
        """Return the welcome to my hello; Parted if it is refused."""
        try:
            frame = await self._next(talk)
        except Refused as error:
            raise await self._kept_out(talk, error) from None
        match frame.WhichOneof("content"):
            case "welcome":
                return frame.welcome
            case "refusal":
                self._host.refused(self.peer, frame.refusal)
                raise Parted(f"turned away: {frame.refusal.detail}")
        raise Parted("it said something else before it answered my hello")

    def _require_place(self, talk: _Talk) -> None:
        """Let the same of two sessions last at both ends, where both were opened at once.

        Otherwise the newer one: whoever opens one has none, so the other is broken, though nobody
        may have noticed it here.
        """
        other = self._talk
        if other is None or other.boot != talk.boot or other.dialled == talk.dialled:
            return
        if asyncio.get_running_loop().time() - other.since > COLLISION_SECONDS:
            return
        if talk.dialled != (self._host.boot < talk.boot):
            raise Parted("another session was opened at the same time, and lasts")

    def _take_place(self, talk: _Talk) -> None:
        """Speak by this session from now on."""
        before, self._talk = self._talk, talk
        talk.since = asyncio.get_running_loop().time()
        self._is_alone.clear()
        self._outbox.close()
        if before is not None:
            before.task.cancel()

    async def _speak_and_listen(self, talk: _Talk) -> None:
        sides = {
            asyncio.create_task(self._listen(talk)),
            asyncio.create_task(self._speak(talk)),
        }
        try:
            done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
            for side in done:
                side.result()
        finally:
            for side in sides:
                side.cancel()
            await asyncio.gather(*sides, return_exceptions=True)

    async def _speak(self, talk: _Talk) -> None:
        while True:
            self._news.clear()
            if self._greet:
                self._greet = False
                talk.said += 1
                await self._send(talk, self._host.greeting(self.peer))
            while (frame := self._outbox.next()) is not None:
                talk.said += 1
                await self._send(talk, frame)
                self._host.sent(self.peer)
            await self._news.wait()

    async def _listen(self, talk: _Talk) -> None:
        """Take what comes, a bounded piece at a time: the others come in between.

        Nothing more is read until it is done, so that what a flood sends waits at its author.
        """
        while True:
            try:
                await self._take(talk, await self._next(talk))
            except Refused as error:
                self._host.left_out(error)
                await self._send(talk, reply_of(error))
                if error.reason in ENDING:
                    raise Parted(f"it sent what can't be taken: {error}") from None

    async def _take(self, talk: _Talk, frame: pb.Frame) -> None:
        match frame.WhichOneof("content"):
            case "hello":
                await self._host.meet(self.peer, frame.hello, again=True)
                await asyncio.sleep(0)
            case "refusal" if talk.said:
                talk.said -= 1
                self._host.refused(self.peer, frame.refusal)
                await asyncio.sleep(0)
            case ("welcome" | "refusal") as answer:
                raise Parted(f"it sent a {answer} for nothing that I said")
            case _:
                await self._take_message(talk, frame)

    async def _take_message(self, talk: _Talk, frame: pb.Frame) -> None:
        epoch, received = self._contact.received
        if epoch == talk.epoch and frame.sequence <= received:
            expected = f"more than {received}"
            raise Refused(Reason.DUPLICATE, self.peer, "sequence", frame.sequence, expected)
        self._contact.received = (talk.epoch, frame.sequence)
        message = message_in(self.peer, frame)
        self._host.heard(self.peer)
        refused: list[Refused] = []
        for portion in portions_of(message):
            began = self._clock.monotonic()
            try:
                self._host.receive(self.peer, portion)
            except Refused as error:
                refused.append(error)
            talk.worked += self._clock.monotonic() - began
            rest = 0.0
            if talk.worked >= TURN_SECONDS:
                rest, talk.worked = talk.worked, 0.0
            await asyncio.sleep(rest)
        for other in refused[1:]:
            self._host.left_out(other)
        if refused:
            raise refused[0]  # There is one answer at most to a message.

    async def _next(self, talk: _Talk) -> pb.Frame:
        return parse_frame(self.peer, await talk.session.receive())

    async def _send(self, talk: _Talk, frame: bytes) -> None:
        try:
            async with asyncio.timeout(UNREAD_SECONDS), talk.lock:
                await talk.session.send(frame)
        except TimeoutError:
            raise Parted(f"it has read nothing for {UNREAD_SECONDS:g} s") from None
