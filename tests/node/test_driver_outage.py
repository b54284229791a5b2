"""While the disk fails nothing is promised or sent, whoever says what; noise is drawn once.

A disk that fails is like a crash without the exit.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any

import pytest

from colme.errors import LedgerError, StaleStateError, StoreError
from colme.node.state.database import FILE
from colme.node.wire.codec import Standing
from colme.protocol.rounds.state import Phase
from support.boarded import boarded
from support.driven import Harness, growing, stored_progress
from support.refusing import refused
from support.waiting import later, until

pytestmark = pytest.mark.usefixtures("retry_soon")

Working = Callable[..., AbstractAsyncContextManager[Harness]]

FULL = StoreError("state", "disk full", "free space")
A_WHILE = 1.0
"""Seconds, and many deadlines of these drivers; the clock is put forward."""


def fail_commits(
    one: Harness, monkeypatch: pytest.MonkeyPatch, when: Callable[[Any], bool]
) -> list[Any]:
    """From now on those commits fail that `when` picks; the list is of what was lost."""
    commit, lost = one.store.commit, []

    async def perhaps(what: Any) -> None:
        if when(what):
            lost.append(what)
            raise FULL
        await commit(what)

    monkeypatch.setattr(one.store, "commit", perhaps)
    return lost


def these(answers: Iterator[bool]) -> Callable[[Any], bool]:
    """Whether a commit fails, one after another; none after these."""
    return lambda _: next(answers, False)


def require_one_draw_each(one: Harness) -> None:
    """All that was posted had been stored, and no two means were told of the same samples."""
    means = one.told()
    assert len(means) >= 3
    assert all(len(told) == 1 for told in means.values())


async def test_samples_that_could_not_be_stored_are_rejected_and_forgotten(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(tmp_path) as one:
        await one.driver.observe([0.1])
        fail_commits(one, monkeypatch, these(iter([True])))
        pending = [one.driver.observe([0.2, 0.3]), one.driver.observe([0.4], {"file": 9})]
        for future in pending:
            with refused(StoreError, "state", seen="disk full"):
                await future
        with refused(StoreError, "state", seen="disk full"):
            one.driver.observe([0.5])
        await until(lambda: one.driver.trouble is None)
        assert one.driver.agent.counts.taken == 1
        assert one.counted("colme_store_failures_total 1.0")
        await one.driver.observe([0.6])
        assert stored_progress(tmp_path).taken == 2
        assert one.store.marks == {}


async def test_a_release_that_could_not_be_stored_is_never_sent(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its noise is drawn anew, which leaks nothing: nobody has seen the first draw."""
    entries = []

    def the_second_release(commit: Any) -> bool:
        if commit.entry is not None:
            entries.append(commit.entry)
        return commit.entry is not None and len(entries) == 2

    async with working(tmp_path, supply=growing) as one:
        lost = fail_commits(one, monkeypatch, the_second_release)
        one.driver.start(heard=0)
        await until(lambda: lost)
        await until(lambda: max(one.told()) > lost[0].entry.last)
        means = set[float]().union(*one.told().values())
        assert one.mean_in(lost[0]) not in means


async def test_after_a_failure_the_agent_is_what_is_stored_and_goes_on(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rounds are, none is open then."""
    restored: list[tuple[int, int]] = []
    begun: list[tuple[int, int]] = []

    def supply(_: int) -> list[float]:
        agent = one.driver.agent
        if restored and not begun:
            assert agent.settings.algorithm.name != "paper" or agent.phase is Phase.IDLE
            begun.append((agent.round, agent.counts.taken))
        return [0.25]

    async with working(tmp_path, supply=supply) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.agent.round >= 3)
        reload = one.store.reload

        async def noticed() -> None:
            await reload()
            taken = stored_progress(tmp_path)
            restored.append((taken.round, taken.taken))

        monkeypatch.setattr(one.store, "reload", noticed)
        fail_commits(one, monkeypatch, these(iter([True])))
        await until(lambda: begun)
        assert begun == restored
        number = one.driver.agent.round
        await until(lambda: one.driver.agent.round > number + 3)


async def test_a_disk_that_stays_full_is_tried_again_until_it_works(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(tmp_path, supply=lambda _: [0.25]) as one:
        tries = iter(range(3))
        reload = one.store.reload

        async def fails_three_times() -> None:
            if next(tries, None) is not None:
                raise StoreError("state", "disk still full", "free space")
            await reload()

        monkeypatch.setattr(one.store, "reload", fails_three_times)
        fail_commits(one, monkeypatch, these(iter([True])))
        one.driver.start(heard=0)
        await until(lambda: one.driver.trouble is not None)
        posted = len(one.posts)
        # What neighbours send meanwhile is not lost to an error of ours: it is left alone.
        one.pester()
        await until(lambda: one.driver.trouble and "still full" in one.driver.trouble)
        assert len(one.posts) == posted
        await until(lambda: one.driver.trouble is None)
        await until(lambda: len(one.posts) > posted + 2)
        assert one.counted("colme_store_failures_total 4.0")


@pytest.mark.parametrize("moment", ["while it is written", "once it has failed", "both"])
async def test_a_neighbour_that_insists_in_an_outage_gets_nothing_that_is_not_stored(
    moment: str, working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(tmp_path, supply=growing) as one:
        commit, reload, outages = one.store.commit, one.store.reload, 0
        due = iter([False, True] * 3)

        async def fails_now_and_then(what: Any) -> None:
            nonlocal outages
            if what.entry is not None and next(due, False):
                outages += 1
                if moment != "once it has failed":
                    one.pester()
                    await later(A_WHILE)
                raise FULL
            await commit(what)

        async def after_a_while() -> None:
            posted = len(one.posts)
            assert one.driver.trouble is not None
            if moment != "while it is written":
                one.pester()
                await later(A_WHILE)
                one.pester()
            await later(A_WHILE)
            assert len(one.posts) == posted
            await reload()

        monkeypatch.setattr(one.store, "commit", fails_now_and_then)
        monkeypatch.setattr(one.store, "reload", after_a_while)
        one.driver.start(heard=0)
        await until(lambda: outages == 3)
        await until(lambda: one.driver.trouble is None)
        posted, noised = len(one.posts), stored_progress(tmp_path).released
        await until(lambda: stored_progress(tmp_path).released > noised)
        await until(lambda: len(one.posts) > posted)
        require_one_draw_each(one)


async def test_a_start_in_an_outage_waits_for_its_end(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(tmp_path, supply=growing) as one:
        commit, reload = one.store.commit, one.store.reload
        stored = asyncio.Event()

        async def fails(_: Any) -> None:
            raise FULL

        async def after_a_while() -> None:
            await stored.wait()
            monkeypatch.setattr(one.store, "commit", commit)
            await reload()

        monkeypatch.setattr(one.store, "commit", fails)
        monkeypatch.setattr(one.store, "reload", after_a_while)
        with refused(StoreError, "state", seen="disk full"):
            await one.driver.observe([0.25] * 50)
        one.driver.start(heard=40)
        one.pester()
        await later(A_WHILE)
        assert (one.posts, one.driver.began, one.draws) == ([], None, [])
        stored.set()
        await until(lambda: len(one.told()) > 3)
        require_one_draw_each(one)


def put_aside(folder: Path, copy: Path) -> None:
    """The state as it is now, whole."""
    with (
        closing(sqlite3.connect(folder / FILE)) as here,
        closing(sqlite3.connect(copy)) as there,
    ):
        here.backup(there)


def put_back(copy: Path, folder: Path) -> None:
    for ending in ("-wal", "-shm"):
        Path(f"{folder / FILE}{ending}").unlink(missing_ok=True)
    copy.replace(folder / FILE)


async def test_an_older_state_found_after_an_outage_ends_the_driver(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, copy = tmp_path / "state", tmp_path / "copy"
    async with working(folder, supply=growing) as one:
        one.driver.start(heard=0)
        await until(lambda: one.store.releases > 1)
        put_aside(folder, copy)
        before = one.store.releases
        await until(lambda: one.store.releases > before)
        commit = one.store.commit

        async def fails(what: Any) -> None:
            monkeypatch.setattr(one.store, "commit", commit)
            put_back(copy, folder)
            raise FULL

        monkeypatch.setattr(one.store, "commit", fails)
        await until(one.run.done)
        posted = len(one.posts)
        with refused(StaleStateError, "state"):
            await one.run
        one.pester()
        with pytest.raises(StoreError):
            one.driver.observe([0.5])
        await asyncio.wait_for(one.driver.flush(), 5)
        assert len(one.posts) == posted


async def test_an_error_beyond_repair_leaves_nobody_waiting(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(tmp_path) as one:
        entered = asyncio.Event()
        go_on = asyncio.Event()

        async def twice(_: Any) -> None:
            entered.set()
            await go_on.wait()
            raise LedgerError("ledger", "a sample twice", "once")

        monkeypatch.setattr(one.store, "commit", twice)
        waiting = [one.driver.observe([0.1])]
        await entered.wait()
        waiting += [one.driver.observe([0.2]), one.driver.observe([0.3], {"file": 7})]
        flushing = asyncio.create_task(one.driver.flush())
        await asyncio.sleep(0)
        go_on.set()
        async with asyncio.timeout(5):
            for future in waiting:
                with refused(StoreError, "state", seen="a node that has ended"):
                    await future
            await flushing
            await one.driver.flush()
        with refused(LedgerError, "ledger", seen="a sample twice"):
            await one.run
        with refused(StoreError, "state", seen="a node that has ended"):
            one.driver.observe([0.4])


async def test_how_far_a_neighbour_had_come_is_stored_at_the_end_though_nothing_else_is_new(
    working: Working, tmp_path: Path
) -> None:
    """Or its state could be put back to an older one while this node rests."""
    async with working(tmp_path) as one:
        await one.driver.observe([0.1])
        one.peers["b"].heard_in(7)
        await one.driver.flush()
        assert one.store.standings == {"b": Standing(epoch=0, round=7)}


async def test_what_a_failed_commit_would_have_remembered_is_stored_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boarded(tmp_path) as one:
        commit = one.store.commit
        one.peers["b"].remember(Standing(epoch=3, round=7))
        one.peers["c"].remember(Standing(epoch=1, round=4))

        async def fails_once(_: Any) -> None:
            monkeypatch.setattr(one.store, "commit", commit)
            one.peers["b"].remember(Standing(epoch=3, round=8))
            raise FULL

        monkeypatch.setattr(one.store, "commit", fails_once)
        with refused(StoreError, "state", seen="disk full"):
            await one.driver.observe([0.1])
        await until(lambda: one.driver.trouble is None)
        assert one.store.standings == {}
        await one.driver.observe([0.2])
        assert one.store.standings == {
            "b": Standing(epoch=3, round=8),
            "c": Standing(epoch=1, round=4),
        }
