"""What neighbours send the driver: faults are refused by reason, and far rounds only followed."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from colme.node.rounds import Clock
from colme.node.wire.codec import Reason, Refused, Standing
from colme.protocol.messages import ReleaseMessage
from colme.protocol.rounds.state import SUSPECT_AFTER
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


def by_clock(at: Callable[[], float] = lambda: 0.0) -> Clock:
    return Clock(0.0, 1000.0, lambda _: None, now=at, elapsed=at)


async def test_on_a_clock_a_round_far_ahead_is_refused(tmp_path: Path) -> None:
    async with driven(tmp_path, pacing=by_clock(), answers=False) as one:
        one.driver.start(heard=50)
        await until(lambda: one.posts)
        assert one.driver.agent.round == 1
        error = refusal(one, ReleaseMessage(round=3, release=None))
        assert (error.reason, error.field) == (Reason.FUTURE_ROUND, "round")
        one.driver.returned("b", Standing(epoch=1, round=50))
        assert one.driver.agent.round == 1
        one.driver.receive("b", ReleaseMessage(round=2, release=None))


async def test_free_rounds_follow_a_neighbour_far_ahead_at_most_once_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(tmp_path, deadline=8, answers=False) as one:
        one.driver.start(heard=0)
        await until(lambda: one.posts)
        loop = asyncio.get_running_loop()
        now = int(loop.time()) + 1
        with monkeypatch.context() as clock:
            for seconds, number, followed in (
                (0, 1000, True),
                (0, 2000, False),
                (7.875, 3000, False),
                (8, 4000, True),
                (15.875, 5000, False),
                (16, 6000, True),
            ):
                clock.setattr(loop, "time", lambda at=now + seconds: at)
                message, before = ReleaseMessage(round=number, release=None), one.greetings
                if followed:
                    one.driver.receive("b", message)
                else:
                    assert refusal(one, message).reason is Reason.FUTURE_ROUND
                assert (one.driver.agent.round == number) == followed
                assert one.greetings == before + followed


async def test_a_neighbour_a_little_ahead_is_followed_without_greeting_all(tmp_path: Path) -> None:
    async with driven(tmp_path, answers=False) as one:
        one.driver.start(heard=0)
        await until(lambda: one.posts)
        one.driver.returned("b", Standing(epoch=1, round=1 + SUSPECT_AFTER))
        assert one.driver.agent.round == 1 + SUSPECT_AFTER
        assert one.greetings == 0
