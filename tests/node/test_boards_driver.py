"""A board's driver: what is stored before it is said, when something is said, and what stops it."""

from pathlib import Path
from typing import Any

import pytest

from colme.errors import StaleStateError, StoreError
from colme.node import driving
from colme.node.session.outbox import MOST_WAITING, Outbox
from colme.node.wire import neighbour_pb2 as pb
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import origin_of_key
from support.boarded import ME, boarded, somebody
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
        (said,) = [said for said in one.said if record in getattr(said.message, "entries", ())]
        assert said.peer == "c", "whoever brought it has it"
        assert said.stored[record.origin] == record.to_bytes()


async def test_a_release_is_on_disk_with_its_ledger_before_it_is_said(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        await one.driver.observe([0.25] * 40)
        await until(lambda: one.records_to("b"))
        for said in one.said:
            for entry in getattr(said.message, "entries", ()):
                assert said.stored[MINE] == entry.to_bytes()
                assert said.released == entry.count


async def test_where_there_is_nothing_to_say_nothing_is_said(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        one.tell("b", written(somebody(1)))
        await until(lambda: one.records_to("c"))
        before, ticks = len(one.said), one.driver.agent.round
        one.tell("b", written(somebody(1)))  # The same again is no news.
        one.tell("c", written(somebody(1)))
        await until(lambda: one.driver.agent.round > ticks)
        await quiet()
        assert len(one.said) == before


async def test_all_that_comes_within_an_interval_goes_out_together(tmp_path: Path) -> None:
    async with boarded(tmp_path, interval=3600) as one:
        one.driver.start(0)
        await until(lambda: one.driver.agent.round == 1)
        for number in range(20):
            one.tell("b", written(somebody(number)))
        await quiet()
        assert one.driver.agent.round == 1
        assert one.records_to("c") == []
        one.driver._forget_timers()
        one.driver._tick()
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
        assert all(said.released == 0 for said in one.said)


async def test_a_newer_record_of_its_own_is_not_forgotten_by_a_restart(tmp_path: Path) -> None:
    async with boarded(tmp_path) as one:
        await one.driver.observe([0.25] * 40)
        one.tell("c", written(ME, sequence=3))
        await one.driver.flush()
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        await until(lambda: one.failures)
        assert one.draws == []


async def test_a_restarted_node_releases_nothing_before_a_neighbour_has_answered(
    tmp_path: Path,
) -> None:
    async with boarded(tmp_path) as one:
        await one.driver.observe([0.25] * 40)
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        await until(lambda: one.said)
        await quiet()
        assert one.draws == []
        one.answer("c")
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
        assert one.peers["b"].vouched_for == {record.origin for record in records}
        one.driver.start(0)
        await until(lambda: len(one.said) == 2)
        assert all(isinstance(said.message, DigestMessage) for said in one.said)


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


async def test_after_an_outage_of_the_disk_nothing_unstored_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "FIRST_RETRY", 0.01)

    async with boarded(tmp_path) as one:
        one.driver.start(0)
        await until(lambda: len(one.said) == 2)
        commit = one.store.commit

        async def fails_once(_: Any) -> None:
            monkeypatch.setattr(one.store, "commit", commit)
            raise FULL

        monkeypatch.setattr(one.store, "commit", fails_once)
        record = written(somebody(1))
        one.tell("b", record)
        await until(lambda: one.driver.trouble is not None)
        await until(lambda: one.driver.trouble is None)
        assert record.origin not in one.board
        one.tell("b", record)
        await until(lambda: record in one.records_to("c"))


async def test_a_neighbour_that_reads_too_slowly_is_sent_a_digest(tmp_path: Path) -> None:
    """What waited for it is gone: nothing else would tell it, ever."""
    async with boarded(tmp_path) as one:
        one.driver.start(0)
        await until(lambda: len(one.said) == 2)
        one.driver.unsaid("b")
        await until(lambda: len(one.said) == 3)
        assert one.said[-1].peer == "b"
        assert isinstance(one.said[-1].message, DigestMessage)


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
