"""Sessions: every frame arrives once; whatever else a neighbour sends is counted and left out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from math import nan
from pathlib import Path
from typing import Any

import pytest
from grpc.aio._call import StreamStreamCall

from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.owner.status import NeighbourStatus
from colme.node.session.link import Link
from colme.node.session.rehearsal import check
from colme.node.trust.tls import LARGEST_PACKET, Trust
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import LARGEST_FRAME
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.messages import ConsensusMessage, ReleaseMessage, RoundMessage, SizeMessage
from support.boarded import board_of, of, orders, release, somebody
from support.boards import written
from support.logged import Logged
from support.neighbours import Hearer, Neighbours, Other, calling, counted, hearing, welcome
from support.waiting import PATIENCE, quiet, until


def received(node: Node, peer: str) -> float:
    return counted(node.metrics, f'messages_received_total{{peer="{peer}"}}')


@dataclass
class Scene:
    """Node a, its honest neighbour b, and c, who is in the hands of the test."""

    a: Node
    b: Node
    trust: Trust
    config: NodeConfig

    def calling(self) -> AbstractAsyncContextManager[Other]:
        return calling(self.trust, "a", self.config)

    async def alone(self) -> None:
        """Node a knows that c has hung up."""
        await until(lambda: [one.connected for one in self.a.status().neighbours] == [True, False])

    async def goes_on(self) -> None:
        """What a says still reaches b."""
        told = received(self.b, "a")
        if not self.config.agreed.in_rounds:
            await release(self.a)
        await until(lambda: received(self.b, "a") > told + 3 * self.config.agreed.in_rounds)
        assert self.a.status().troubles == ()


@asynccontextmanager
async def on_scene(folder: Path, *, in_rounds: bool = False) -> AsyncIterator[Scene]:
    """What is played on it ends nothing between a and b."""
    three = Neighbours(folder, "a", "b", "c")
    configured = three.in_rounds if in_rounds else three.config
    config = configured("a", "b", "c")
    async with Node(config) as a, Node(configured("b", "a")) as b:
        scene = Scene(a, b, three.trust("c", "a"), config)
        await until(lambda: a.status().round > 3 * in_rounds and received(b, "a"))
        yield scene
        await scene.goes_on()


GOOD = written(somebody(0))


def records(*entries: bytes, sequence: int = 1) -> bytes:
    return pb.Frame(sequence=sequence, records={"entries": entries}).SerializeToString()


def a_release(number: int, mean: float = 0.5) -> bytes:
    told = pb.Release(count=9, mean=mean, variance=0.01, beta=0.1)
    release = pb.ReleaseMessage(round=number, release=told)
    return pb.Frame(sequence=1, release=release).SerializeToString()


FIRST_FRAMES: dict[str, tuple[bytes, str]] = {
    "garbage": (b"\xff" * 40, "REASON_GARBAGE"),
    "oversized": (b"\x00" * (LARGEST_FRAME + 1), "REASON_OVERSIZED"),
    "no hello": (records(GOOD.to_bytes()), "REASON_NO_HELLO"),
}


@pytest.mark.parametrize("reason", FIRST_FRAMES)
async def test_a_session_that_does_not_begin_with_a_hello_is_over(
    reason: str, tmp_path: Path, logged: Logged
) -> None:
    async with on_scene(tmp_path) as scene:
        data, told = FIRST_FRAMES[reason]
        async with scene.calling() as c:
            await c.say(data)
            assert pb.Reason.Name((await c.hear()).refusal.reason) == told
            assert await c.is_over()
        assert counted(scene.a.metrics, f'sessions_refused_total{{reason="{reason}"}}') == 1
        assert logged.lines(node="a", event="not let in", peer="c", reason=reason)


BREAKS_OFF: dict[str, tuple[bytes, str]] = {
    "garbage": (b"\xff" * 40, "garbage"),
    "empty": (b"", "garbage"),
    "oversized": (b"\x00" * (LARGEST_FRAME + 1), "oversized"),
}
LEFT_OUT: dict[str, tuple[bytes, str]] = {
    "no record": (records(b"colme"), "invalid value"),
    "forged": (records(replace(GOOD, mean=0.75).to_bytes()), "bad signature"),
    "of a round": (a_release(1), "other configuration"),
}
LEFT_OUT_IN_ROUNDS: dict[str, tuple[Callable[[int], bytes], str]] = {
    "not a number": (lambda now: a_release(now, nan), "invalid value"),
    "old": (lambda _: a_release(1), "old round"),
    "far ahead": (lambda now: a_release(now + 1000), "future round"),
    "of a board": (lambda _: records(GOOD.to_bytes()), "other configuration"),
}


async def is_refused(scene: Scene, c: Other, frame: bytes, reason: str, logged: Logged) -> None:
    """It is answered, counted and logged."""
    assert (await c.hello()).WhichOneof("content") == "welcome"
    await c.say(frame)
    refusal = (await c.hear()).refusal
    assert pb.Reason.Name(refusal.reason) == f"REASON_{reason.upper().replace(' ', '_')}"
    assert counted(scene.a.metrics, f'messages_refused_total{{peer="c",reason="{reason}"}}') == 1
    (line,) = logged.lines(node="a", event="message refused", peer="c", reason=reason)
    assert line["why"] == f"from c: {refusal.detail}"


@pytest.mark.parametrize("what", [*BREAKS_OFF, *LEFT_OUT])
async def test_a_frame_that_can_not_be_taken_is_left_out(
    what: str, tmp_path: Path, logged: Logged
) -> None:
    frame, reason = (BREAKS_OFF | LEFT_OUT)[what]
    async with on_scene(tmp_path) as scene, scene.calling() as c:
        await is_refused(scene, c, frame, reason, logged)
        if what in BREAKS_OFF:
            assert await c.is_over()
        else:
            await c.say(records(GOOD.to_bytes(), sequence=2))
            await until(lambda: of(scene.a, GOOD.origin) == GOOD)


@pytest.mark.parametrize("what", LEFT_OUT_IN_ROUNDS)
async def test_a_frame_that_can_not_be_taken_in_rounds_is_left_out(
    what: str, tmp_path: Path, logged: Logged
) -> None:
    frame_in, reason = LEFT_OUT_IN_ROUNDS[what]
    async with on_scene(tmp_path, in_rounds=True) as scene, scene.calling() as c:
        await is_refused(scene, c, frame_in(scene.a.status().round), reason, logged)
        before, number = received(scene.a, "c"), scene.a.status().round + 1
        await c.tell(ReleaseMessage(round=number, release=None), sequence=2)
        await until(lambda: received(scene.a, "c") > before)


async def test_a_sequence_number_that_was_there_is_a_duplicate(
    tmp_path: Path, logged: Logged
) -> None:
    async with on_scene(tmp_path) as scene:
        async with scene.calling() as c:
            await c.hello()
            await c.say(records(GOOD.to_bytes()))
            await c.say(records(written(somebody(1)).to_bytes()))
            refusal = (await c.hear()).refusal
            assert refusal.reason == pb.REASON_DUPLICATE
            assert refusal.detail == "sequence: saw 1, expected more than 1"
        assert of(scene.a, written(somebody(1)).origin) is None
        assert counted(scene.a.metrics, 'messages_refused_total{peer="c",reason="duplicate"}') == 1
        assert logged.lines(node="a", event="message refused", peer="c", reason="duplicate")


async def test_more_than_grpc_takes_in_breaks_that_session_alone(tmp_path: Path) -> None:
    async with on_scene(tmp_path) as scene:
        async with scene.calling() as c:
            await c.hello()
            await c.say(b"\x00" * (LARGEST_PACKET + 1))
            assert await c.is_over()
        async with scene.calling() as c:
            assert (await c.hello()).WhichOneof("content") == "welcome"


async def test_an_older_standing_is_not_let_in(tmp_path: Path, logged: Logged) -> None:
    """Which are older is in `test_admission`."""
    async with on_scene(tmp_path) as scene:
        async with scene.calling() as c:
            await c.hello(epoch=5, round_=900)
        await scene.alone()
        async with scene.calling() as c:
            refusal = (await c.hello(5, 899)).refusal
            assert refusal.reason == pb.REASON_STALE_STATE
            assert await c.is_over()
        assert counted(scene.a.metrics, 'sessions_refused_total{reason="stale state"}') == 1
        assert logged.lines(node="a", event="not let in", peer="c", reason="stale state")
        async with scene.calling() as c:
            assert (await c.hello(5, 900)).WhichOneof("content") == "welcome"


@pytest.mark.parametrize(("epoch", "round_"), [(2**63, 1), (1, 2**64 - 1)])
async def test_a_standing_that_nobody_can_have_is_not_let_in(
    epoch: int, round_: int, tmp_path: Path, logged: Logged
) -> None:
    async with on_scene(tmp_path) as scene:
        async with scene.calling() as c:
            refusal = (await c.hello(epoch, round_)).refusal
            assert refusal.reason == pb.REASON_INVALID_VALUE
        assert counted(scene.a.metrics, 'sessions_refused_total{reason="invalid value"}') == 1
        assert logged.lines(node="a", event="not let in", peer="c", reason="invalid value")


async def test_who_stops_listening_waits_for_the_sessions_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gRPC does not, and prints a traceback for each that the end of the loop meets."""
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow_to_end(_self: Link, _talk: object) -> str:
        begun.set()
        while not may_end.is_set():
            with suppress(asyncio.CancelledError):
                await may_end.wait()
        return "over"

    monkeypatch.setattr(Link, "_until_parted", slow_to_end)

    two = Neighbours(tmp_path, "a", "b")
    config = two.config("a", "b")
    async with Node(config) as node, calling(two.trust("b", "a"), "a", config) as caller:
        await begun.wait()
        stopping = asyncio.create_task(node._parts.neighbourhood._end_sessions())
        await quiet()
        early = stopping.done()
        may_end.set()
        await stopping
        assert not early
        assert await caller.is_over()


FREE = {"rounds": "free"}
PATIENT = {"deadline": PATIENCE}


pytestmark = pytest.mark.usefixtures("call_again_soon")


def answers(number: int) -> list[RoundMessage]:
    """All that c says in a round."""
    return [
        ReleaseMessage(round=number, release=None),
        SizeMessage(round=number, size=1, degree=1, accepts=False),
        ConsensusMessage(round=number, value=0.0),
    ]


def numbers(frames: list[bytes]) -> list[int]:
    return [pb.Frame.FromString(data).sequence for data in frames]


async def test_frames_not_yet_received_are_sent_again_once_as_the_same_bytes(
    tmp_path: Path,
) -> None:
    """c hangs up after frame 1, and lets a in again: it has frame 1, then 3."""
    two = Neighbours(tmp_path, "a", "c")
    has = [0]
    config = two.in_rounds("a", "c", agreed=FREE, pace=PATIENT)
    hearer = Hearer(config)
    hearer.answer = lambda: [
        hearer.usual(remembered=(1, 0), round_=2)[0] if has[0] else hearer.usual()[0],
        welcome(has[0]),
    ]
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(hearing(hearer, two.trust("c", "a"), two.address("c")))
        a = await stack.enter_async_context(Node(config))
        await until(lambda: hearer.sessions and numbers(hearer.sessions[-1]) == [1])
        for sequence, message in enumerate(answers(1), start=1):
            await hearer.others[-1].tell(message, sequence)
        await until(lambda: a.status().round == 2)
        await until(lambda: len(hearer.sessions[-1]) == 4)
        for known in (1, 3, 4):
            has[0] = known
            sessions = len(hearer.sessions)
            await hearer.hang_up()
            await until(lambda n=sessions: len(hearer.sessions) > n)  # type: ignore[misc]
            missing = list(range(known + 1, 5))
            await until(lambda n=missing: numbers(hearer.sessions[-1]) == n)  # type: ignore[misc]
            assert hearer.sessions[-1] == hearer.sessions[0][known:]
        # What comes next goes on from there, once.
        for sequence, message in enumerate(answers(2), start=4):
            await hearer.others[-1].tell(message, sequence)
        await until(lambda: numbers(hearer.sessions[-1]) == [5, 6, 7])


async def test_a_session_that_ends_while_a_frame_is_written_ends_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gRPC raises InvalidStateError then; which of the two is first is a matter of luck."""
    write, said = StreamStreamCall.write, count()

    async def written_too_late(self: Any, data: bytes) -> None:
        if next(said) == 2:  # After the hello and the welcome.
            raise asyncio.InvalidStateError("RPC already finished.")
        await write(self, data)

    two = Neighbours(tmp_path, "a", "c")
    config = two.config("a", "c")
    hearer, remembered = Hearer(config), iter([0])
    hearer.answer = lambda: hearer.usual(remembered=(next(remembered, 1), 0))
    monkeypatch.setattr(StreamStreamCall, "write", written_too_late)
    async with hearing(hearer, two.trust("c", "a"), two.address("c")), Node(config) as a:
        await until(lambda: len(hearer.sessions) == 2 and hearer.sessions[1])
        assert a.status().troubles == ()


async def said(c: Other, epoch: int) -> int:
    """The number of c's last frame that a has taken in."""
    return (await c.hello(epoch=epoch, round_=1)).welcome.received


async def test_a_neighbour_that_reconnects_is_told_what_has_been_received(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "c")
    trust = two.trust("c", "a")
    config = two.config("a", "c")
    async with Node(config) as a:
        async with calling(trust, "a", config) as c:
            assert await said(c, epoch=1) == 0
            for sequence, entry in enumerate(map(written, map(somebody, (1, 2))), start=1):
                await c.tell(RecordsMessage((entry,)), sequence)
            await until(lambda: len(board_of(a)) == 2)
        async with calling(trust, "a", config) as c:
            assert await said(c, epoch=1) == 2
        async with calling(trust, "a", config) as c:
            assert await said(c, epoch=2) == 0
        assert "messages_refused_total{" not in a.metrics.text().decode()


async def test_a_new_session_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "c")
    trust = two.trust("c", "a")
    config = two.config("a", "c")
    async with Node(config), calling(trust, "a", config) as first:
        await first.hello()
        async with calling(trust, "a", config) as second:
            await second.hello()
            async with asyncio.timeout(PATIENCE / 2):
                assert await first.is_over()
            for _ in range(2):
                await second.say(records(GOOD.to_bytes()))
            assert (await second.hear()).refusal.reason == pb.REASON_DUPLICATE


async def test_connections_that_are_over_are_forgotten(tmp_path: Path) -> None:
    """However they ended: else a new one from the same port would pass for a stranger's."""
    two = Neighbours(tmp_path, "a", "c")
    trust = two.trust("c", "a")
    config = two.config("a", "c")
    async with Node(config) as a:
        transport: Any = a._parts.neighbourhood._transport
        connections = transport._connections
        async with calling(trust, "a", config) as c:
            await c.hello(interval="9.0")
            assert await c.is_over()
        await check(two.config("c", "a"))
        async with calling(trust, "a", config) as c:
            await c.say(b"garbage")
            await c.hear()
            assert await c.is_over()
        async with calling(trust, "a", config) as c:
            await c.hello()
            assert connections
        await until(lambda: not connections)


def refusal(reason: int) -> bytes:
    told = pb.Refusal(detail="no")
    told.reason = reason  # type: ignore[assignment]
    return pb.Frame(refusal=told).SerializeToString()


FALSE_ANSWERS: dict[str, Callable[[Hearer], list[bytes]]] = {
    "garbage": lambda _: [b"\xff" * 30],
    "nothing": lambda _: [b""],
    "garbage after a hello": lambda c: [c.usual()[0], b"\xff" * 30],
    "garbage later": lambda c: [*c.usual(), b"\xff" * 30],
    "a message first": lambda c: [c.usual()[0], records(GOOD.to_bytes())],
    "a reason of the future": lambda c: [c.usual()[0], refusal(99)],
    "a reason of the future, later": lambda c: [*c.usual(), refusal(99)],
    "a standing nobody can have": lambda c: c.usual(remembered=(2**63, 0)),
    "a refusal nobody can mean": lambda c: [c.usual()[0], refusal(pb.REASON_STALE_STATE)],
    "a number of the future": lambda c: [c.usual()[0], welcome(received=2**64 - 1)],
    "a round nobody can be in": lambda c: [c.usual()[0], welcome(round_=2**64 - 1)],
    "an entry that is none": lambda c: c.usual(yours=b"\xff" * 30),
}


def met(neighbour: NeighbourStatus) -> bool:
    return neighbour.connected or neighbour.last_error is not None


@pytest.mark.parametrize("what", FALSE_ANSWERS)
async def test_whatever_a_neighbour_answers_the_node_goes_on(what: str, tmp_path: Path) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    config = three.config("a", "b", "c")
    hearer = Hearer(config)
    hearer.answer = lambda: FALSE_ANSWERS[what](hearer)
    async with AsyncExitStack() as stack:
        trust = three.trust("c", "a")
        await stack.enter_async_context(hearing(hearer, trust, three.address("c")))
        a = await stack.enter_async_context(Node(config))
        b = await stack.enter_async_context(Node(three.config("b", "a")))
        await until(lambda: met(a.status().neighbours[1]))
        await release(a)
        await until(lambda: orders(a) == orders(b))
        assert not a._parts.failure.done()
