"""The paper's algorithm, foreseen by formulas."""

import numpy as np
import pytest

from colme.plan.forecast import RARELY, SETTLED, STEPPED, _acceptance, paper, told_apart
from colme.plan.question import Question
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


def test_classes_are_told_apart_where_the_test_hardly_ever_errs() -> None:
    apart = told_apart(QUESTION)
    assert apart is not None

    def share(count: int) -> float:
        return _acceptance(QUESTION, count, 0.2)

    assert share(apart) <= RARELY < share(apart - 1)
    assert all(share(apart * k) <= RARELY for k in (2, 5, 40))


def test_it_takes_longer_where_means_are_nearer_or_noise_is_louder() -> None:
    def samples(**changes: object) -> int:
        found = told_apart(QUESTION.model_copy(update=changes))
        assert found is not None
        return found

    assert samples(means=(0.2, 0.3, 0.8)) > 2 * samples()
    assert samples(epsilon=0.5) > samples() > samples(epsilon=4)
    assert samples(half_range=2.0) > samples()
    assert samples(means=(0.4,)) < 10


def test_nothing_is_told_apart_where_everybodys_mean_is_its_own() -> None:
    spread = QUESTION.model_copy(update={"spread": 0.1})
    assert told_apart(spread) is None
    assert np.isnan(paper(spread, 10**6, seed=1).ratio)
    assert told_apart(QUESTION.model_copy(update={"means": (0.4, 0.4001)})) is None


def test_nothing_is_said_before_edges_have_settled() -> None:
    question = QUESTION.model_copy(update={"epsilon": 4, "degree": 20})
    apart = told_apart(question)
    assert apart is not None
    assert np.isnan(paper(question, apart, seed=1).ratio)
    settled = paper(question, int(SETTLED * apart) + 1, seed=1)
    assert settled.ratio < 1
