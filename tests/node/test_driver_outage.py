"""While the disk fails nothing is promised or sent, whoever says what; noise is drawn once."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colme.errors import LedgerError, StaleStateError, StoreError
from colme.node import driving as driver_module
from colme.node.state.database import FILE
from colme.node.wire.codec import Reason, Refused, Standing
from colme.protocol.messages import ReleaseMessage
from support.driven import SETTINGS, Driven, driven, stored_progress
from support.refusing import refused
from support.waiting import PATIENCE, later, until

FULL = StoreError("state", "disk full", "free space")
A_WHILE = 1.0
"""Seconds, and many deadlines of these drivers; the clock is put forward."""


@pytest.fixture(autouse=True)
def retry_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "FIRST_RETRY", 0.01)


def far_ahead(one: Driven) -> None:
    """A hello and a message of a neighbour far ahead."""
    number = one.driver.agent.round + 100
    one.driver.returned("b", Standing(epoch=number, round=number))
    with suppress(Refused):  # Where the hello was followed, this is a round too far.
        one.driver.receive("b", ReleaseMessage(round=number + 100, release=None))


def require_one_draw_each(one: Driven) -> None:
    """All that was posted had been stored, and no two means were told of the same samples."""
    means: dict[int, set[float]] = {}
    for post in one.posts:
        assert post.stored.round >= post.round
        if isinstance(post.message, ReleaseMessage) and post.message.release is not None:
            assert post.stored.released >= post.message.release.count
            means.setdefault(post.message.release.count, set()).add(post.message.release.mean)
    assert len(means) >= 3
    assert all(len(told) == 1 for told in means.values())


@pytest.mark.parametrize("moment", ["while it is written", "once it has failed", "both"])
async def test_a_neighbour_far_ahead_in_an_outage_gets_nothing_that_is_not_stored(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(tmp_path, supply=lambda _: [0.25] * 3, deadline=0.05) as one:
        commit, reload, outages = one.store.commit, one.store.reload, 0
        due = iter([False, True] * 3)

        async def fails_now_and_then(what: Any) -> None:
            nonlocal outages
            if what.entry is not None and next(due, False):
                outages += 1
                if moment != "once it has failed":
                    far_ahead(one)
                    await later(A_WHILE)
                raise FULL
            await commit(what)

        async def after_a_while() -> None:
            posted = len(one.posts)
            assert one.driver.trouble is not None
            if moment != "while it is written":
                far_ahead(one)
                await later(A_WHILE)
                far_ahead(one)
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
        await until(lambda: len(one.posts) > posted + 10)
        require_one_draw_each(one)


async def test_a_start_in_an_outage_waits_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(tmp_path, supply=lambda _: [0.25] * 3) as one:
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
        far_ahead(one)
        await later(A_WHILE)
        assert (one.posts, one.driver.began, one.draws) == ([], None, [])
        stored.set()
        await until(lambda: len(one.releases) > 20)
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, copy = tmp_path / "state", tmp_path / "copy"
    async with driven(folder, supply=lambda _: [0.25] * 3) as one:
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
        far_ahead(one)
        with pytest.raises(StoreError):
            one.driver.observe([0.5])
        await asyncio.wait_for(one.driver.flush(), 5)
        assert len(one.posts) == posted


async def test_an_error_beyond_repair_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(tmp_path) as one:
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


async def test_a_driver_that_was_stopped_is_not_started_again(tmp_path: Path) -> None:
    async with driven(tmp_path, answers=False) as one:
        one.driver.stop()
        far_ahead(one)
        one.driver.start(heard=0)
        await later(PATIENCE)
        assert (one.posts, one.driver.began, one.driver.agent.round) == ([], None, 0)
    async with driven(tmp_path, answers=False) as one:
        one.driver.start(heard=0)
        await until(lambda: one.posts)
        one.driver.stop()
        far_ahead(one)
        one.driver.start(heard=0)
        await later(PATIENCE)
        assert one.driver.agent.round == 1


def by_hello(one: Driven) -> None:
    one.driver.returned("b", Standing(epoch=1, round=1000))


def by_message(one: Driven) -> None:
    with refused(Refused, reason=Reason.FUTURE_ROUND):
        one.driver.receive("b", ReleaseMessage(round=1000, release=None))


@pytest.mark.parametrize("told", [by_hello, by_message])
async def test_nobody_is_followed_past_the_last_round(
    told: Callable[[Driven], None], tmp_path: Path
) -> None:
    async with driven(tmp_path, last_round=5, answers=False, deadline=0.05) as one:
        one.driver.start(heard=1000)
        await until(lambda: one.posts)
        assert one.driver.agent.round == 1
        told(one)
        assert one.driver.agent.round == 1
        one.driver.returned("b", Standing(epoch=2, round=5))
        assert one.driver.agent.round == 5, "the last one itself may be skipped to"
        told(one)
        await until(lambda: one.driver.ended)
        told(one)
        await later(A_WHILE)
        assert max(post.round for post in one.posts) == 5
        assert one.driver.agent.round == 5


async def test_how_far_a_neighbour_had_come_is_stored_at_the_end_though_nothing_else_is_new(
    tmp_path: Path,
) -> None:
    """Or its state could be put back to an older one while this node rests."""
    async with driven(tmp_path) as one:
        await one.driver.observe([0.1])
        one.peers["b"].heard_in(7)
        await one.driver.flush()
        assert one.store.standings == {"b": Standing(epoch=0, round=7)}


async def test_what_a_failed_commit_would_have_remembered_is_stored_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(tmp_path, settings=replace(SETTINGS, neighbours=("b", "c"))) as one:
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
