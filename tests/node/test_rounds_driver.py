"""The driver in rounds: when they begin and end, who is waited for, and who is followed how far."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from colme.node.driver import LARGEST_DRIFT
from colme.node.wire.codec import Reason, Refused, Standing
from colme.protocol.events import Pace
from colme.protocol.messages import ConsensusMessage, ReleaseMessage, SizeMessage, of_round
from colme.protocol.rounds.state import SUSPECT_AFTER, Phase
from support.driven import Driven, answer_to, driven
from support.refusing import refused
from support.waiting import PATIENCE, later, until

A_WHILE = 1.0
"""Seconds, and many deadlines of these drivers; the clock is put forward."""


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
            one.driver.receive("b", answer_to(of_round(one.posts.pop().message)))
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


def refusal(one: Driven, message: Any) -> Refused:
    with refused(Refused, peer="b") as caught:
        one.driver.receive("b", message)
    return caught.value


async def test_old_and_repeated_messages_are_refused_by_reason(tmp_path: Path) -> None:
    async with driven(tmp_path, answers=False) as one:
        one.driver.start(heard=5)
        await until(lambda: one.posts)
        assert one.driver.agent.round == 5
        one.driver.receive("b", ReleaseMessage(round=5, release=None))
        one.driver.receive("b", ReleaseMessage(round=6, release=None))
        for number, reason in (
            (4, Reason.OLD_ROUND),
            (5, Reason.DUPLICATE),
            (6, Reason.DUPLICATE),
        ):
            error = refusal(one, ReleaseMessage(round=number, release=None))
            assert error.reason is reason


@dataclass
class HeldClock:
    """A clock that a test sets."""

    now: float = 0.0
    offset: float = 0.0
    """How far the wall clock is ahead."""

    def wall(self) -> float:
        return self.now + self.offset

    def monotonic(self) -> float:
        return self.now


async def test_on_a_clock_a_round_far_ahead_is_refused(tmp_path: Path) -> None:
    pace = Pace(interval=1000, deadline=8, clock=0)
    async with driven(tmp_path, pace=pace, clock=HeldClock(), answers=False) as one:
        one.driver.start(heard=50)
        await until(lambda: one.posts)
        assert one.driver.agent.round == 1
        error = refusal(one, ReleaseMessage(round=3, release=None))
        assert (error.reason, error.field) == (Reason.FUTURE_ROUND, "round")
        one.driver.returned("b", Standing(epoch=1, round=50))
        assert one.driver.agent.round == 1
        one.driver.receive("b", ReleaseMessage(round=2, release=None))


@pytest.mark.parametrize(("jump", "number"), [(2500.0, 3), (-500.0, 2), (LARGEST_DRIFT, 2)])
async def test_rounds_by_the_clock_keep_to_a_clock_that_was_put_forward_or_back(
    tmp_path: Path, jump: float, number: int
) -> None:
    """A clock that is slewed does not jump; a machine that slept has no wrong clock."""
    clock = HeldClock(now=100)
    pace = Pace(interval=1000, deadline=8, clock=0)
    async with driven(tmp_path, pace=pace, clock=clock) as one:
        one.driver.start(heard=0)
        await until(lambda: one.driver.agent.round == 1 and one.driver.agent.phase is Phase.IDLE)
        clock.offset = jump
        one.driver._wake()
        jumped = abs(jump) > LARGEST_DRIFT
        assert one.counted(f"colme_clock_jumps_total {float(jumped)}")
        one.driver._wake()
        assert one.counted(f"colme_clock_jumps_total {float(jumped)}"), "it is told once"
        clock.now = 1000 if jump > -1 else 1600
        one.driver._wake()
        assert one.driver.agent.round == number


async def test_free_rounds_follow_a_neighbour_far_ahead_at_most_once_a_deadline(
    tmp_path: Path,
) -> None:
    clock = HeldClock()
    async with driven(tmp_path, deadline=8, clock=clock, answers=False) as one:
        one.driver.start(heard=0)
        await until(lambda: one.posts)
        for seconds, number, followed in (
            (0, 1000, True),
            (0, 2000, False),
            (7.875, 3000, False),
            (8, 4000, True),
            (15.875, 5000, False),
            (16, 6000, True),
        ):
            clock.now = seconds
            message, before = ReleaseMessage(round=number, release=None), one.greetings
            if followed:
                one.driver.receive("b", message)
                await until(lambda n=number: one.driver.agent.round == n)  # type: ignore[misc]
            else:
                assert refusal(one, message).reason is Reason.FUTURE_ROUND
            assert one.greetings == before + followed


async def test_a_neighbour_a_little_ahead_is_followed_without_greeting_all(tmp_path: Path) -> None:
    async with driven(tmp_path, answers=False) as one:
        one.driver.start(heard=0)
        await until(lambda: one.posts)
        one.driver.returned("b", Standing(epoch=1, round=1 + SUSPECT_AFTER))
        await until(lambda: one.driver.agent.round == 1 + SUSPECT_AFTER)
        assert one.greetings == 0


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
        await until(lambda: one.driver.agent.round == 5)  # The last itself may be skipped to.
        told(one)
        await until(lambda: one.driver.ended)
        told(one)
        await later(A_WHILE)
        assert max(post.round for post in one.posts) == 5
        assert one.driver.agent.round == 5


async def test_rounds_that_wait_for_a_neighbour_are_stored_as_told_before_they_are_sent(
    tmp_path: Path,
) -> None:
    """It lets this node in later: after a restart it would know of more than this node has told."""
    for last in (2, 5):
        async with driven(tmp_path, last_round=last) as one:
            one.driver.start(heard=0)
            await until(lambda: one.driver.ended)
            await one.driver.welcomed("b")
            assert one.store.told == {"b": last}
