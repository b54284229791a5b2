"""Tracking and the paper's algorithm, foreseen by formulas."""

from dataclasses import replace

import numpy as np
import pytest

from colme.planner import Question
from colme.planner.rounds import (
    RARELY,
    SETTLED,
    STEPPED,
    _acceptance,
    late,
    rounds,
    told_apart,
)
from colme.rules.consensus import stepped_alpha

QUESTION = Question()


def test_the_stepped_schedule_has_20_19ths_for_the_2_of_theorem_1() -> None:
    """Of a consensus of means X_s, whose covariances are 1 / max(s, s'), at t = 3,000: to 1%."""
    t = 3000
    weights = np.zeros(t)
    for s in range(1, t + 1):
        alpha = stepped_alpha(s)
        weights *= alpha
        weights[s - 1] = 1 - alpha
    rounds_ = np.arange(1, t + 1)
    covariance = 1 / np.maximum(rounds_[:, None], rounds_)
    assert t * weights @ covariance @ weights == pytest.approx(STEPPED, rel=0.01)


@pytest.mark.parametrize("algorithm", ["tracking", "paper"])
def test_classes_are_told_apart_where_the_test_hardly_ever_errs(algorithm: str) -> None:
    apart = told_apart(QUESTION, algorithm)
    assert apart is not None
    share = _acceptance(QUESTION, algorithm)  # type: ignore[arg-type]
    assert share(apart, 0.2) <= RARELY < share(apart - 1, 0.2)
    assert all(share(apart * k, 0.2) <= RARELY for k in (2, 5, 40))


@pytest.mark.parametrize("algorithm", ["tracking", "paper"])
def test_it_takes_longer_where_means_are_nearer_or_noise_is_louder(algorithm: str) -> None:
    def samples(**changes: object) -> int:
        found = told_apart(replace(QUESTION, **changes), algorithm)  # type: ignore[arg-type]
        assert found is not None
        return found

    assert samples(means=(0.2, 0.3, 0.8)) > 2 * samples()
    assert samples(epsilon=0.5) > samples() > samples(epsilon=4)
    assert samples(half_range=2.0) > samples()
    assert samples(means=(0.4,)) < 10


def test_nothing_is_told_apart_where_everybodys_mean_is_its_own() -> None:
    spread = replace(QUESTION, spread=0.1)
    assert told_apart(spread, "tracking") is None
    assert rounds(spread, "tracking", 10**6, seed=1) == 1.0
    assert rounds(spread, "paper", 10**6, seed=1) is None
    assert told_apart(replace(QUESTION, means=(0.4, 0.4001)), "paper") is None


def test_tracking_goes_from_alone_to_its_formula_and_never_back() -> None:
    apart = told_apart(QUESTION, "tracking")
    assert apart is not None
    counts = np.geomspace(10, 20 * apart, 40).astype(int).tolist()
    ratios = [rounds(QUESTION, "tracking", count, seed=1) for count in counts]
    assert ratios[0] == 1.0
    assert ratios == sorted(ratios, reverse=True)  # type: ignore[type-var]
    assert ratios[-1] == late(QUESTION, "tracking", counts[-1], seed=1) < 0.25


def test_of_the_paper_nothing_is_said_before_its_edges_have_settled() -> None:
    question = replace(QUESTION, epsilon=4, degree=20)
    apart = told_apart(question, "paper")
    assert apart is not None
    settled = int(SETTLED["paper"] * apart) + 1
    assert rounds(question, "paper", apart, seed=1) is None
    assert rounds(question, "paper", settled, seed=1) == late(question, "paper", settled, seed=1)
