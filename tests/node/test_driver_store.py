"""The driver on a disk that fails: like a crash without the exit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from colme.errors import StoreError
from colme.node import driving as driver_module
from colme.protocol.messages import ReleaseMessage
from colme.protocol.rounds.state import Phase
from support.driven import Driven, driven, stored_progress
from support.refusing import refused
from support.waiting import until


@pytest.fixture(autouse=True)
def retry_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "FIRST_RETRY", 0.01)


def fail_commits(
    one: Driven, monkeypatch: pytest.MonkeyPatch, when: Callable[[Any], bool]
) -> list[Any]:
    """From now on those commits fail that `when` picks; the list is of what was lost."""
    commit, lost = one.store.commit, []

    async def perhaps(what: Any) -> None:
        if when(what):
            lost.append(what)
            raise StoreError("state", "disk full", "free space")
        await commit(what)

    monkeypatch.setattr(one.store, "commit", perhaps)
    return lost


def once() -> Callable[[Any], bool]:
    answers = iter([True])
    return lambda _: next(answers, False)


async def test_samples_that_could_not_be_stored_are_rejected_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(tmp_path) as one:
        await one.driver.observe([0.1])
        fail_commits(one, monkeypatch, once())
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its noise is drawn anew, which leaks nothing: nobody has seen the first draw."""
    async with driven(tmp_path, supply=lambda _: [0.25] * 3) as one:
        lost = fail_commits(one, monkeypatch, the_second_release())
        one.driver.start(heard=0)
        await until(lambda: lost and one.driver.agent.round > lost[0].snapshot["exchange"]["round"])
        await until(lambda: one.driver.agent.counts.released > lost[0].entry.last)
        for post in one.posts:
            assert post.stored.round >= post.round
        means = {told.release.mean for told in one.releases if told.release is not None}
        assert means
        assert mean_told_by(lost[0], one) not in means


def mean_told_by(commit: Any, one: Driven) -> float:
    """What the release of a commit would have said."""
    stream, profile = commit.snapshot["stream"], one.driver.agent.settings.profile
    steps = (stream["released"]["sum"] + stream["noise"]["sum"]) / stream["released_count"]
    return float(profile.midpoint + profile.lattice_step * steps)


def the_second_release() -> Callable[[Any], bool]:
    entries: list[Any] = []

    def pick(commit: Any) -> bool:
        if commit.entry is not None:
            entries.append(commit.entry)
        return commit.entry is not None and len(entries) == 2

    return pick


async def test_after_a_failure_the_agent_is_what_is_stored_and_rounds_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored: list[tuple[int, int]] = []
    begun: list[tuple[int, int]] = []

    def supply(_: int) -> list[float]:
        if restored and not begun:
            assert one.driver.agent.phase is Phase.IDLE
            begun.append((one.driver.agent.round, one.driver.agent.counts.taken))
        return [0.25]

    async with driven(tmp_path, supply=supply) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.agent.round >= 3)
        reload = one.store.reload

        async def noticed() -> None:
            await reload()
            taken = stored_progress(tmp_path)
            restored.append((taken.round, taken.taken))

        monkeypatch.setattr(one.store, "reload", noticed)
        fail_commits(one, monkeypatch, once())
        await until(lambda: begun)
        assert begun == restored
        number = one.driver.agent.round
        await until(lambda: one.driver.agent.round > number + 3)


async def test_a_disk_that_stays_full_is_tried_again_until_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(tmp_path) as one:
        tries = iter(range(3))
        reload = one.store.reload

        async def fails_three_times() -> None:
            if next(tries, None) is not None:
                raise StoreError("state", "disk still full", "free space")
            await reload()

        monkeypatch.setattr(one.store, "reload", fails_three_times)
        fail_commits(one, monkeypatch, once())
        one.driver.start(heard=0)
        await until(lambda: one.driver.trouble is not None)
        assert one.posts == []
        # What neighbours send meanwhile is not lost to an error of ours: it is left alone.
        one.driver.receive("b", ReleaseMessage(round=1, release=None))
        await until(lambda: one.driver.trouble and "still full" in one.driver.trouble)
        await until(lambda: one.driver.trouble is None)
        await until(lambda: one.driver.agent.round > 2)
        assert one.counted("colme_store_failures_total 4.0")
