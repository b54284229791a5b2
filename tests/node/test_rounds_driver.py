"""The driver in rounds: when they begin and end, who is waited for, and who is followed how far."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from colme.node.config import NodeConfig
from colme.node.rounds import LARGEST_DRIFT, Clock, Free, make_pacing
from colme.node.wire.codec import Reason, Refused, Standing
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


START, INTERVAL = 1000.0, 10.0


@dataclass
class Hands:
    """A clock to set, and the time that really passes."""

    wall: float
    elapsed: float = 0.0
    jumps: list[float] = field(default_factory=list)

    def passes(self, seconds: float) -> None:
        self.wall += seconds
        self.elapsed += seconds

    def pacing(self) -> Clock:
        return Clock(
            START, INTERVAL, self.jumps.append, now=lambda: self.wall, elapsed=lambda: self.elapsed
        )


@pytest.mark.parametrize(
    ("seconds", "past", "expected"),
    [
        *((seconds, 0, (number, 0.0)) for seconds, number in ((0, 1), (9.99, 1), (10, 2), (25, 3))),
        (10 * 86_400, 0, (86_401, 0.0)),
        (-3, 0, (1, 3.0)),
        (12, 2, (3, 8.0)),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_round_k_begins_k_minus_1_intervals_after_the_start(
    seconds: float, past: int, expected: tuple[int, float], alone: bool
) -> None:
    """Before the start it waits for it; within a round that has been, for the next."""
    assert Hands(START + seconds).pacing().next_round(past, alone=alone) == expected


Look = tuple[float, float, int, tuple[int, float]]
"""Seconds that pass, seconds that the clock is put forward, the last round, and what is next."""
DRIFT = 0.9 * LARGEST_DRIFT
CLOCKS: dict[str, tuple[list[Look], list[float]]] = {
    "missed rounds are skipped": ([(1, 0, 0, (1, 0)), (53, 0, 1, (6, 0)), (0, 0, 6, (7, 6))], []),
    "put back it waits, and no round comes twice": (
        [(55, 0, 5, (6, 0)), (0, -30, 6, (7, 35)), (34, 0, 6, (7, 1)), (1, 0, 6, (7, 0))],
        [-30],
    ),
    "put forward it skips rounds": ([(5, 100, 1, (11, 0))], [100]),
    "a jump is told once": (
        [(0, 0, 0, (1, 0)), (2, -7, 1, (2, 15)), (1, 0, 1, (2, 14)), (1, 0, 1, (2, 13))],
        [-7],
    ),
    "slewed it does not jump": (
        [(1, DRIFT, 19, (20, 190 - n * (1 + DRIFT))) for n in range(1, 51)],
        [],
    ),
    "a machine that slept has no wrong clock": ([(86_400, 0, 1, (8641, 0))], []),
}


@pytest.mark.parametrize(("looks", "jumps"), CLOCKS.values(), ids=list(CLOCKS))
def test_a_clock_that_is_wrong_is_told_of_and_no_round_comes_twice(
    looks: list[Look], jumps: list[float]
) -> None:
    """However long nobody looked, only the difference of the two clocks is a jump."""
    hands = Hands(START)
    clock = hands.pacing()
    for seconds, put, past, expected in looks:
        hands.passes(seconds)
        hands.wall += put
        assert clock.next_round(past, alone=False) == pytest.approx(expected)
    assert hands.jumps == pytest.approx(jumps)


FREE: dict[str, list[tuple[float, int, bool, tuple[int, float]]]] = {
    "at once where there are neighbours": [(0, n, False, (n + 1, 0.0)) for n in (0, 1, 7)],
    "alone at once, and then a deadline later each": [
        (0, 0, True, (1, 0.0)),
        (0, 1, True, (2, 4.0)),
        (3, 1, True, (2, 1.0)),
        (1, 1, True, (2, 0.0)),
        (0, 2, True, (3, 4.0)),
    ],
    "left alone it waits from its last round on": [
        (100, 1, False, (2, 0.0)),
        (1, 2, True, (3, 3.0)),
        (0, 2, False, (3, 0.0)),
    ],
}


@pytest.mark.parametrize("looks", FREE.values(), ids=list(FREE))
def test_free_rounds_follow_each_other(
    looks: list[tuple[float, int, bool, tuple[int, float]]],
) -> None:
    """Seconds that pass, the last round, whether nobody is there, and what is next."""
    hands = Hands(0)
    pacing = Free(deadline=4.0, elapsed=lambda: hands.elapsed)
    for seconds, past, alone, expected in looks:
        hands.passes(seconds)
        assert pacing.next_round(past, alone=alone) == expected


def test_only_free_rounds_follow_a_neighbour_that_is_far_ahead() -> None:
    """By a clock, whoever is far ahead is wrong."""

    def made(rounds: str) -> object:
        config = NodeConfig.build(
            {
                "identity": Path("i"),
                "state": Path("s"),
                "listen": "127.0.0.1:0",
                "agreed": {"bounds": [0, 1], "algorithm": "paper", "rounds": rounds},
            }
        )
        return make_pacing(config, lambda _: None)

    by_clock, as_delivered = made("clock"), made("free")
    assert isinstance(by_clock, Clock)
    assert isinstance(as_delivered, Free)
    assert (by_clock.follows, as_delivered.follows) == (False, True)
