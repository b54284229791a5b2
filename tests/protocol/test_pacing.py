"""When rounds begin: by a clock that may be wrong, or as fast as neighbours deliver."""

from math import inf

import pytest

from colme.protocol.events import Begin, Deadline, Pace, Returned, Start
from colme.protocol.messages import ReleaseMessage
from colme.protocol.rounds.pacing import EARLY_MESSAGES, FARTHEST, RETURN_DEADLINES, Pacing

CLOCK, INTERVAL, DEADLINE = 1000.0, 10.0, 4.0


def by_clock(now: float, *, current: int = 0, last: int | None = None, heard: int = 0) -> Pacing:
    pace = Pace(interval=INTERVAL, deadline=DEADLINE, clock=CLOCK, last=last)
    return Pacing(Start(pace=pace, round=heard), current, now)


def free(
    now: float = 0.0, *, current: int = 0, last: int | None = None, heard: int = 0, after: int = 0
) -> Pacing:
    pace = Pace(interval=1.0, deadline=DEADLINE, last=last)
    return Pacing(Start(pace=pace, round=heard, after=after), current, now)


def went(pacing: Pacing, number: int, now: float, *, alone: bool = False) -> None:
    """A round begins and ends at once."""
    pacing.begin(number, now)
    pacing.watch(number, "idle", idle=True, alone=alone, now=now)


@pytest.mark.parametrize(
    ("seconds", "number"),
    [(0, 1), (9.99, 1), (10, 2), (25, 3), (10 * 86_400, 86_401)],
)
def test_round_k_begins_k_minus_1_intervals_after_the_start(seconds: float, number: int) -> None:
    assert by_clock(CLOCK + seconds).due(CLOCK + seconds) == Begin(number, ())


def test_before_its_time_no_round_begins() -> None:
    pacing = by_clock(CLOCK - 3)
    assert (pacing.due(CLOCK - 3), pacing.wake_at) == (None, CLOCK)
    went(pacing, 2, CLOCK + 12)
    assert (pacing.due(CLOCK + 12), pacing.wake_at) == (None, CLOCK + 20)


def test_rounds_that_were_missed_are_skipped() -> None:
    pacing = by_clock(CLOCK + 1)
    went(pacing, 1, CLOCK + 1)
    assert pacing.due(CLOCK + 54) == Begin(6, ())


def test_a_clock_put_back_makes_it_wait_and_no_round_comes_twice() -> None:
    pacing = by_clock(CLOCK + 55, current=5)
    went(pacing, 6, CLOCK + 55)
    pacing.jump(-30)
    assert (pacing.due(CLOCK + 89), pacing.wake_at) == (None, CLOCK + 90)
    assert pacing.due(CLOCK + 90) == Begin(7, ())


def test_a_clock_put_forward_skips_rounds() -> None:
    pacing = by_clock(CLOCK + 5)
    went(pacing, 1, CLOCK + 5)
    pacing.jump(100)
    assert pacing.due(CLOCK + 5) == Begin(11, ())


def test_free_rounds_follow_each_other_at_once_if_there_are_neighbours() -> None:
    pacing = free()
    for number in (1, 2, 3):
        assert pacing.due(0) == Begin(number, ())
        went(pacing, number, 0)


def test_alone_the_first_round_begins_at_once_and_each_further_one_a_deadline_later() -> None:
    pacing = free()
    assert pacing.due(0) == Begin(1, ())
    went(pacing, 1, 0, alone=True)
    assert (pacing.due(3.9), pacing.wake_at) == (None, 4)
    assert pacing.due(4) == Begin(2, ())


def test_an_exchange_that_opens_waits_for_a_deadline() -> None:
    pacing = free()
    pacing.begin(1, 0)
    pacing.watch(1, "release", idle=False, alone=False, now=0)
    pacing.watch(1, "release", idle=False, alone=False, now=3)
    assert (pacing.due(3), pacing.wake_at) == (None, 4)
    assert pacing.due(4) == Deadline()
    pacing.watch(1, "size", idle=False, alone=False, now=4)
    assert pacing.wake_at == 8
    pacing.watch(1, "idle", idle=True, alone=False, now=5)
    assert pacing.due(5) == Begin(2, ())


@pytest.mark.parametrize("pacing", [free(last=2), by_clock(CLOCK, last=2)])
def test_a_trial_ends_with_its_last_round(pacing: Pacing) -> None:
    now = CLOCK + 15
    assert not pacing.is_over
    went(pacing, 2, now)
    assert pacing.is_over
    assert (pacing.due(now + 100), pacing.wake_at) == (None, None)


def test_a_trial_whose_end_was_missed_is_over() -> None:
    pacing = by_clock(CLOCK, last=2)
    assert pacing.due(CLOCK + 500) is None
    assert pacing.is_over


def test_rounds_that_a_lost_state_may_have_had_do_not_begin() -> None:
    assert free(after=7).due(0) == Begin(8, ())


class TestFollowing:
    """Free rounds have no other measure than the neighbours."""

    def test_it_begins_where_the_neighbours_are(self) -> None:
        assert free(heard=50).due(0) == Begin(50, ())
        assert free(heard=1).due(0) == Begin(1, ())
        assert by_clock(CLOCK, heard=50).due(CLOCK) == Begin(1, ()), "who is far ahead is wrong"

    @pytest.mark.parametrize("number", [2, FARTHEST + 2])
    def test_not_by_one_round_nor_farther_than_ever_happens(self, number: int) -> None:
        pacing = free()
        went(pacing, 1, 0)
        assert not pacing.follow("b", number, 0)
        assert pacing.follow("b", 3, 0)
        assert (pacing.due(0), pacing.wake_at) == (Begin(3, ()), -inf)

    def test_a_neighbour_may_ask_for_it_once_a_deadline(self) -> None:
        pacing = free()
        went(pacing, 1, 0)
        for now, number, follows in ((0, 10, True), (3.9, 20, False), (4, 30, True)):
            assert pacing.follow("b", number, now) == follows
            if follows:
                went(pacing, number, now)

    def test_not_past_the_end_of_a_trial(self) -> None:
        assert not free(last=5).follow("b", 6, 0)


def test_messages_that_come_early_wait_for_the_next_round_but_not_without_end() -> None:
    pacing = free()
    assert pacing.holds_messages
    messages = [ReleaseMessage(round=n, release=None) for n in range(1, EARLY_MESSAGES + 3)]
    for message in messages:
        pacing.hold("b", message)
    went(pacing, 1, 0)
    assert not pacing.holds_messages
    assert pacing.held() == [("b", message) for message in messages[2:]]
    assert pacing.held() == []


def test_a_neighbour_that_returns_time_and_again_is_not_waited_for_in_vain() -> None:
    pacing = free()
    assert pacing.waits_for(Returned("b", epoch=1), 0)
    assert not pacing.waits_for(Returned("b", epoch=1), RETURN_DEADLINES * DEADLINE - 0.1)
    assert pacing.waits_for(Returned("b", epoch=1), RETURN_DEADLINES * DEADLINE)
    assert pacing.waits_for(Returned("b", epoch=2), RETURN_DEADLINES * DEADLINE)
