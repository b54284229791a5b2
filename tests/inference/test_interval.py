"""The owner's interval: quantiles, margins and the variance behind them."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from colme.inference.answers import empirical_margin, student_quantile
from colme.protocol.own_data import QUANTILE, believed_variance


def test_the_quantile_is_the_gaussian_one() -> None:
    assert pytest.approx(stats.norm.ppf(0.975), rel=1e-12) == QUANTILE


@pytest.mark.parametrize("freedom", [3, 4, 5, 10, 30, 1000])
def test_students_quantile_is_good_to_one_percent_from_three_degrees_of_freedom_on(
    freedom: int,
) -> None:
    assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.01)


def test_one_sample_of_unknown_variance_tells_nothing() -> None:
    assert student_quantile(0) == empirical_margin(0.0, 1) == inf


def test_a_margin_falls_with_the_root_of_the_count() -> None:
    assert empirical_margin(4.0, 101) == pytest.approx(student_quantile(100) * 2 / 10)


@given(
    declared=st.floats(0, 1),
    seen=st.floats(0, 1),
    count=st.integers(2, 10**6),
    half_range=st.floats(0.5, 10),
)
def test_a_believed_variance_lies_between_what_was_declared_and_what_is_seen(
    declared: float, seen: float, count: int, half_range: float
) -> None:
    """`seen` has one degree of freedom less than there are samples."""
    unbiased = seen * count / (count - 1)
    found = believed_variance(declared, seen, count, half_range)
    assert min(declared, unbiased) * (1 - 1e-9) <= found <= max(declared, unbiased) + 1e-9


def test_a_declared_variance_is_worth_many_samples_where_events_are_rare() -> None:
    """Bernoulli of 1%: after 100 samples without an event most of it is still believed."""
    assert believed_variance(0.0099, 0.0, 100, 0.5) > 0.6 * 0.0099
    assert believed_variance(2 * 0.25, 0.25, 100, 3**0.5 / 2) < 1.2 * 0.25
