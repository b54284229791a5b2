"""The driver, whatever it exchanges: what is sent has been stored, and noise is drawn once."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from colme.errors import SampleError
from colme.node.state import Commit
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.events import EVERYTHING, Part
from colme.protocol.messages import Message, ReleaseMessage, SizeMessage
from support.boarded import EMPTY, boarded
from support.driven import Harness, driven, growing
from support.refusing import refused
from support.waiting import later, until

Working = Callable[..., AbstractAsyncContextManager[Harness]]


async def test_nothing_is_posted_before_what_it_depends_on_can_be_read_from_the_disk(
    working: Working, tmp_path: Path
) -> None:
    async with working(tmp_path, supply=growing) as one:
        one.driver.start(heard=0)
        await until(lambda: len(one.told()) > 3)


@pytest.mark.parametrize(
    ("working", "said", "order"),
    [
        (boarded, DigestMessage(page=EMPTY, answer=False), [RecordsMessage, DigestMessage]),
        (
            partial(driven, answers=False),
            ReleaseMessage(round=1, release=None),
            [ReleaseMessage, SizeMessage],
        ),
    ],
    ids=["relay", "paper"],
)
async def test_while_a_commit_is_under_way_nothing_leaves(
    working: Working,
    said: Message,
    order: list[type[Message]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even what needs no storing itself: order is kept."""
    async with working(tmp_path, supply=lambda _: [0.25]) as one:
        under_way, go_on = asyncio.Event(), asyncio.Event()
        commit = one.store.commit

        async def slow(what: Any) -> None:
            under_way.set()
            await go_on.wait()
            await commit(what)

        monkeypatch.setattr(one.store, "commit", slow)
        one.driver.start(heard=0)
        await under_way.wait()
        one.driver.receive("b", said)
        await later(1.0)
        assert one.posts == []
        go_on.set()
        await until(lambda: len(one.posts) >= 2)
        assert [type(post.message) for post in one.posts[:2]] == order


async def test_a_commit_has_the_parts_that_changed_since_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample is the stream alone; what comes while a commit runs is in the next one."""
    async with boarded(tmp_path) as one:
        commit, seen = one.store.commit, []
        go_on = asyncio.Event()

        async def noted(what: Commit) -> None:
            seen.append({part for part in Part if part in what.snapshot})
            await go_on.wait()
            await commit(what)

        go_on.set()
        monkeypatch.setattr(one.store, "commit", noted)
        await one.driver.observe([0.25])
        await one.driver.observe([0.25, 0.5])
        one.peers["b"].heard_in(7)
        await one.driver.flush()
        assert seen == [set(EVERYTHING), {Part.STREAM}, set()]
        go_on.clear()
        under_way = one.driver.observe([0.25])
        await until(lambda: len(seen) == 4)
        late = one.driver.observe([0.75] * 40)
        one.driver.start(heard=0)
        await until(lambda: one.driver.agent.round == 1)
        go_on.set()
        await asyncio.gather(under_way, late)
        assert seen[3:5] == [{Part.STREAM}, set(EVERYTHING)]


async def test_noise_is_drawn_for_newly_closed_blocks_alone(
    working: Working, tmp_path: Path
) -> None:
    async with working(tmp_path, supply=growing) as one:
        one.driver.start(heard=0)
        await until(lambda: len(one.told()) > 3)
        agent = one.driver.agent
        assert len(one.draws) == agent.counts.blocks
        assert set(one.draws) == {agent.settings.profile.lattice_scale}


async def test_after_a_restart_the_same_release_is_sent_and_no_noise_drawn(
    working: Working, tmp_path: Path
) -> None:
    async with working(tmp_path, supply=lambda number: [0.25] * 40 * (number == 1)) as one:
        one.driver.start(heard=0)
        await until(one.told)
        await one.driver.flush()
        assert one.draws
    async with working(tmp_path, supply=lambda _: []) as again:
        again.driver.start(heard=0)
        await until(again.told)
        assert again.told() == one.told()
        assert again.draws == []
        assert again.store.epoch == 2


async def test_samples_are_taken_all_or_none(working: Working, tmp_path: Path) -> None:
    async with working(tmp_path) as one:
        await one.driver.observe([0.1, 0.2], {"file": 20})
        for bad in (nan, inf, "0.5", None):
            with refused(SampleError, "sample 1") as caught:
                one.driver.observe([0.3, bad, 0.4])  # type: ignore[list-item]
            assert "0.5" not in str(caught.value), "an error may get into a log"
        assert one.driver.agent.counts.taken == 2
        assert one.store.snapshot is not None
        assert one.store.snapshot["stream"]["count"] == 2
        assert one.store.marks == {"file": 20}
        assert one.counted("colme_samples_total 2.0")


async def test_a_driver_that_was_stopped_is_not_started_again(
    working: Working, tmp_path: Path
) -> None:
    async with working(tmp_path) as one:
        one.driver.stop()
        one.pester()
        one.driver.start(heard=0)
        await later(10.0)
        assert (one.posts, one.driver.began, one.driver.agent.round) == ([], None, 0)
    async with working(tmp_path) as one:
        one.driver.start(heard=0)
        await until(lambda: one.posts)
        one.driver.stop()
        before = one.driver.agent.round
        one.pester()
        one.driver.start(heard=0)
        await later(10.0)
        assert one.driver.agent.round == before
