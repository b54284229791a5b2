"""The seeded source draws from the discrete Laplace distribution."""

import numpy as np
import pytest
from scipy import stats

from colme.privacy.mechanism import SeededLaplace


@pytest.mark.parametrize("scale", [0.3, 2.0, 50.0])
def test_draws_follow_the_discrete_laplace_distribution(scale: float) -> None:
    """Chi-squared over the bins that expect ten or more of 20,000 draws, at level 1/1,000."""
    source = SeededLaplace(5)
    draws = np.array([source(scale) for _ in range(20_000)])
    law = stats.dlaplace(1 / scale)
    values = np.arange(-600, 601)
    expected = law.pmf(values) * len(draws)
    kept = expected >= 10
    observed = np.array([(draws == value).sum() for value in values[kept]])
    rest = len(draws) - observed.sum()
    result = stats.chisquare(
        np.append(observed, rest), np.append(expected[kept], len(draws) - expected[kept].sum())
    )
    assert result.pvalue > 1e-3


def test_the_same_seed_gives_the_same_noise() -> None:
    first, second = SeededLaplace(9), SeededLaplace(9)
    assert [first(1e6) for _ in range(5)] == [second(1e6) for _ in range(5)]


def test_no_privacy_means_no_noise() -> None:
    assert SeededLaplace(1)(0.0) == 0


def test_the_scale_may_be_astronomical() -> None:
    assert isinstance(SeededLaplace(1)(1e40), int)
