"""When rounds begin: by a clock that may be wrong, or as fast as neighbours deliver."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from colme.node.config import NodeConfig
from colme.node.rounds import LARGEST_DRIFT, Clock, Free, make_pacing

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
    ("seconds", "expected"),
    [(0, 1), (9.99, 1), (10, 2), (25, 3), (10 * 86_400, 86_401)],
)
def test_round_k_begins_k_minus_1_intervals_after_the_start(seconds: float, expected: int) -> None:
    assert Hands(START + seconds).pacing().next_round(0, alone=False) == (expected, 0.0)


@pytest.mark.parametrize("alone", [True, False])
def test_before_the_start_it_waits_for_the_first_round(alone: bool) -> None:
    assert Hands(START - 3).pacing().next_round(0, alone=alone) == (1, 3.0)


def test_within_a_round_that_has_been_it_waits_for_the_next() -> None:
    hands = Hands(START + 12)
    assert hands.pacing().next_round(2, alone=False) == (3, 8.0)


def test_rounds_that_were_missed_are_skipped() -> None:
    hands = Hands(START + 1)
    clock = hands.pacing()
    assert clock.next_round(0, alone=False) == (1, 0.0)
    hands.passes(53)
    assert clock.next_round(1, alone=False) == (6, 0.0)
    assert clock.next_round(6, alone=False) == (7, 6.0)
    assert hands.jumps == []


def test_a_clock_put_back_makes_it_wait_and_no_round_comes_twice() -> None:
    hands = Hands(START + 55)
    clock = hands.pacing()
    assert clock.next_round(5, alone=False) == (6, 0.0)
    hands.wall -= 30
    assert clock.next_round(6, alone=False) == (7, 35.0)
    hands.passes(34)
    number, wait = clock.next_round(6, alone=False)
    assert (number, wait) == (7, 1.0)
    hands.passes(1)
    assert clock.next_round(6, alone=False) == (7, 0.0)
    assert hands.jumps == [-30.0]


def test_a_clock_put_forward_skips_rounds() -> None:
    hands = Hands(START + 5)
    clock = hands.pacing()
    hands.wall += 100
    assert clock.next_round(1, alone=False) == (11, 0.0)
    assert hands.jumps == [100.0]


def test_a_jump_is_told_once_with_its_size() -> None:
    hands = Hands(START)
    clock = hands.pacing()
    clock.next_round(0, alone=False)
    hands.passes(2)
    hands.wall -= 7
    for _ in range(3):
        clock.next_round(1, alone=False)
        hands.passes(1)
    assert hands.jumps == [-7.0]


def test_a_clock_that_is_slewed_does_not_jump() -> None:
    hands = Hands(START)
    clock = hands.pacing()
    for _ in range(50):
        hands.passes(1)
        hands.wall += 0.9 * LARGEST_DRIFT
        clock.next_round(0, alone=False)
    assert hands.jumps == []


def test_a_machine_that_slept_has_no_wrong_clock() -> None:
    """However long nobody looked, only the difference of the two clocks is a jump."""
    hands = Hands(START)
    clock = hands.pacing()
    hands.passes(86_400)
    assert clock.next_round(1, alone=False) == (8641, 0.0)
    assert hands.jumps == []


def free(hands: Hands) -> Free:
    return Free(deadline=4.0, elapsed=lambda: hands.elapsed)


def test_free_rounds_follow_each_other_at_once_where_there_are_neighbours() -> None:
    pacing = free(Hands(0))
    assert [pacing.next_round(n, alone=False) for n in (0, 1, 7)] == [(1, 0.0), (2, 0.0), (8, 0.0)]


def test_alone_the_first_round_begins_at_once_and_each_further_one_a_deadline_later() -> None:
    hands = Hands(0)
    pacing = free(hands)
    assert pacing.next_round(0, alone=True) == (1, 0.0)
    assert pacing.next_round(1, alone=True) == (2, 4.0)
    hands.passes(3)
    assert pacing.next_round(1, alone=True) == (2, 1.0)
    hands.passes(1)
    assert pacing.next_round(1, alone=True) == (2, 0.0)
    assert pacing.next_round(2, alone=True) == (3, 4.0)


def test_one_who_is_left_alone_waits_from_its_last_round_on() -> None:
    hands = Hands(0)
    pacing = free(hands)
    hands.passes(100)
    pacing.next_round(1, alone=False)
    hands.passes(1)
    assert pacing.next_round(2, alone=True) == (3, 3.0)
    assert pacing.next_round(2, alone=False) == (3, 0.0)


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
