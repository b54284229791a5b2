"""Bad input about boards: each has a reason, is counted and logged, and the node goes on."""

import asyncio
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest

from colme.errors import MessageError
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import Reason, Refused, message_in, parse_frame
from colme.protocol.board.board import LAST_ORIGIN, Page
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Entry, Proof
from colme.protocol.messages import ReleaseMessage
from support.boarded import B, Boarded, boarded, somebody
from support.boards import written
from support.refusing import refused
from support.waiting import until

GOOD = written(somebody(0), sequence=2)


async def goes_on(one: Boarded) -> None:
    """What comes next is taken as if nothing had been."""
    one.tell("b", GOOD)
    one.driver.start(0)
    await until(lambda: GOOD in one.records_to("c"))
    assert one.failures == []


def is_refused(entry: Entry, reason: Reason, folder: Path) -> None:
    async def check() -> None:
        async with boarded(folder) as one:
            with refused(Refused, reason=reason):
                one.tell("b", entry)
            assert entry.origin not in one.board
            await goes_on(one)

    asyncio.run(check())


def test_a_forged_signature(tmp_path: Path) -> None:
    honest = written(somebody(1))
    is_refused(replace(honest, mean=0.75), Reason.BAD_SIGNATURE, tmp_path)


def test_a_proof_with_a_forged_signature(tmp_path: Path) -> None:
    """Nobody can bar another by making its contradiction up."""
    honest = written(somebody(1))
    made_up = Proof.from_pair(honest, replace(honest, mean=0.75))
    is_refused(made_up, Reason.BAD_SIGNATURE, tmp_path)


@pytest.mark.parametrize("mean", [1e6, -1e99])
def test_an_absurd_mean(tmp_path: Path, mean: float) -> None:
    is_refused(written(somebody(1), mean=mean), Reason.INVALID_VALUE, tmp_path)


async def test_the_rest_of_a_message_is_taken(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        absurd = [written(somebody(number), mean=1e6) for number in (1, 2)]
        with pytest.raises(Refused):
            one.tell("b", absurd[0], GOOD, absurd[1])
        assert [entry.origin for entry in one.board] == [GOOD.origin]
        assert one.counted(Reason.INVALID_VALUE) == 1, "the other is for the listener to count"


def in_a_frame(*entries: bytes) -> pb.Frame:
    records = {"entries": list(entries)}
    return parse_frame("b", pb.Frame(sequence=1, records=records).SerializeToString())


def test_a_number_that_is_none() -> None:
    """Whoever writes one can't build the record: here its bytes are changed."""
    honest = written(somebody(1))
    data = honest.to_bytes()
    at = data.index(bytes.fromhex("3fe0000000000000"))  # 0.5, its mean
    changed = data[:at] + bytes.fromhex("7ff8000000000000") + data[at + 8 :]
    assert honest.mean == 0.5
    with refused(Refused, "mean", reason=Reason.INVALID_VALUE):
        message_in("b", in_a_frame(changed))
    with refused(MessageError, "mean"):
        written(somebody(1), mean=nan)


@pytest.mark.parametrize("size", [0, 1, 40, 178, 180, 2000])
def test_bytes_that_are_no_entry(size: int) -> None:
    with refused(Refused, reason=Reason.INVALID_VALUE):
        message_in("b", in_a_frame((GOOD.to_bytes() * 20)[:size]))


def test_a_proof_that_proves_nothing() -> None:
    """Two records of two places, of two origins, or one twice, are no contradiction."""
    first, later = written(somebody(1)), written(somebody(1), sequence=2)
    for other in (first, later, written(somebody(2))):
        one = first.to_bytes()
        data = b"colme proof " + len(one).to_bytes(2) + one + other.to_bytes()
        with refused(Refused, reason=Reason.NO_PROOF):
            message_in("b", in_a_frame(data))


async def test_an_older_record_is_noted_and_changes_nothing(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        one.tell("b", GOOD)
        one.tell("c", written(somebody(0), sequence=1))
        assert one.counted(Reason.OLD_RECORD, "c") == 0, "b was quicker, no more"
        one.tell("b", written(somebody(0), sequence=1))
        assert one.counted(Reason.OLD_RECORD, "b") == 1
        assert list(one.board) == [GOOD]
        one.driver.start(0)
        await until(lambda: GOOD in one.records_to("c"))


async def test_a_count_far_above_everybodys_is_noted(tmp_path: Path) -> None:
    """It is taken: what it claims is capped where it counts (`inference.tables`)."""
    async with boarded(tmp_path) as one:
        one.tell("c", *(written(somebody(number)) for number in range(6)))
        one.driver.start(0)
        await until(lambda: len(one.records_to("b")) == 6)
        one.tell("b", written(somebody(7), count=8 * 1000), written(somebody(8), count=8001))
        assert one.counted(Reason.LARGE_COUNT) == 1


async def test_a_digest_that_never_ends(tmp_path: Path) -> None:
    async with boarded(tmp_path, interval=3600) as one:
        one.driver.start(0)
        await until(lambda: one.driver.agent.round == 1)
        page = Page(after="", last=LAST_ORIGIN, heads=())
        while one.peers["b"].pages < 72:  # Four whole boards, and somewhat more.
            one.driver.receive("b", DigestMessage(page=page, answer=False))
        with refused(Refused, reason=Reason.ENDLESS_DIGEST):
            one.driver.receive("b", DigestMessage(page=page, answer=False))
        one.driver.receive("c", DigestMessage(page=page, answer=False))
        one.driver._forget_timers()
        one.driver._tick()  # Whoever has been answered may ask again.
        one.driver.receive("b", DigestMessage(page=page, answer=False))


async def test_a_message_of_another_algorithm(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        with refused(Refused, reason=Reason.OTHER_CONFIGURATION):
            one.driver.receive("b", ReleaseMessage(round=1, release=None))
        await goes_on(one)


async def test_an_origin_that_is_not_on_the_roster(tmp_path: Path) -> None:
    async with boarded(tmp_path, roster=(GOOD.origin,)) as one:
        with refused(Refused, reason=Reason.UNKNOWN_ORIGIN):
            one.tell("b", written(somebody(1)))
        one.tell("b", written(B))  # A neighbour's certificate vouches for it.
        assert written(B).origin in one.board
        await goes_on(one)


async def test_a_neighbour_that_invents_agents_can_invent_so_many(tmp_path: Path) -> None:
    """And takes nobody else's place: those behind other edges are taken as before."""
    async with boarded(tmp_path, behind=5) as one:
        invented = [written(somebody(number)) for number in range(100, 120)]
        with refused(Refused, reason=Reason.TOO_MANY_ORIGINS):
            one.tell("b", *invented)
        assert len(one.board) == len(one.peers["b"].vouched_for) == 5
        one.tell("b", written(B))
        newer = written(somebody(100), sequence=2)
        one.tell("b", newer)  # What it vouched for may go on.
        assert one.board.get(newer.origin) == newer
        one.tell("c", GOOD)
        one.tell("b", GOOD)
        assert one.peers["c"].vouched_for == {GOOD.origin}


async def test_a_restart_does_not_give_it_room_for_more(tmp_path: Path) -> None:
    async with boarded(tmp_path, behind=5) as one:
        one.driver.start(0)
        one.tell("b", *(written(somebody(number)) for number in range(5)))
        await until(lambda: len(one.records_to("c")) == 5)
    async with boarded(tmp_path, behind=5) as one:
        with pytest.raises(Refused):
            one.tell("b", written(somebody(9)))


async def test_a_contradiction_bars_its_author_and_is_passed_on(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        one.tell("b", written(somebody(1), mean=0.25))
        one.tell("c", written(somebody(1), mean=0.75))
        await until(lambda: any(isinstance(entry, Proof) for entry in one.records_to("c")))
        origin = written(somebody(1)).origin
        assert isinstance(one.board.get(origin), Proof)
        assert b"colme_origins_barred 1.0" in one.metrics.text()
    async with boarded(tmp_path) as one:
        assert isinstance(one.board.get(origin), Proof), "also after a restart"


def test_what_fits_into_no_frame_is_several_messages() -> None:
    """A neighbour's largest batch is cut into frames of at most 16 KiB, nothing lost."""
    from colme.node.wire.codec import LARGEST_FRAME, encode, parts_of

    entries = tuple(written(somebody(number)) for number in range(256))
    parts = parts_of(RecordsMessage(entries))
    frames = [encode(part, 1) for part in parts]
    assert max(map(len, frames)) <= LARGEST_FRAME
    heard = [message_in("b", parse_frame("b", frame)) for frame in frames]
    assert [entry for part in heard for entry in part.entries] == list(entries)  # type: ignore[union-attr]
