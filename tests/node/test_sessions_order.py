"""Across broken sessions every frame arrives once, as the same bytes."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from grpc.aio._call import StreamStreamCall

from colme.node.node import Node
from colme.node.session import link
from colme.node.session.rehearsal import check
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import encode
from colme.protocol.messages import ConsensusMessage, ReleaseMessage, RoundMessage, SizeMessage
from support.neighbours import Hearer, Neighbours, Other, calling, hearing, welcome
from support.waiting import PATIENCE, until

FREE = {"rounds": "free"}
PATIENT = {"deadline": PATIENCE}


@pytest.fixture(autouse=True)
def call_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.02)


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
    config = two.config("a", "c", agreed=FREE, pace=PATIENT)
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
    config = two.config("a", "c", agreed=FREE, pace=PATIENT)
    hearer, remembered = Hearer(config), iter([0])
    hearer.answer = lambda: hearer.usual(remembered=(next(remembered, 1), 0))
    monkeypatch.setattr(StreamStreamCall, "write", written_too_late)
    async with hearing(hearer, two.trust("c", "a"), two.address("c")), Node(config) as a:
        await until(lambda: len(hearer.sessions) == 2 and numbers(hearer.sessions[1]) == [1])
        assert a.status().troubles == ()


async def test_what_is_posted_while_nobody_listens_arrives_once_somebody_does(
    tmp_path: Path,
) -> None:
    two = Neighbours(tmp_path, "a", "c")
    trust = two.trust("c", "a")
    config = two.config("a", "c", agreed=FREE, pace=PATIENT)
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(Node(config))
        c = await stack.enter_async_context(calling(trust, "a", config))
        await c.hello()
        await until(lambda: a.status().round == 1)
        await c.tell(answers(1)[0], 1)
        await until(lambda: a.status().phase == "size")
        await c.session.close("away")
        hearer = Hearer(config)
        hearer.answer = lambda: hearer.usual(remembered=(1, 0), round_=1)
        await stack.enter_async_context(hearing(hearer, trust, two.address("c")))
        await until(lambda: hearer.sessions and numbers(hearer.sessions[-1]) == [1, 2])


async def said(c: Other, epoch: int) -> int:
    """The number of c's last frame that a has taken in."""
    return (await c.hello(epoch=epoch, round_=1)).welcome.received


async def test_a_neighbour_that_reconnects_is_told_what_has_been_received(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "c")
    trust = two.trust("c", "a")
    config = two.config("a", "c", agreed=FREE, pace=PATIENT)
    async with Node(config) as a:
        await until(lambda: a.status().round == 1)
        async with calling(trust, "a", config) as c:
            assert await said(c, epoch=1) == 0
            for sequence, message in enumerate(answers(1)[:2], start=1):
                await c.tell(message, sequence)
            await until(lambda: a.status().phase == "consensus")
        async with calling(trust, "a", config) as c:
            assert await said(c, epoch=1) == 2
            await c.tell(answers(1)[2], 3)
            await until(lambda: a.status().round == 2)
        async with calling(trust, "a", config) as c:
            assert await said(c, epoch=2) == 0
        assert "messages_refused_total{" not in a.metrics.text().decode()


async def test_a_new_session_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "c")
    trust = two.trust("c", "a")
    config = two.config("a", "c", agreed=FREE, pace=PATIENT)
    async with Node(config), calling(trust, "a", config) as first:
        await first.hello()
        async with calling(trust, "a", config) as second:
            await second.hello()
            async with asyncio.timeout(PATIENCE / 2):
                assert await first.is_over()
            for _ in range(2):
                await second.tell(answers(1)[0], 1)
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


async def test_nodes_run_their_rounds_and_one_that_was_away_joins_again(tmp_path: Path) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    ring = {"a": "bc", "b": "ac", "c": "ab"}
    last = 60

    def node(name: str) -> Node:
        pace = {"last_round": last, "deadline": 1.0}
        return Node(three.config(name, *ring[name], agreed=FREE, pace=pace))

    async with AsyncExitStack() as stack:
        a, b = [await stack.enter_async_context(node(name)) for name in "ab"]
        async with node("c") as c:
            await until(lambda: c.status().round >= 10)
        async with node("c") as c:
            for one in (a, b, c):
                await until(lambda n=one: n.status().ended)  # type: ignore[misc]
                assert one.status().round == last
                assert one.status().samples.taken <= last
            assert c.status().epoch == 2


def refusal(reason: int) -> bytes:
    told = pb.Refusal(detail="no")
    told.reason = reason  # type: ignore[assignment]
    return pb.Frame(refusal=told).SerializeToString()


FALSE_ANSWERS: dict[str, Callable[[Hearer], list[bytes]]] = {
    "garbage": lambda _: [b"\xff" * 30],
    "nothing": lambda _: [b""],
    "garbage after a hello": lambda c: [c.usual()[0], b"\xff" * 30],
    "garbage later": lambda c: [*c.usual(), b"\xff" * 30],
    "a message first": lambda c: [c.usual()[0], encode(answers(1)[0], 1)],
    "a reason of the future": lambda c: [c.usual()[0], refusal(99)],
    "a reason of the future, later": lambda c: [*c.usual(), refusal(99)],
    "a standing nobody can have": lambda c: c.usual(remembered=(2**63, 0)),
    "a refusal nobody can mean": lambda c: [c.usual()[0], refusal(pb.REASON_STALE_STATE)],
    "a number of the future": lambda c: [c.usual()[0], welcome(received=2**64 - 1)],
    "a round nobody can be in": lambda c: [c.usual()[0], welcome(round_=2**64 - 1)],
    "an entry that is none": lambda c: c.usual(yours=b"\xff" * 30),
}


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
        await until(lambda: hearer.sessions)
        number = max(a.status().round, 1)
        failure = asyncio.create_task(a.failed())
        await until(lambda: a.status().round > number + 3 or failure.done())
        assert not failure.done(), failure.exception()
        failure.cancel()
        told = b.status().neighbours[0].round
        await until(lambda: b.status().neighbours[0].round > told)
