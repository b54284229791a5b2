"""Lemma 1: what noise makes a released mean differentially private, exact and on the lattice."""

from fractions import Fraction
from math import exp, factorial, inf, log, sinh

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.rules.release import LATTICE_HALF_WIDTH, Profile, laplace_scale, sigma2_dp

REPEATABLE = settings(derandomize=True, database=None, deadline=None)
EPSILONS = [0.1, 1.0, 2.0, 3.7, 8.0]
HALF_RANGES = [0.01, 0.5, 40.0]
MU = 1.5


def largest_log_ratio(data: list[float], neighbour: list[float], scale: float) -> float:
    """Of the densities of sum / n + Z / n, with Z of Laplace(0, scale), on a grid of outputs.

    The logarithm of the ratio is monotone between the two means and constant outside of them, so
    that the grid, which has points on both sides, holds the maximum.
    """
    n = len(data)
    means = [sum(data) / n, sum(neighbour) / n]
    spread = max(means) - min(means) + scale / n
    outputs = [min(means) - spread + spread * i / 10 for i in range(31)]
    logs = [[-abs(y - m) * n / scale - log(2 * scale / n) for m in means] for y in outputs]
    return max(one - other for one, other in logs)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("half_range", HALF_RANGES)
def test_the_noise_has_the_variance_of_lemma_1(half_range: float, epsilon: float) -> None:
    """Lemma 1: Z ~ Laplace(0, sigma_DP / sqrt 2) with sigma_DP^2 = 8 L^2 / epsilon^2."""
    scale = laplace_scale(half_range, epsilon)
    assert sigma2_dp(half_range, epsilon) == pytest.approx(8 * half_range**2 / epsilon**2)
    assert scale == pytest.approx(2 * half_range / epsilon)
    assert 2 * scale**2 == pytest.approx(sigma2_dp(half_range, epsilon))
    profile = Profile.bounded(MU - half_range, MU + half_range, epsilon=epsilon)
    assert profile.sigma2_dp == pytest.approx(8 * half_range**2 / epsilon**2)
    assert profile.beta_dp == pytest.approx((profile.sigma2_dp / 2) ** 0.5)


def test_no_privacy_is_no_noise() -> None:
    """Sec. V: no privacy is epsilon = infinity."""
    profile = Profile.bounded(0, 1, epsilon=inf)
    assert (profile.sigma2_dp, profile.beta_dp, profile.lattice_scale) == (0, 0, 0)


@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("half_range", HALF_RANGES)
def test_the_worst_neighbours_reach_epsilon_and_a_smaller_scale_exceeds_it(
    half_range: float, epsilon: float, n: int
) -> None:
    """Lemma 1: the noise-corrupted sample mean is epsilon-differentially private (Def. 1)."""
    data = [MU - half_range] * n
    neighbour = [*data[:-1], MU + half_range]
    scale = laplace_scale(half_range, epsilon)
    for one, other in ((data, neighbour), (neighbour, data)):
        assert largest_log_ratio(one, other, scale) == pytest.approx(epsilon, rel=1e-9)
        assert largest_log_ratio(one, other, 0.999 * scale) > epsilon * 1.0009


@REPEATABLE
@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=6),
    st.floats(-1, 1),
    st.integers(0, 5),
    st.sampled_from(EPSILONS),
    st.sampled_from(HALF_RANGES),
)
def test_no_neighbours_exceed_epsilon(
    unit: list[float], replacement: float, position: int, epsilon: float, half_range: float
) -> None:
    """Def. 1 and Lemma 1: for all (x_1, ..., x_n) and (x'_1, ..., x'_n) one component apart."""
    data = [MU + half_range * x for x in unit]
    neighbour = list(data)
    neighbour[position % len(data)] = MU + half_range * replacement
    ratio = largest_log_ratio(data, neighbour, laplace_scale(half_range, epsilon))
    # Sums of six numbers near MU err by 6 * 6 * MU * 2^-53 at most, taken to the units of scale.
    rounding = 36 * (MU + half_range) * 2**-53 / laplace_scale(half_range, epsilon)
    assert ratio <= epsilon * (1 + 1e-12) + rounding


@REPEATABLE
@given(
    st.sampled_from([*EPSILONS, 1e-3, 1e3]),
    st.integers(-LATTICE_HALF_WIDTH, LATTICE_HALF_WIDTH),
    st.integers(-LATTICE_HALF_WIDTH, LATTICE_HALF_WIDTH),
    st.integers(-(2**40), 2**40),
    st.integers(-(2**40), 2**40),
)
def test_discrete_laplace_on_the_lattice_is_private(
    epsilon: float, sample: int, replacement: int, rest: int, output: int
) -> None:
    """Lemma 1 on integers: P(k) ~ exp(-|k| / scale) gives a ratio of at most e^epsilon.

    Both sides have the same normalisation, so the logarithm of the ratio is a difference of
    distances over the scale: exact in fractions. The scale is one division, rounded by 2^-53.
    """
    scale = Fraction(Profile.bounded(-3, 11, epsilon=epsilon).lattice_scale)
    distances = abs(output - rest - replacement) - abs(output - rest - sample)
    assert distances / scale <= Fraction(epsilon) * (1 + Fraction(1, 2**52))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_smaller_scale_on_the_lattice_would_not_be_private(epsilon: float) -> None:
    """Lemma 1: samples at the two bounds are 2 L apart, which the noise has to cover."""
    scale = Profile.bounded(-3, 11, epsilon=epsilon).lattice_scale
    assert 2 * LATTICE_HALF_WIDTH / scale == pytest.approx(epsilon, rel=1e-15)
    assert 2 * LATTICE_HALF_WIDTH / (0.999 * scale) > epsilon * 1.0009


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_lattice_spans_the_bounds(epsilon: float) -> None:
    """Lemma 1: X = [mu - L, mu + L] is the whole lattice, and its noise that of the lemma."""
    profile = Profile.bounded(-3, 11, epsilon=epsilon)
    reach = LATTICE_HALF_WIDTH * profile.lattice_step
    assert (profile.midpoint - reach, profile.midpoint + reach) == profile.bounds
    noise = profile.lattice_scale * profile.lattice_step
    assert noise == pytest.approx(laplace_scale(7, epsilon), rel=1e-15)


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0, 30.0])
def test_discrete_noise_has_no_larger_moments_than_laplace(scale: float) -> None:
    """Lemma 1 and beta_DP hold for it: E|Z|^k <= k! scale^k, that is sigma_DP^2 for k = 2."""
    q = exp(-1 / scale)
    mass = [(k, (1 - q) / (1 + q) * q**k) for k in range(1, int(100 * scale) + 100)]
    variance = 2 * sum(k**2 * p for k, p in mass)
    assert variance == pytest.approx(1 / (2 * sinh(1 / (2 * scale)) ** 2), rel=1e-9)
    for order in range(2, 13, 2):
        assert 2 * sum(float(k) ** order * p for k, p in mass) <= factorial(order) * scale**order
