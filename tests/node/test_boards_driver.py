"""A board's driver: when something is said, what stops it, and what is refused of neighbours."""

from dataclasses import replace
from math import nan
from pathlib import Path

import pytest

from colme.errors import MessageError, StaleStateError, StoreError
from colme.node.session.outbox import MOST_WAITING, Outbox
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import Reason, Refused, message_in, parse_frame
from colme.protocol.board.board import LAST_ORIGIN, Page
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Entry, Proof, origin_of_key
from colme.protocol.messages import ReleaseMessage
from support.boarded import ME, B, Boarded, boarded, somebody
from support.boards import written
from support.refusing import refused
from support.waiting import quiet, until

MINE = origin_of_key(ME.key)
FULL = StoreError("state", "disk full", "space")


async def test_what_is_passed_on_is_on_disk_first(tmp_path: Path) -> None:
    """A power cut everywhere must not make all forget how far somebody had come."""
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        record = written(somebody(1), sequence=3)
        one.tell("b", record)
        await until(lambda: one.records_to("c"))
        (said,) = [said for said in one.posts if record in getattr(said.message, "entries", ())]
        assert said.peer == "c", "whoever brought it has it"
        assert said.entries[record.origin] == record.to_bytes()


async def test_where_there_is_nothing_to_say_nothing_is_said(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        one.tell("b", written(somebody(1)))
        await until(lambda: one.records_to("c"))
        before, ticks = len(one.posts), one.driver.agent.round
        one.tell("b", written(somebody(1)))  # The same again is no news.
        one.tell("c", written(somebody(1)))
        await until(lambda: one.driver.agent.round > ticks)
        await quiet()
        assert len(one.posts) == before


async def test_all_that_comes_within_an_interval_goes_out_together(tmp_path: Path) -> None:
    async with boarded(tmp_path, interval=3600) as one:
        one.driver.start(0)
        await until(lambda: one.driver.agent.round == 1)
        for number in range(20):
            one.tell("b", written(somebody(number)))
        await quiet()
        assert one.driver.agent.round == 1
        assert one.records_to("c") == []
        one.tick()
        await until(lambda: one.records_to("c"))
        assert len(one.records_to("c")) == 20


async def test_a_newer_record_of_its_own_stops_it_before_noise_is_drawn(tmp_path: Path) -> None:
    """Whoever brings it: here one that is no author of it, and no pinned key."""
    async with boarded(tmp_path) as one:
        await one.driver.observe([0.25] * 40)
        one.tell("c", written(ME, sequence=3))
        one.driver.start(0)
        await until(lambda: len(one.failures) == 2)  # When it comes, and at the tick.
        assert isinstance(one.failures[0], StaleStateError)
        assert "--state-lost" in str(one.failures[0])
        assert one.draws == []
        assert one.records_to("b") == one.records_to("c") == []
        assert all(said.stored.released == 0 for said in one.posts)


async def test_what_came_since_the_last_tick_is_stored_when_it_stops(tmp_path: Path) -> None:
    """Its publisher's state could be put back to an older one, and nobody would notice."""
    async with boarded(tmp_path) as one:
        news = written(somebody(0))
        one.tell("b", news)
        await one.driver.flush()
    async with boarded(tmp_path) as one:
        assert one.board.get(news.origin) == news


async def test_a_newer_record_of_its_own_is_not_forgotten_by_a_restart(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        await one.driver.observe([0.25] * 40)
        one.tell("c", written(ME, sequence=3))
        await one.driver.flush()
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        await until(lambda: one.failures)
        assert one.draws == []


async def test_a_restarted_node_releases_nothing_before_its_neighbours_have_answered(
    tmp_path: Path,
) -> None:
    async with boarded(tmp_path) as one:
        await one.driver.observe([0.25] * 40)
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        await until(lambda: one.posts)
        await quiet()
        assert one.draws == []
        one.answer("c")
        await quiet()
        assert one.draws == []
        one.answer("b")
        await until(lambda: one.records_to("b") and one.records_to("c"))
        assert len(one.draws) == one.driver.agent.counts.blocks


@pytest.mark.parametrize("known", [0, 7])
async def test_what_a_neighbour_says_of_me_is_compared_before_anything_is_said(
    tmp_path: Path, known: int
) -> None:
    async with boarded(tmp_path) as one:
        await one.driver.observe([0.25] * 40)
        one.driver.start(0)
        await until(lambda: one.records_to("b"))
        mine = one.driver.agent.counts.blocks
        one.driver.compare("b", one.board.get(MINE))  # type: ignore[arg-type]
        if known:
            with refused(StaleStateError, "state"):
                one.driver.compare("c", written(ME, sequence=mine + known))


async def test_a_lost_state_begins_in_a_higher_incarnation(tmp_path: Path) -> None:
    far = 2**40
    async with boarded(tmp_path, state_lost=True) as one:
        one.driver.compare("b", written(ME, incarnation=far, sequence=3))
        await one.driver.begin_anew()
        one.driver.start(0)
        one.tell("c", written(ME, incarnation=far, sequence=3))
        await one.driver.observe([0.25] * 40)
        await until(lambda: one.records_to("b"))
        assert one.records_to("b")[-1].order[0] == far + 1
        assert one.failures == []
    async with boarded(tmp_path) as one:
        assert one.driver.agent.counts.released
        assert one.board.get(MINE).order[0] == far + 1  # type: ignore[union-attr]


async def test_a_lost_state_that_nobody_knows_of_is_above_the_first(tmp_path: Path) -> None:
    """Somebody far away may know: its record must not look newer than those to come."""
    async with boarded(tmp_path, state_lost=True) as one:
        await one.driver.begin_anew()
        assert one.store.incarnation > 1_700_000_000


async def test_a_restart_keeps_the_board_and_asks_what_has_happened_since(tmp_path: Path) -> None:
    records = [written(somebody(number)) for number in range(5)]
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        one.tell("b", *records)
        await until(lambda: len(one.records_to("c")) == 5)
    async with boarded(tmp_path) as one:
        assert {entry.origin for entry in one.board} == {record.origin for record in records}
        assert one.introduced_by("b") == {record.origin for record in records}
        one.driver.start(0)
        await until(lambda: len(one.posts) == 2)
        assert all(isinstance(said.message, DigestMessage) for said in one.posts)


async def test_with_a_neighbour_goes_all_that_it_alone_vouched_for(tmp_path: Path) -> None:
    invented, real = written(somebody(1)), written(somebody(2))
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        one.tell("c", invented)
        one.tell("b", real)
        await until(lambda: one.records_to("b") and one.records_to("c"))
    async with boarded(tmp_path, neighbours=("b",)) as one:
        assert [entry.origin for entry in one.board] == [real.origin]
        one.driver.start(0)
        one.answer("b")
        await one.driver.observe([0.5] * 40)
        await until(lambda: one.records_to("b"))
    async with boarded(tmp_path) as one:
        assert invented.origin not in one.board, "nor does it come back with the neighbour"


async def test_a_neighbour_that_reads_too_slowly_is_sent_a_digest(tmp_path: Path) -> None:
    """What waited for it is gone: nothing else would tell it, ever."""
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        await until(lambda: len(one.posts) == 2)
        one.driver.unsaid("b")
        await until(lambda: len(one.posts) == 3)
        assert one.posts[-1].peer == "b"
        assert isinstance(one.posts[-1].message, DigestMessage)


def test_an_outbox_keeps_so_much_and_no_more() -> None:
    outbox = Outbox()
    message = RecordsMessage((written(somebody(1)),))
    assert outbox.post(message), "without a session there is nothing to keep"
    assert outbox.next() is None
    outbox.open(pb.Welcome())
    posted = 0
    while outbox.post(message):
        posted += 1
        assert posted <= MOST_WAITING
    assert posted == MOST_WAITING
    assert outbox.next() is None, "all of it is dropped"
    assert outbox.post(message)
    assert outbox.next() is not None


GOOD = written(somebody(0), sequence=2)


async def goes_on(one: Boarded) -> None:
    """What comes next is taken as if nothing had been."""
    one.tell("b", GOOD)
    one.driver.start(0)
    await until(lambda: GOOD in one.records_to("c"))
    assert one.failures == []


HONEST = written(somebody(1))
FORGED = replace(HONEST, mean=0.75)
REFUSED: dict[str, tuple[Entry, Reason]] = {
    "a forged signature": (FORGED, Reason.BAD_SIGNATURE),
    # Nobody can bar another by making its contradiction up.
    "a proof with a forged signature": (Proof.from_pair(HONEST, FORGED), Reason.BAD_SIGNATURE),
    "an absurd mean": (written(somebody(1), mean=1e6), Reason.INVALID_VALUE),
    "an absurd negative mean": (written(somebody(1), mean=-1e99), Reason.INVALID_VALUE),
}


@pytest.mark.parametrize(("entry", "reason"), REFUSED.values(), ids=list(REFUSED))
async def test_a_bad_entry_is_left_out(entry: Entry, reason: Reason, tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        with refused(Refused, reason=reason):
            one.tell("b", entry)
        assert entry.origin not in one.board
        await goes_on(one)


async def test_the_rest_of_a_message_is_taken(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        absurd = [written(somebody(number), mean=1e6) for number in (1, 2)]
        with pytest.raises(Refused):
            one.tell("b", absurd[0], GOOD, absurd[1])
        assert [entry.origin for entry in one.board] == [GOOD.origin]
        assert one.noted(Reason.INVALID_VALUE), "the other is for the listener to count"


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
        assert not one.noted(Reason.OLD_RECORD, "c"), "b was quicker, no more"
        one.tell("b", written(somebody(0), sequence=1))
        assert one.noted(Reason.OLD_RECORD)
        assert list(one.board) == [GOOD]
        one.driver.start(0)
        await until(lambda: GOOD in one.records_to("c"))


async def test_a_count_far_above_everybodys_is_noted(tmp_path: Path) -> None:
    """It is taken: what it claims is capped where it counts (`inference.answers`)."""
    async with boarded(tmp_path) as one:
        one.tell("c", *(written(somebody(number)) for number in range(6)))
        one.driver.start(0)
        await until(lambda: len(one.records_to("b")) == 6)
        one.tell("b", written(somebody(7), count=8 * 1000), written(somebody(8), count=8001))
        assert one.noted(Reason.LARGE_COUNT)


async def test_a_digest_that_never_ends(tmp_path: Path) -> None:
    async with boarded(tmp_path, interval=3600) as one:
        one.driver.start(0)
        await until(lambda: one.driver.agent.round == 1)
        page = Page(after="", last=LAST_ORIGIN, heads=())
        for _ in range(72):  # Four whole boards, and somewhat more.
            one.driver.receive("b", DigestMessage(page=page, answer=False))
        with refused(Refused, reason=Reason.ENDLESS_DIGEST):
            one.driver.receive("b", DigestMessage(page=page, answer=False))
        one.driver.receive("c", DigestMessage(page=page, answer=False))
        one.tick()  # Whoever has been answered may ask again.
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
        assert len(one.board) == len(one.introduced_by("b")) == 5
        one.tell("b", written(B))
        newer = written(somebody(100), sequence=2)
        one.tell("b", newer)  # What it vouched for may go on.
        assert one.board.get(newer.origin) == newer
        one.tell("c", GOOD)
        one.tell("b", GOOD)
        assert one.introduced_by("c") == {GOOD.origin}


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


async def test_who_came_first_is_stored_and_stays_whoever_has_news(tmp_path: Path) -> None:
    numbers = (3, 1, 2)
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        for number in numbers:
            one.tell("b", written(somebody(number)))
            one.tick()
        one.tell("b", written(somebody(3), sequence=2))
        one.tick()
        await one.driver.flush()
    async with boarded(tmp_path) as one:
        expected = [written(somebody(number)).origin for number in numbers]
        assert list(one.driver.agent.exchange.via) == expected


async def test_an_allowlist_removes_all_that_it_does_not_list_from_memory_and_disk(
    tmp_path: Path,
) -> None:
    """However many a neighbour has invented before there was one."""
    listed = written(somebody(1)).origin
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        one.tell("b", *(written(somebody(number)) for number in range(40)))
        one.tick()
        await one.driver.flush()
        assert len(one.store.entries) == 40
    async with boarded(tmp_path, roster=(listed,)) as one:
        assert [entry.origin for entry in one.board] == [listed]
        one.driver.start(0)
        one.tick()
        await one.driver.flush()
        assert list(one.store.entries) == [listed]
