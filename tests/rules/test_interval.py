"""The owner's interval: Student's quantiles, and how often the truth lies within."""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from colme import Agent, Network, Profile, SeededLaplace
from colme.rules.interval import (
    QUANTILE,
    answer_margin,
    believed_variance,
    empirical_margin,
    known_variance_margin,
    student_quantile,
)
from support.tracked import tracking


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
    assert known_variance_margin(4.0, 100) == pytest.approx(QUANTILE * 2 / 10)
    assert empirical_margin(4.0, 101) == pytest.approx(student_quantile(100) * 2 / 10)


def test_an_answer_that_is_all_shared_needs_no_margin_of_its_own() -> None:
    assert answer_margin(1.0, 0.25, inf) == QUANTILE * 0.5
    assert answer_margin(0.5, 0.25, 3.0) == pytest.approx(QUANTILE * 0.25 + 1.5)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [4.0, inf])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(epsilon: float) -> None:
    """Two classes, told apart or not yet; never below 95% by more than three standard errors.

    Agents of a class share an answer, so a run counts as two independent ones, not as eight.
    """
    runs, names = 40, "abcdefgh"
    truth = dict(zip(names, [0.3] * 4 + [0.7] * 4, strict=True))
    profile = Profile.bounded(0, 1, epsilon=epsilon, sigma2=0.01)
    covered, shared = [], 0
    for run in range(runs):
        generator = np.random.default_rng([5, run])
        network = Network(
            (Agent(tracking(name, tuple(set(names) - {name}), profile)) for name in names),
            SeededLaplace(generator),
        )
        for _ in range(40):
            for name, mean in truth.items():
                for sample in mean + 0.1 * sqrt(3) * generator.uniform(-1, 1, 12):
                    network.observe(name, float(sample))
            network.run_round()
        answers = {name: network.estimate(name) for name in names}
        shared += sum(answer.collaborative for answer in answers.values())
        covered.append(
            np.mean([answers[name].low <= truth[name] <= answers[name].high for name in names])
        )
    assert shared > 0.9 * runs * len(names), "else only the local interval was tried"
    assert np.mean(covered) >= 0.95 - 3 * sqrt(0.95 * 0.05 / (2 * runs))


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
