"""Both sources draw from the discrete Laplace distribution; the secure one is OpenDP's."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from colme.errors import ConfigError
from colme.privacy import mechanism
from colme.privacy.mechanism import LARGEST_SECURE_SCALE, SecureLaplace, SeededLaplace
from colme.rules.release import LATTICE_HALF_WIDTH, Profile
from support.refusing import refused

# OpenDP takes no seed. A test of its draws fails by chance less than once in a thousand million.
BY_CHANCE = 1e-9


def fit(draws: list[int], scale: float) -> float:
    """p of a chi-squared test over the values that expect ten draws or more, and the rest."""
    law = stats.dlaplace(1 / scale)
    values = np.arange(-600, 601)
    expected = law.pmf(values) * len(draws)
    kept = expected >= 10
    observed = np.array([(np.array(draws) == value).sum() for value in values[kept]])
    rest = len(draws) - observed.sum()
    result = stats.chisquare(
        np.append(observed, rest), np.append(expected[kept], len(draws) - expected[kept].sum())
    )
    return float(result.pvalue)


@pytest.mark.parametrize("scale", [0.3, 2.0, 50.0])
@pytest.mark.parametrize(
    ("source", "draws", "level"),
    [(SeededLaplace(5), 20_000, 1e-3), (SecureLaplace(), 4_000, BY_CHANCE)],
    ids=["seeded", "secure"],
)
def test_draws_follow_the_discrete_laplace_distribution(
    source: Callable[[float], int], draws: int, level: float, scale: float
) -> None:
    assert fit([source(scale) for _ in range(draws)], scale) > level


@pytest.mark.parametrize("square", [False, True])
def test_secure_draws_have_the_scale_of_a_block(square: bool) -> None:
    """Kolmogorov-Smirnov against Laplace: at such a scale a lattice step moves D by 1e-7."""
    profile = Profile.bounded(0, 1, epsilon=1)
    scale = profile.square_lattice_scale if square else profile.lattice_scale
    source = SecureLaplace()
    draws = np.array([source(scale) for _ in range(4_000)], dtype=float)
    assert stats.kstest(draws / scale, stats.laplace.cdf).pvalue > BY_CHANCE
    assert stats.kstest(2 * draws / scale, stats.laplace.cdf).pvalue < BY_CHANCE


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 1.0, 2.0, 3.7, 8.0, 100.0])
def test_opendp_promises_the_epsilon_that_the_profile_does(epsilon: float) -> None:
    """Its privacy map, which rounds up, for a sample that moves from one bound to the other."""
    scale = Profile.bounded(-3, 11, epsilon=epsilon).lattice_scale
    promised = SecureLaplace().promised_epsilon(2 * LATTICE_HALF_WIDTH, scale)
    assert epsilon * (1 - 1e-15) <= promised <= epsilon


def test_squares_with_less_noise_would_lose_more() -> None:
    """B = R^2 / epsilon, as if a square in [0, R^2] had an epsilon of its own: 25/16 epsilon."""
    width = 64
    lattice = range(-width, width + 1)
    a, b = 2 * width, width * width
    losses = {(u, v): abs(u - v) / a + abs(u * u - v * v) / b for u in lattice for v in lattice}
    assert max(losses.values()) == pytest.approx(25 / 16, rel=1e-3)


def test_the_same_seed_gives_the_same_noise() -> None:
    first, second = SeededLaplace(9), SeededLaplace(9)
    assert [first(1e6) for _ in range(5)] == [second(1e6) for _ in range(5)]


def test_secure_noise_never_repeats() -> None:
    """Ten draws of scale 2^50 agree by chance once in 10^150."""
    first, second = SecureLaplace(), SecureLaplace()
    assert [first(2.0**50) for _ in range(10)] != [second(2.0**50) for _ in range(10)]


@pytest.mark.parametrize("source", [SeededLaplace(1), SecureLaplace()])
def test_no_privacy_means_no_noise(source: Callable[[float], int]) -> None:
    assert source(0.0) == 0


@pytest.mark.parametrize("source", [SeededLaplace(1), SecureLaplace()])
def test_a_draw_is_a_whole_number(source: Callable[[float], int]) -> None:
    assert type(source(12.5)) is int


def test_the_scale_may_be_astronomical() -> None:
    assert isinstance(SeededLaplace(1)(1e40), int)


@pytest.mark.parametrize("scale", [2 * LARGEST_SECURE_SCALE, float("nan"), -1.0])
def test_secure_noise_refuses_a_scale_at_which_64_bits_would_cut_it_off(scale: float) -> None:
    with refused(ConfigError, "noise.scale"):
        SecureLaplace()(scale)


def test_a_missing_package_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism._noised.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    with pytest.raises(ConfigError, match=r"opendp.*pip install '\.\[node\]'"):
        SecureLaplace()
