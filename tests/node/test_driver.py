"""The driver: what is sent has been stored, rounds begin and end, samples are taken in."""

import asyncio
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from colme.errors import SampleError
from colme.node.state import Commit
from colme.node.wire.codec import Standing
from colme.protocol.events import EVERYTHING, Part
from colme.protocol.messages import ConsensusMessage, ReleaseMessage, SizeMessage
from colme.protocol.rounds.state import SUSPECT_AFTER, Phase
from support.driven import answer_to, driven
from support.refusing import refused
from support.waiting import PATIENCE, later, quiet, until


async def test_nothing_is_posted_before_what_it_depends_on_can_be_read_from_the_disk(
    tmp_path: Path,
) -> None:
    async with driven(tmp_path, supply=lambda _: [0.25] * 9, last_round=12) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.ended)
    assert len(one.posts) == 3 * 12
    for post in one.posts:
        assert post.stored.round >= post.round
        if isinstance(post.message, ReleaseMessage) and post.message.release is not None:
            assert post.stored.released >= post.message.release.count
    assert one.releases[-1].release is not None


async def test_while_a_commit_is_under_way_nothing_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even what needs no storing itself: order is kept."""
    async with driven(tmp_path, answers=False) as one:
        under_way, go_on = asyncio.Event(), asyncio.Event()
        commit = one.store.commit

        async def slow(what: Any) -> None:
            under_way.set()
            await go_on.wait()
            await commit(what)

        monkeypatch.setattr(one.store, "commit", slow)
        one.driver.start(heard=0)
        await under_way.wait()
        one.driver.receive("b", ReleaseMessage(round=1, release=None))
        await quiet()
        assert one.driver.agent.phase.value == "size"
        assert one.posts == []
        go_on.set()
        await until(lambda: len(one.posts) >= 2)
        assert [type(post.message) for post in one.posts[:2]] == [ReleaseMessage, SizeMessage]


async def test_a_commit_has_the_parts_that_changed_since_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample is the stream alone; what comes while a commit runs is in the next one."""
    async with driven(tmp_path, answers=False) as one:
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
        await one.driver.welcomed("b")
        assert seen == [set(EVERYTHING), {Part.STREAM}, set()]
        go_on.clear()
        under_way = one.driver.observe([0.25])
        await until(lambda: len(seen) == 4)
        late = one.driver.observe([0.75])
        one.driver.start(heard=0)
        await until(lambda: one.driver.agent.round == 1)
        go_on.set()
        await asyncio.gather(under_way, late)
        assert seen[3:] == [{Part.STREAM}, set(EVERYTHING)]
        assert one.store.snapshot == one.driver.agent.snapshot()


async def test_a_round_of_three_exchanges_ends_and_the_next_begins(tmp_path: Path) -> None:
    async with driven(tmp_path, last_round=3) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.ended)
        assert one.driver.agent.round == 3
        assert one.driver.agent.phase is Phase.IDLE
        kinds = [(post.round, type(post.message)) for post in one.posts]
        exchanges = (ReleaseMessage, SizeMessage, ConsensusMessage)
        assert kinds == [(n, kind) for n in (1, 2, 3) for kind in exchanges]
        assert one.counted("colme_rounds_total 3.0")
        assert one.counted('colme_deadlines_total{exchange="release"} 0.0')
        assert one.driver.began is not None
        await one.driver.flush()
        assert one.driver.standing == Standing(epoch=1, round=3)


async def test_a_trial_that_is_over_begins_no_round_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        async with driven(tmp_path, last_round=2) as one:
            one.driver.start(heard=0)
            await until(lambda: one.driver.ended)
            assert one.driver.agent.round == 2
            await one.driver.flush()
    assert one.posts == []


EXCHANGES = ("release", "size", "consensus")


@pytest.mark.parametrize("silent_in", EXCHANGES)
async def test_a_deadline_closes_the_exchange_that_a_silent_neighbour_leaves_open(
    silent_in: str, tmp_path: Path
) -> None:
    """The rest of the round does not wait for it: the deadline passes once."""
    async with driven(tmp_path, deadline=PATIENCE, last_round=1, answers=False) as one:
        one.driver.start(heard=0)
        for exchange in EXCHANGES:
            await until(lambda: one.posts)
            if exchange == silent_in:
                break
            one.driver.receive("b", answer_to(one.posts.pop().message))
        assert one.driver.agent.phase.value == silent_in
        await later(PATIENCE)
        assert one.driver.ended
        for exchange in EXCHANGES:
            times = 1.0 if exchange == silent_in else 0.0
            assert one.counted(f'colme_deadlines_total{{exchange="{exchange}"}} {times}')


async def test_a_neighbour_that_stays_silent_becomes_a_suspect(tmp_path: Path) -> None:
    async with driven(tmp_path, deadline=0.01, answers=False) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.agent.suspects == {"b"})
        assert one.driver.agent.round >= 1 + SUSPECT_AFTER
        await until(lambda: one.counted('colme_peer_suspect{peer="b"} 1.0'))


async def test_nobody_waits_for_a_suspect_until_it_says_hello(tmp_path: Path) -> None:
    async with driven(tmp_path, deadline=0.01, answers=False) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.agent.suspects == {"b"})
        one.driver.returned("b", Standing(epoch=2, round=one.driver.agent.round))
        await until(lambda: one.driver.agent.suspects == set())


async def test_noise_is_drawn_for_newly_closed_blocks_alone(tmp_path: Path) -> None:
    """At epsilon = 1 the first block has 8 samples, and with 3 a round it closes in the third."""
    drawn_before_round: list[int] = []

    def supply(_: int) -> list[float]:
        drawn_before_round.append(len(one.draws))
        return [0.25] * 3

    async with driven(tmp_path, supply=supply, last_round=12) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.ended)
        blocks = one.driver.agent.counts.blocks
        assert drawn_before_round[:4] == [0, 0, 0, 1]
        assert len(one.draws) == blocks < 12
        assert set(one.draws) == {one.driver.agent.settings.profile.lattice_scale}


async def test_after_a_restart_the_same_release_is_sent_and_no_noise_drawn(tmp_path: Path) -> None:
    async with driven(tmp_path, supply=lambda _: [0.25] * 9, last_round=2) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.ended)
        await one.driver.flush()
        before = one.releases[-1].release
        assert one.draws
        assert before is not None
    async with driven(tmp_path, supply=lambda _: [], last_round=3) as again:
        again.driver.start(heard=0)
        await until(lambda: again.driver.ended)
        assert again.releases == [ReleaseMessage(round=3, release=before)]
        assert again.draws == []
        assert again.store.epoch == 2


async def test_samples_are_taken_all_or_none(tmp_path: Path) -> None:
    async with driven(tmp_path) as one:
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
