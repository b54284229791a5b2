"""Across broken sessions every frame arrives once, as the same bytes."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from grpc.aio._call import StreamStreamCall

from colme.node.node import Node
from colme.node.owner.status import NeighbourStatus
from colme.node.session.rehearsal import check
from colme.node.wire import neighbour_pb2 as pb
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.messages import ConsensusMessage, ReleaseMessage, RoundMessage, SizeMessage
from support.boarded import board_of, orders, release, somebody
from support.boards import written
from support.neighbours import Caller, Hearer, Neighbours, calling, hearing, welcome
from support.waiting import PATIENCE, until

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
    """c hangs up after frame 1, answers meanwhile, and lets a in again: it has frame 1, then 3."""
    two = Neighbours(tmp_path, "a", "c")
    trust = two.trust("c", "a")
    has = [0]
    hearer = Hearer(answer=lambda: [welcome(has[0], epoch=1 if has[0] else 0)])
    config = two.in_rounds("a", "c", agreed=FREE, pace=PATIENT)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(hearing(hearer, trust, two.address("c")))
        a = await stack.enter_async_context(Node(config))
        c = await stack.enter_async_context(calling(trust, "a", config))
        await c.hello()
        await until(lambda: hearer.sessions and numbers(hearer.sessions[-1]) == [1])
        for sequence, message in enumerate(answers(1), start=1):
            await c.tell(message, sequence)
        await until(lambda: a.status().round == 2)
        await until(lambda: len(hearer.sessions[-1]) == 4)
        for known in (1, 3, 4):
            has[0] = known
            sessions = len(hearer.sessions)
            hearer.hang_up()
            await until(lambda n=sessions: len(hearer.sessions) > n)  # type: ignore[misc]
            missing = list(range(known + 1, 5))
            await until(lambda n=missing: numbers(hearer.sessions[-1]) == n)  # type: ignore[misc]
            assert hearer.sessions[-1] == hearer.sessions[0][known:]
        # What comes next goes on from there, once.
        for sequence, message in enumerate(answers(2), start=4):
            await c.tell(message, sequence)
        await until(lambda: numbers(hearer.sessions[-1]) == [5, 6, 7])


async def test_a_session_that_ends_while_a_frame_is_written_ends_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gRPC raises InvalidStateError then; which of the two is first is a matter of luck."""
    write, over = StreamStreamCall.write, iter([False, True])

    async def written_too_late(self: Any, data: bytes) -> None:
        if next(over, False):  # The first is the hello.
            raise asyncio.InvalidStateError("RPC already finished.")
        await write(self, data)

    two = Neighbours(tmp_path, "a", "c")
    config = two.config("a", "c")
    remembered = iter([0])
    hearer = Hearer(answer=lambda: [welcome(epoch=next(remembered, 1))])
    monkeypatch.setattr(StreamStreamCall, "write", written_too_late)
    async with hearing(hearer, two.trust("c", "a"), two.address("c")), Node(config) as a:
        await until(lambda: len(hearer.sessions) == 2 and hearer.sessions[1])
        assert a.status().troubles == ()


async def said(c: Caller, epoch: int) -> int:
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
            assert (await second.hello()).WhichOneof("content") == "welcome"


async def test_connections_that_are_over_are_forgotten(tmp_path: Path) -> None:
    """However they ended: else a new one from the same port would pass for a stranger's."""
    two = Neighbours(tmp_path, "a", "c")
    trust = two.trust("c", "a")
    config = two.config("a", "c")
    async with Node(config) as a:
        connections = a._parts.neighbourhood._listener._connections
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


def refusal(reason: int, **remembered: int) -> bytes:
    told = pb.Refusal(detail="no", remembered=pb.Standing(**remembered))
    told.reason = reason  # type: ignore[assignment]
    return pb.Reply(refusal=told).SerializeToString()


FALSE_ANSWERS: dict[str, list[bytes]] = {
    "garbage": [b"\xff" * 30],
    "nothing": [b""],
    "garbage later": [welcome(), b"\xff" * 30],
    "a reason of the future": [refusal(99)],
    "a reason of the future, later": [welcome(), refusal(99)],
    "a standing nobody can have": [welcome(epoch=2**63)],
    "a refusal nobody can mean": [refusal(pb.REASON_STALE_STATE, round=2**64 - 1)],
    "a number of the future": [welcome(received=2**64 - 1)],
}


def met(neighbour: NeighbourStatus) -> bool:
    return neighbour.connected or neighbour.last_error is not None


@pytest.mark.parametrize("what", FALSE_ANSWERS)
async def test_whatever_a_neighbour_answers_the_node_goes_on(what: str, tmp_path: Path) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    hearer = Hearer(answer=lambda: FALSE_ANSWERS[what])
    async with AsyncExitStack() as stack:
        trust = three.trust("c", "a")
        await stack.enter_async_context(hearing(hearer, trust, three.address("c")))
        a = await stack.enter_async_context(Node(three.config("a", "b", "c")))
        b = await stack.enter_async_context(Node(three.config("b", "a")))
        await until(lambda: met(a.status().neighbours[1]))
        await release(a)
        await until(lambda: orders(a) == orders(b))
        assert not a._parts.failure.done()
