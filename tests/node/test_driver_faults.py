"""What neighbours send the driver: faults are refused by reason, and far rounds only followed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from colme.node.driver import LARGEST_DRIFT
from colme.node.wire.codec import Reason, Refused, Standing
from colme.protocol.events import Pace
from colme.protocol.messages import ReleaseMessage
from colme.protocol.rounds.state import SUSPECT_AFTER, Phase
from support.driven import Driven, driven
from support.refusing import refused
from support.waiting import until


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

    def jitter(self) -> float:
        return 1.0


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
