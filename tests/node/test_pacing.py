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
