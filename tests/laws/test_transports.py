"""What every way that messages travel must meet.

What arrives comes in the order it was sent, as far as it arrives; nothing comes twice; what has to
be stored first can be read from the disk by then; and after a break it goes on. To add a way is to
add a `Way`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from colme.errors import RemoteProtocolError
from colme.network import Network
from colme.node.clock import SystemClock
from colme.node.contact import NEVER, Contact
from colme.node.journal import Journal
from colme.node.metrics import Metrics
from colme.node.session import link
from colme.node.session.admission import Admission, Agreement
from colme.node.session.grpc_transport import GrpcTransport
from colme.node.session.link import Link
from colme.node.session.neighbourhood import running
from colme.node.state import Commit, Store
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import Refused, Standing
from colme.protocol.agent import Agent
from colme.protocol.events import Begin, Deadline, Effects, Event, Received
from colme.protocol.messages import Message, RoundMessage, of_round
from colme.protocol.rounds.paper import Paper
from colme.protocol.rounds.state import Phase
from colme.protocol.settings import Settings
from colme.rules.release import Profile
from support.driven import stored_progress
from support.neighbours import Neighbours
from support.waiting import until
from support.wires import Wire

ROUND = 3
"""Messages of a round: a release, a size and a consensus value."""


def agent(name: str, other: str) -> Agent:
    profile = Profile.bounded(0, 1, epsilon=1)
    return Agent(Settings(name=name, neighbours=(other,), profile=profile, algorithm=Paper()))


class Way(ABC):
    """From agent a to agent b."""

    def __init__(self) -> None:
        self.sent: list[RoundMessage] = []
        """What a asked for, in order."""
        self.heard: list[RoundMessage] = []
        """What b got of it, in order."""
        self.hasty: list[RoundMessage] = []
        """What b got before it could be read from a's disk, where a has one."""

    @abstractmethod
    async def round(self) -> None:
        """a goes through a round, with a sample of its own."""

    @abstractmethod
    async def cut(self) -> None:
        """What is on its way may be lost; what is sent from now on may not."""


class InMemory(Way):
    """The queue of a `Network`. Nothing of it is stored."""

    def __init__(self) -> None:
        super().__init__()
        a, b = agent("a", "b"), agent("b", "a")
        self._network = Network([a, b], noise=lambda scale: 3)
        self._broken = False
        self._step = {"a": a.step, "b": b.step}
        a.step = self._of_a  # type: ignore[method-assign]
        b.step = self._of_b  # type: ignore[method-assign]

    def _of_a(self, event: Event, now: float = 0.0) -> Effects:
        effects = self._step["a"](event)
        self.sent += [of_round(message) for _, message in effects.send]
        return effects

    def _of_b(self, event: Event, now: float = 0.0) -> Effects:
        if isinstance(event, Received):
            if self._broken:
                self._broken = False
                raise RemoteProtocolError("a", "line", "cut", "one that holds")
            self.heard.append(of_round(event.message))
        return self._step["b"](event)

    async def round(self) -> None:
        self._network.run_round({"a": 0.25, "b": 0.75})

    async def cut(self) -> None:
        self._broken = True
        with pytest.raises(RemoteProtocolError):
            await self.round()
        self._network._in_flight.clear()
        for one in self._network.agents.values():
            while one.phase is not Phase.IDLE:
                one.step(Deadline())


class Sessions(Way):
    """A journal, two links, a line that can be cut: mutual TLS, and a's state on disk."""

    def __init__(self, store: Store, link: Link, wire: Wire, folder: Path) -> None:
        super().__init__()
        self.link = link
        self.wire = wire
        self.store = store
        self.hellos = 0
        """How often b has been greeted."""
        self._folder = folder
        self._agent = agent("a", "b")
        self._journal = Journal(
            store,
            {"b": Contact(name="b")},
            clock=SystemClock(),
            post=lambda _, message: assert_kept(link.post(message)),
            metrics=Metrics(("b",), 1.0),
            marks={},
        )
        self._journal.open(self._agent, {})

    def receive(self, message: RoundMessage) -> None:
        """What b's link tells b."""
        self.heard.append(message)
        if stored_progress(self._folder).round < message.round:
            self.hasty.append(message)

    async def run(self) -> None:
        """Store, then send."""

        async def fail(error: Exception) -> None:
            raise error

        await self._journal.run(fail)

    async def round(self) -> None:
        self._do(self._agent.observe(0.25))
        self._do(self._agent.step(Begin(self._agent.round + 1, (3,))))
        while self._agent.phase is not Phase.IDLE:
            self._do(self._agent.step(Deadline()))  # b says nothing in return.

    def _do(self, effects: Effects) -> None:
        self.sent += [of_round(message) for _, message in effects.send]
        self._journal.apply(effects)

    async def all_that_was_posted(self) -> None:
        """Until b has heard it. A hello is said before what waits, so a second one is after it."""
        for _ in range(2):
            await until(lambda: self.link.connected)
            before = self.hellos
            self.link.greet()
            await until(lambda n=before: self.hellos > n)  # type: ignore[misc]

    async def cut(self) -> None:
        breaks = self.wire.breaks
        self.wire.break_off()
        assert self.wire.breaks > breaks


def assert_kept(kept: bool) -> None:
    assert kept


class End:
    """Of one whose state nobody doubts (`link.Host`)."""

    def __init__(self, admission: Admission, peer: str, way: Sessions | None = None) -> None:
        self.boot = admission.boot
        self.peer = Contact(name=peer)
        self._admission = admission
        self._way = way

    def greeting(self, peer: str) -> bytes:
        return self._admission.greeting(Standing(epoch=1, round=0), NEVER)

    async def meet(self, peer: str, hello: pb.Hello, *, again: bool) -> pb.Welcome:
        if self._way is not None:
            self._way.hellos += 1
        self._admission.admit(self.peer, hello, again=again)
        return pb.Welcome(received=self.peer.received[1])

    async def welcomed(self, peer: str, welcome: pb.Welcome) -> None: ...

    def receive(self, peer: str, message: Message) -> None:
        assert self._way is not None
        self._way.receive(of_round(message))

    def refused(self, peer: str, refusal: pb.Refusal) -> None:
        raise AssertionError(refusal)

    def kept_out(self, error: Refused) -> None:
        raise AssertionError(error)

    left_out = kept_out

    def broken(self, error: Exception) -> None:
        raise error

    def parted(self, peer: str, why: str) -> None: ...

    def sent(self, peer: str) -> None: ...

    def heard(self, peer: str) -> None: ...


@asynccontextmanager
async def in_memory(_: Path) -> AsyncIterator[Way]:
    yield InMemory()


@asynccontextmanager
async def sessions(folder: Path) -> AsyncIterator[Sessions]:
    two = Neighbours(folder, "a", "b")
    agreement = Agreement.of(two.in_rounds("a", "b").agreed)
    state = folder / "state"
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(Wire(two.address("b")))
        there = GrpcTransport(two.address("b"), two.trust("b", "a"), {})
        here = GrpcTransport("", two.trust("a", "b"), {"b": wire.address})
        a = End(Admission(agreement, boot=1), "b")
        to_b = Link(a.peer, here, a, random=Random(1), clock=SystemClock())
        store = Store.open(state, agent("a", "b").settings)
        stack.callback(store.close)
        way = Sessions(store, to_b, wire, state)
        b = End(Admission(agreement, boot=2), "a", way)
        to_a = Link(b.peer, there, b, random=Random(2), clock=SystemClock())
        await there.start(b.kept_out)
        for one in (there, to_a, to_b):
            stack.push_async_callback(one.stop)

        async def take() -> None:
            while True:
                await to_a.take(await there.accept())

        failures: list[BaseException] = []
        for work in (way.run(), take(), to_b.run()):
            await stack.enter_async_context(running(work, failures.append))
        yield way
        assert failures == []


Opened = Callable[[Path], AbstractAsyncContextManager[Way]]

WAYS: dict[str, Opened] = {"memory": in_memory, "sessions": sessions}

each_way = pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))


@pytest.fixture(autouse=True)
def call_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.02)


def is_in_order(heard: Sequence[RoundMessage], sent: Sequence[RoundMessage]) -> bool:
    """Whether all of it was sent, in this order, each once."""
    rest = iter(sent)
    return all(message in rest for message in heard)


@each_way
def test_where_nothing_breaks_all_arrives_once_and_in_order(way: Opened, tmp_path: Path) -> None:
    async def whole() -> None:
        async with way(tmp_path) as one:
            for number in range(1, 6):
                await one.round()
                await until(lambda n=number: len(one.heard) == ROUND * n)  # type: ignore[misc]
            assert one.heard == one.sent

    asyncio.run(whole())


def test_after_a_break_it_goes_on_and_nothing_comes_twice(tmp_path: Path) -> None:
    """What the break cost is missing, and the rest is in order still."""

    async def whole() -> None:
        async with sessions(tmp_path) as one:
            for _ in range(4):
                await one.round()
                await until(lambda: one.heard[-1:] == one.sent[-1:])
                await one.cut()
                await one.round()
                await until(lambda: one.heard[-1:] == one.sent[-1:])
            assert is_in_order(one.heard, one.sent)
            assert one.heard[-ROUND:] == one.sent[-ROUND:]

    asyncio.run(whole())


@pytest.mark.parametrize("after", [1, 40, 120, 200])
def test_wherever_a_line_is_cut_a_session_resumes_and_loses_nothing(
    after: int, tmp_path: Path
) -> None:
    """Within a frame and between two: what b has not taken in is said again, once."""

    async def whole() -> None:
        async with sessions(tmp_path) as one:
            await one.round()
            await until(lambda: one.heard == one.sent)
            one.wire.break_off(after)
            await one.round()
            await one.round()
            await until(lambda: len(one.heard) >= len(one.sent))
            assert one.heard == one.sent
            assert one.wire.breaks == 1

    asyncio.run(whole())


def test_nothing_arrives_before_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor while the disk takes its time, or after a break. A network in memory stores nothing."""

    async def whole() -> None:
        async with sessions(tmp_path) as one:
            commit, go_on = one.store.commit, asyncio.Event()

            async def slow(what: Commit) -> None:
                await go_on.wait()
                await commit(what)

            monkeypatch.setattr(one.store, "commit", slow)
            for number in range(1, 4):
                await one.round()
                await one.all_that_was_posted()
                await one.cut()
                await one.all_that_was_posted()
                assert len(one.heard) == ROUND * (number - 1)
                go_on.set()
                await until(lambda n=number: len(one.heard) == ROUND * n)  # type: ignore[misc]
                go_on.clear()
            assert one.heard == one.sent
            assert one.hasty == []

    asyncio.run(whole())
