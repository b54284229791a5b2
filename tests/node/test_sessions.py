"""Whatever a neighbour sends is counted, logged and left out, and the node goes on."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path

import pytest

from colme.node.config import NodeConfig
from colme.node.node import Node
from colme.node.session.link import Link
from colme.node.trust.tls import LARGEST_PACKET, Trust
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import LARGEST_FRAME
from colme.protocol.messages import ReleaseMessage
from support.logged import Logged, logging
from support.neighbours import Neighbours, Other, calling
from support.waiting import quiet, until


@pytest.fixture
def logged(capsys: pytest.CaptureFixture[str]) -> Iterator[Logged]:
    with logging(capsys) as lines:
        yield lines


def counts(node: Node, line: str) -> bool:
    return f"colme_{line}" in node.metrics.text().decode().splitlines()


def received(node: Node, peer: str) -> float:
    name = f'colme_messages_received_total{{peer="{peer}"}} '
    (line,) = (one for one in node.metrics.text().decode().splitlines() if one.startswith(name))
    return float(line.removeprefix(name))


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
        """Rounds continue, and b still gets what it waits for."""
        number, told = self.a.status().round, received(self.b, "a")
        await until(lambda: self.a.status().round > number + 1)
        await until(lambda: received(self.b, "a") >= told + 3)
        assert self.a.status().troubles == ()


def on_scene(folder: Path, play: Callable[[Scene], Awaitable[None]]) -> None:
    async def whole() -> None:
        three = Neighbours(folder, "a", "b", "c")
        config = three.config("a", "b", "c")
        async with AsyncExitStack() as stack:
            a = await stack.enter_async_context(Node(config))
            b = await stack.enter_async_context(Node(three.config("b", "a")))
            scene = Scene(a, b, three.trust("c", "a"), config)
            await until(lambda: a.status().round > 0 and received(b, "a") and received(a, "b"))
            await play(scene)
            await scene.goes_on()

    asyncio.run(whole())


def a_release(number: int, mean: float = 0.5) -> bytes:
    told = pb.Release(count=9, mean=mean, variance=0.01, beta=0.1)
    release = pb.ReleaseMessage(round=number, release=told)
    return pb.Frame(sequence=1, release=release).SerializeToString()


FIRST_FRAMES: dict[str, tuple[bytes, str]] = {
    "garbage": (b"\xff" * 40, "REASON_GARBAGE"),
    "oversized": (b"\x00" * (LARGEST_FRAME + 1), "REASON_OVERSIZED"),
    "no hello": (a_release(1), "REASON_NO_HELLO"),
}


@pytest.mark.parametrize("reason", FIRST_FRAMES)
def test_a_session_that_does_not_begin_with_a_hello_is_over(
    reason: str, tmp_path: Path, logged: Logged
) -> None:
    async def play(scene: Scene) -> None:
        data, told = FIRST_FRAMES[reason]
        async with scene.calling() as c:
            await c.say(data)
            assert pb.Reason.Name((await c.hear()).refusal.reason) == told
            assert await c.is_over()
        assert counts(scene.a, f'sessions_refused_total{{reason="{reason}"}} 1.0')
        assert logged.lines(node="a", event="not let in", peer="c", reason=reason)

    on_scene(tmp_path, play)


LATER_FRAMES: dict[str, tuple[Callable[[int], bytes], str, bool]] = {
    "garbage": (lambda _: b"\xff" * 40, "garbage", True),
    "empty": (lambda _: b"", "garbage", True),
    "oversized": (lambda _: b"\x00" * (LARGEST_FRAME + 1), "oversized", True),
    "not a number": (lambda now: a_release(now, nan), "invalid value", False),
    "infinite": (lambda now: a_release(now, inf), "invalid value", False),
    "absurd": (lambda now: a_release(now, 1e101), "invalid value", False),
    "no round": (lambda _: a_release(0), "invalid value", False),
    "old": (lambda _: a_release(1), "old round", False),
    "far ahead": (lambda now: a_release(now + 1000), "future round", False),
    "no round there is": (lambda _: a_release(2**64 - 1), "invalid value", False),
}


@pytest.mark.parametrize("what", LATER_FRAMES)
def test_a_frame_that_can_not_be_taken_is_left_out(
    what: str, tmp_path: Path, logged: Logged
) -> None:
    frame_in, reason, ends = LATER_FRAMES[what]

    async def play(scene: Scene) -> None:
        await until(lambda: scene.a.status().round > 3)
        async with scene.calling() as c:
            assert (await c.hello()).WhichOneof("content") == "welcome"
            await c.say(frame_in(scene.a.status().round))
            refusal = (await c.hear()).refusal
            name = pb.Reason.Name(refusal.reason)
            assert name == f"REASON_{reason.upper().replace(' ', '_')}"
            assert counts(scene.a, f'messages_refused_total{{peer="c",reason="{reason}"}} 1.0')
            (line,) = logged.lines(node="a", event="message refused", peer="c", reason=reason)
            assert line["why"] == f"from c: {refusal.detail}"
            if ends:
                assert await c.is_over()
            else:
                number = scene.a.status().round + 1
                await c.tell(ReleaseMessage(round=number, release=None), sequence=2)
                await until(lambda: received(scene.a, "c") >= 1)

    on_scene(tmp_path, play)


def test_a_sequence_number_that_was_there_is_a_duplicate(tmp_path: Path, logged: Logged) -> None:
    async def play(scene: Scene) -> None:
        await until(lambda: scene.a.status().round > 3)
        async with scene.calling() as c:
            await c.hello()
            await c.say(a_release(1))
            assert (await c.hear()).refusal.reason == pb.REASON_OLD_ROUND
            logged.anew()
            await c.say(a_release(1))
            refusal = (await c.hear()).refusal
            assert refusal.reason == pb.REASON_DUPLICATE
            assert refusal.detail == "sequence: saw 1, expected more than 1"
        assert counts(scene.a, 'messages_refused_total{peer="c",reason="duplicate"} 1.0')
        assert logged.lines(node="a", event="message refused", peer="c", reason="duplicate")

    on_scene(tmp_path, play)


def test_more_than_grpc_takes_in_breaks_that_session_alone(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        async with scene.calling() as c:
            await c.hello()
            await c.say(b"\x00" * (LARGEST_PACKET + 1))
            assert await c.is_over()
        async with scene.calling() as c:
            assert (await c.hello()).WhichOneof("content") == "welcome"

    on_scene(tmp_path, play)


def test_another_configuration_is_not_let_in(tmp_path: Path, logged: Logged) -> None:
    async def play(scene: Scene) -> None:
        async with scene.calling() as c:
            refusal = (await c.hello(interval="60.0")).refusal
            assert refusal.reason == pb.REASON_OTHER_CONFIGURATION
            assert refusal.detail.startswith("agreed.interval: saw '60.0', expected '0.1'")
            assert await c.is_over()
        reason = "other configuration"
        assert counts(scene.a, f'sessions_refused_total{{reason="{reason}"}} 1.0')
        (line,) = logged.lines(node="a", event="not let in", peer="c", reason=reason)
        assert "agreed.interval" in line["why"]

    on_scene(tmp_path, play)


STALE: dict[str, tuple[int, int]] = {"start": (4, 900), "round": (5, 899), "restored": (6, 899)}


@pytest.mark.parametrize("older", STALE)
def test_an_older_standing_is_not_let_in(older: str, tmp_path: Path, logged: Logged) -> None:
    async def play(scene: Scene) -> None:
        async with scene.calling() as c:
            await c.hello(epoch=5, round_=900)
        await scene.alone()
        async with scene.calling() as c:
            epoch, round_ = STALE[older]
            refusal = (await c.hello(epoch, round_)).refusal
            assert refusal.reason == pb.REASON_STALE_STATE
            assert await c.is_over()
        assert counts(scene.a, 'sessions_refused_total{reason="stale state"} 1.0')
        assert logged.lines(node="a", event="not let in", peer="c", reason="stale state")
        async with scene.calling() as c:
            assert (await c.hello(5, 900)).WhichOneof("content") == "welcome"

    on_scene(tmp_path, play)


@pytest.mark.parametrize(("epoch", "round_"), [(2**63, 1), (1, 2**64 - 1)])
def test_a_standing_that_nobody_can_have_is_not_let_in(
    epoch: int, round_: int, tmp_path: Path, logged: Logged
) -> None:
    async def play(scene: Scene) -> None:
        async with scene.calling() as c:
            refusal = (await c.hello(epoch, round_)).refusal
            assert refusal.reason == pb.REASON_INVALID_VALUE
        assert counts(scene.a, 'sessions_refused_total{reason="invalid value"} 1.0')
        assert logged.lines(node="a", event="not let in", peer="c", reason="invalid value")

    on_scene(tmp_path, play)


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
