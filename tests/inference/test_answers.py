"""Everybody's answers: what they do not depend on, and what no board can do to them."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.inference.answers import Owners, Releases, answers, empirical_margin
from colme.protocol.own_data import believed_variance
from support.released import HALF_RANGE, SIGMA2, World, classes, moved, owners, table, world


def paper(seed: int = 1, *, agents: int = 60, count: int = 100, epsilon: float = 4.0) -> World:
    generator = np.random.default_rng(seed)
    return world(classes(agents, generator), count=count, epsilon=epsilon, generator=generator)


def only(who: Owners, a: int) -> Owners:
    """One of them."""
    one = slice(a, a + 1)
    return Owners(
        mean=who.mean[one],
        count=who.count[one],
        variance=who.variance[one],
        known=who.known[one],
        half_range=who.half_range[one],
        index=who.index[one],
    )


@pytest.mark.parametrize("agents", [60, 700])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(shift=st.floats(-100, 100), exponent=st.floats(-6, 6))
def test_neither_zero_nor_the_unit_matters(agents: int, shift: float, exponent: float) -> None:
    """No answer changes by more than 1e-6 of its sd when all data and bounds are moved."""
    scale = 10**exponent
    here = paper(agents=agents)
    there = moved(here, shift=scale * shift, scale=scale)
    one, other = answers(here.board, here.owners), answers(there.board, there.owners)
    difference = (other.value - scale * shift) / scale - one.value
    assert np.abs(difference / one.sd).max() < 1e-6
    np.testing.assert_allclose(other.sd, scale * one.sd, rtol=1e-6)
    np.testing.assert_allclose(other.trust, one.trust, atol=1e-6)


@pytest.mark.parametrize("agents", [60, 700])
def test_the_order_of_records_does_not_matter(agents: int) -> None:
    made = paper(agents=agents)
    order = np.random.default_rng(2).permutation(agents)
    board = made.board
    mixed = replace(
        board,
        x=board.x[order],
        data=board.data[order],
        noise=board.noise[order],
        half_range=board.half_range[order],
        variance=board.variance[order],
        error=board.error[order],
    )
    one = answers(board, made.owners)
    other = answers(mixed, replace(made.owners, index=np.argsort(order)))
    assert np.abs((one.value - other.value) / one.sd).max() < 1e-6


def test_one_at_a_time_or_all_at_once() -> None:
    made = paper()
    together = answers(made.board, made.owners)
    for a in (0, 17, 59):
        alone = answers(made.board, only(made.owners, a))
        assert alone.value[0] == pytest.approx(together.value[a], rel=1e-12)
        assert alone.sd[0] == pytest.approx(together.sd[a], rel=1e-9)


def test_records_of_another_variance_are_not_asked() -> None:
    """Like with like: five alike are too few, six are enough."""
    made = paper(agents=20)
    for alike, asked in ((5, False), (6, True)):
        variance = np.where(np.arange(20) < alike, SIGMA2, SIGMA2 / 2.1)
        found = answers(replace(made.board, variance=variance), only(made.owners, 0))
        assert (found.models[0] is not None) == asked


@pytest.mark.parametrize(("claimants", "weight"), [(1, 1), (16, 4)])
def test_what_a_record_weighs_is_bounded(claimants: int, weight: int) -> None:
    """Those who claim a hundred times the precision move nobody more than so many of them would.

    Few weigh as much as everybody else; a third or more of all records, four times as much.
    """
    count, off = 300, np.append(np.zeros(40), np.full(claimants, 0.01))
    board, who = table(off + 0.5, epsilon=4.0, count=count), owners(np.array([0.5]), count=count)
    who = replace(who, index=np.array([-1]))
    v = np.full(off.size, 0.001)
    claims = replace(board, data=np.where(off > 0, 0.01, 1.0) * v / SIGMA2, noise=0 * v)
    many = np.append(np.zeros(40), np.full(weight * claimants, 0.01))
    v = np.full(many.size, 0.001)
    honest = replace(table(many + 0.5, epsilon=4.0, count=count), data=v / SIGMA2, noise=0 * v)
    by_claims = answers(claims, who).value[0] - 0.5
    by_numbers = answers(honest, who).value[0] - 0.5
    assert 0 < by_claims <= 1.2 * by_numbers


def test_an_answer_goes_as_far_as_the_limit_and_says_what_was_cut() -> None:
    """A class that is certain, and a mean of 20 samples 2.5 standard deviations off it."""
    board = table(np.full(200, 0.5), epsilon=4.0, count=100_000)
    # Without noise they may well agree.
    board = replace(board, noise=0 * board.noise)
    sd = (SIGMA2 / 20) ** 0.5
    found = answers(board, owners(np.array([0.5 + 2.5 * sd]), count=20))
    assert found.value[0] == pytest.approx(0.5 + 1.5 * sd)
    assert found.sd[0] > sd
    assert 0 < found.trust[0] < 0.5


def test_ones_own_record_counts_as_alike_whatever_it_says() -> None:
    made = paper(agents=20)
    variance = np.where(np.arange(20) < 6, SIGMA2, SIGMA2 / 2.1)
    variance[0] = SIGMA2 / 10
    found = answers(replace(made.board, variance=variance), only(made.owners, 0))
    assert found.models[0] is not None
    assert found.models[0].count == 6


def test_variances_that_may_be_nothing_but_noise_are_not_used() -> None:
    """An average of one and a half standard errors says something, one of less does not."""
    made = paper()
    who = replace(made.owners, known=np.zeros(60, dtype=np.bool_))
    for error, used in ((1.2, True), (2.0, False)):
        found = answers(replace(made.board, error=np.full(60, error)), who)
        assert (found.models[0] is not None) == used


@st.composite
def any_board(draw: st.DrawFn) -> Releases:
    """Whatever an adversary may put there, within what a table holds."""
    size = draw(st.integers(0, 25))

    def column(low: float, high: float) -> np.ndarray:
        return np.array(draw(st.lists(st.floats(low, high), min_size=size, max_size=size)))

    return Releases(
        x=column(-4, 5),
        data=10.0 ** column(-9, 0),
        noise=10.0 ** column(-12, 3),
        half_range=np.ones(size),
        variance=column(-1, 1),
        error=np.maximum(column(-1, 1), 0),
        origin=0.5,
        unit=1.0,
    )


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    board=any_board(),
    mean=st.floats(-0.5, 1.5),
    count=st.integers(1, 10**6),
    variance=st.floats(0, 1),
    known=st.booleans(),
)
def test_no_board_whatever_moves_an_answer_farther_than_the_limit(
    board: Releases, mean: float, count: int, variance: float, known: bool
) -> None:
    """Limited translation: ln(n) / 3 standard deviations, less early; all numbers are finite."""
    who = Owners(
        mean=np.array([mean]),
        count=np.array([float(count)]),
        variance=np.array([variance]),
        known=np.array([known]),
        half_range=np.ones(1),
        index=np.array([-1]),
    )
    found = answers(board, who)
    # Unknown, the variance is drawn to the board's average; never beyond what bounds allow.
    largest = variance if known else 1.0
    limit = max(1.0, min(log(count) / 3, log(count) ** 2 / 17)) * (largest / count) ** 0.5
    assert abs(found.value[0] - mean) <= limit * (1 + 1e-9)
    assert np.isfinite(found.value[0])
    assert np.isfinite(found.sd[0])
    assert 0 <= found.trust[0] <= 1
    assert 1 <= found.class_size[0] <= board.x.size + 1


def test_who_is_not_what_it_is_taken_for_answers_alone() -> None:
    """Unknown, a variance is drawn to the average: not where one's own samples say otherwise."""
    made = paper()
    noisy = replace(made.board, error=np.full(60, 0.01))
    unknown = replace(made.owners, known=np.zeros(60, dtype=np.bool_))
    assert answers(noisy, unknown).trust.max() > 0
    # At 100 samples: a factor 2 and two standard errors, that is 2.65.
    for factor, asks in ((1 / 2.5, True), (1 / 2.9, False), (0, False)):
        found = answers(noisy, replace(unknown, variance=unknown.variance * factor))
        assert (found.models[0] is not None) == asks
        assert asks or found.value.tolist() == unknown.mean.tolist()


def test_samples_that_were_all_the_same_have_an_interval_by_the_rule_of_three() -> None:
    made = paper(agents=3)
    who = replace(made.owners, variance=np.zeros(3), known=np.zeros(3, dtype=np.bool_))
    np.testing.assert_allclose(answers(made.board, who).margin, 2 * HALF_RANGE * 3 / 100)
    some = replace(who, variance=np.full(3, 0.01))
    margin = empirical_margin(0.01, 100)
    np.testing.assert_allclose(answers(made.board, some).margin, margin)


RUNS = 8


def test_in_the_papers_setting_it_is_better_than_alone_and_says_how_sure_it_is() -> None:
    """MSE / Local at epsilon = 1: at most .6 at t = 100 and .1 at t = 300; coverage above 90%."""
    for count, most in ((100, 0.6), (300, 0.1)):
        ratios, covered = [], []
        for run in range(RUNS):
            made = paper(run, agents=200, count=count, epsilon=1.0)
            found = answers(made.board, made.owners)
            error, local = found.value - made.truth, made.owners.mean - made.truth
            ratios.append((error**2).mean() / (local**2).mean())
            covered.append((np.abs(error) <= found.margin).mean())
        standard_error = np.std(ratios) / RUNS**0.5
        assert np.mean(ratios) < most + 2 * standard_error
        assert np.mean(covered) > 0.9


def test_who_say_the_same_are_not_listened_to() -> None:
    """60 liars among 200 say .6: the answer is as if they had said nothing."""
    generator = np.random.default_rng(4)
    made = paper(4, agents=200, epsilon=1.0)
    liar = np.isin(np.arange(200), generator.permutation(200)[:60])
    board = replace(made.board, x=np.where(liar, 0.6, made.board.x))
    silent = replace(
        board,
        x=board.x[~liar],
        data=board.data[~liar],
        noise=board.noise[~liar],
        half_range=board.half_range[~liar],
        variance=board.variance[~liar],
        error=board.error[~liar],
    )
    honest = np.flatnonzero(~liar)
    who = replace(
        made.owners,
        mean=made.owners.mean[honest],
        count=made.owners.count[honest],
        variance=made.owners.variance[honest],
        known=made.owners.known[honest],
        half_range=made.owners.half_range[honest],
    )
    one = answers(board, replace(who, index=honest))
    other = answers(silent, replace(who, index=np.arange(honest.size)))
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12)


def test_intervals_hold_where_all_declare_twice_their_variance() -> None:
    """One sees it in one's own samples alone. Each of 60 boards, shortly before classes part, is
    one draw, as all its intervals may miss together: .972 with a standard error of .005; it would
    be .932 +- .007 if others' were believed as they are.
    """
    count, covered = 49, []
    believed = believed_variance(2 * SIGMA2, SIGMA2, count, HALF_RANGE)
    for seed in range(60):
        made = paper(seed, agents=200, count=count)
        board = replace(made.board, variance=2 * made.board.variance)
        found = answers(board, replace(made.owners, variance=np.full(200, believed)))
        covered.append(np.mean(np.abs(found.value - made.truth) <= found.margin))
    assert np.mean(covered) > 0.95
