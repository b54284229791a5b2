"""Bernstein's condition and the hypothesis test built on it (Sec. II-C, II-D, III-C)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, exp, factorial, log, prod, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.rules import bernstein
from colme.rules.bernstein import SMALLEST_RATIO
from colme.rules.decision import PowerTheta
from colme.rules.release import Profile
from support.bernstein import (
    moment_bound,
    parameter_of_moments,
    sum_parameter,
    tail_bound,
    type_two_asymptote,
)

ROUNDING = 1e-12
ORDER = 40
Moments = tuple[Fraction, ...]


@dataclass(frozen=True)
class Known:
    """A random variable by its exact central moments of order 0 to ORDER, with its beta."""

    moments: Moments
    beta: float

    @property
    def sigma2(self) -> float:
        return float(self.moments[2])

    def meets(self, beta: float, order: int = ORDER) -> bool:
        return all(
            abs(float(self.moments[k])) <= moment_bound(k, self.sigma2, beta) * (1 + ROUNDING)
            for k in range(2, order + 1)
        )


def even(moments: Iterable[Fraction]) -> Moments:
    return tuple(m if k % 2 == 0 else Fraction(0) for k, m in enumerate(moments))


def uniform(half_range: Fraction) -> Known:
    moments = even(half_range**k / (k + 1) for k in range(ORDER + 1))
    return Known(moments, bernstein.uniform_parameter(float(half_range)))


def laplace(scale: Fraction) -> Known:
    moments = even(factorial(k) * scale**k for k in range(ORDER + 1))
    return Known(moments, bernstein.laplace_parameter(float(scale)))


def gaussian(sigma: Fraction) -> Known:
    moments = even(prod(range(1, k, 2)) * sigma**k for k in range(ORDER + 1))
    return Known(moments, bernstein.gaussian_parameter(float(sigma)))


def bounded(weights: Mapping[int, int]) -> Known:
    points = [(x, Fraction(weight, sum(weights.values()))) for x, weight in weights.items()]
    mean = sum((p * x for x, p in points), Fraction(0))
    moments = (sum((p * (x - mean) ** k for x, p in points), Fraction(0)) for k in range(ORDER + 1))
    deviation = float(max(abs(x - mean) for x in weights))
    return Known(tuple(moments), bernstein.bounded_parameter(deviation))


def two_point(p: Fraction) -> Known:
    return bounded({0: p.denominator - p.numerator, 1: p.numerator})


def moments_of_sum(terms: Iterable[tuple[int, Known]]) -> Moments:
    """Of independent terms, each with its sign, by binomial convolution."""
    total: Moments = (Fraction(1), *[Fraction(0)] * ORDER)
    for sign, x in terms:
        signed = [sign**k * m for k, m in enumerate(x.moments)]
        total = tuple(
            sum((comb(k, i) * total[i] * signed[k - i] for i in range(k + 1)), Fraction(0))
            for k in range(ORDER + 1)
        )
    return total


FAIR_COIN = Known(two_point(Fraction(1, 2)).moments, SMALLEST_RATIO / 2)
UNIFORM, LAPLACE, WIDE = uniform(Fraction(1, 2)), laplace(Fraction(1, 3)), laplace(Fraction(5))
RARE, COMMON = two_point(Fraction(1, 50)), two_point(Fraction(9, 10))


def test_the_condition_bounds_every_moment() -> None:
    """Def. 2: |E(X - mu)^k| <= k!/2 sigma^2 beta^(k-2) for k = 2, 3, ..."""
    bounds = [moment_bound(k, 5.0, 2.0) for k in (2, 3, 4, 5)]
    assert bounds == [5.0, 3 * 5.0 * 2.0, 12 * 5.0 * 4.0, 60 * 5.0 * 8.0]


@pytest.mark.parametrize("known", [UNIFORM, LAPLACE, FAIR_COIN, RARE, COMMON])
def test_a_larger_parameter_is_always_allowed(known: Known) -> None:
    """Sec. II-C: if X ~ BC(mu, sigma^2, beta), then for any beta' >= beta (monotonicity)."""
    assert all(known.meets(factor * known.beta) for factor in (1, 1.01, 3, 100))


@settings(derandomize=True, database=None, deadline=None)
@given(st.dictionaries(st.integers(-50, 50), st.integers(1, 1000), min_size=2, max_size=6))
def test_bounded_support_meets_the_condition_and_no_ratio_is_too_small(
    weights: dict[int, int],
) -> None:
    """Sec. II-C: RVs with bounded support satisfy it; for any RV, beta / sigma >= 1/(2 sqrt 3)."""
    assert pytest.approx(1 / (2 * sqrt(3)), rel=ROUNDING) == SMALLEST_RATIO
    known = bounded(weights)
    beta = parameter_of_moments([float(m) for m in known.moments[2:]])
    assert beta >= SMALLEST_RATIO * sqrt(known.sigma2) * (1 - ROUNDING)
    assert known.meets(beta)
    assert not known.meets(beta * (1 - 1e-6))
    assert known.meets(known.beta)


@pytest.mark.parametrize("scale", [Fraction(1, 7), Fraction(1), Fraction(25)])
def test_bernstein_parameters_of_uniform_laplace_and_gaussian(scale: Fraction) -> None:
    """Lemma 2: beta = L / (2 sqrt 5), Sec. III-B: beta_DP = sigma_DP / sqrt 2, Sec. II-C: Gaussian.

    All hold for k = 2..40, and nothing smaller does for k = 4.
    """
    assert uniform(scale).beta == pytest.approx(float(scale) / (2 * sqrt(5)), rel=ROUNDING)
    assert laplace(scale).beta == pytest.approx(sqrt(laplace(scale).sigma2 / 2), rel=ROUNDING)
    for known in (uniform(scale), laplace(scale), gaussian(scale)):
        assert known.meets(known.beta)
        assert not known.meets(known.beta * (1 - 1e-9), order=4)


def test_rare_events_need_the_whole_parameter_of_bounded_support() -> None:
    """Sec. II-C: RVs with bounded support satisfy the condition; skew asks for all of B / 3."""
    rare = two_point(Fraction(1, 10**6))
    assert rare.meets(rare.beta)
    assert not rare.meets(rare.beta * (1 - 1e-5), order=3)


@pytest.mark.parametrize("signs", [(1,), (1, -1), (1, -1, -1)])
@pytest.mark.parametrize("n", [2, 3, 13])
@pytest.mark.parametrize(
    "mix",
    [[UNIFORM], [FAIR_COIN], [RARE, LAPLACE], [RARE, COMMON], [WIDE, UNIFORM, RARE, FAIR_COIN]],
)
def test_sums_and_differences_satisfy_the_condition(
    mix: list[Known], n: int, signs: tuple[int, ...]
) -> None:
    """Lemma 3: X_1 +- ... +- X_n ~ BC(., sigma_1^2 + ... + sigma_n^2, beta)."""
    terms = [(signs[i % len(signs)], mix[i % len(mix)]) for i in range(n)]
    beta = sum_parameter([sqrt(x.sigma2) for _, x in terms], [x.beta for _, x in terms])
    total = Known(moments_of_sum(terms), beta)
    assert total.sigma2 == pytest.approx(sum(x.sigma2 for _, x in terms), rel=ROUNDING)
    assert total.meets(beta)


def test_the_parameter_of_a_sum_is_the_smaller_of_two() -> None:
    """Lemma 3: min(beta_1 + ... + beta_n, sqrt n max(sigma_1, ..., beta_1, ...))."""
    assert sum_parameter([1, 4, 2, 3], [0.5, 1.5, 0.75, 1]) == 3.75
    assert sum_parameter([1, 4, 2, 3], [5, 2, 3, 1]) == 2 * 5
    assert sum_parameter([1, 4, 2, 3], [2, 2, 3, 3]) == 2 * 4


def test_fair_coins_need_the_smallest_ratio_and_two_of_them_twice_that() -> None:
    """Sec. II-C: E(X - mu)^4 = sigma^4 attains the ratio; Lemma 3: beta_1 + beta_2, no less."""
    beta = sum_parameter([0.5, 0.5], [FAIR_COIN.beta] * 2)
    total = Known(moments_of_sum([(1, FAIR_COIN), (-1, FAIR_COIN)]), beta)
    assert FAIR_COIN.meets(FAIR_COIN.beta)
    assert not FAIR_COIN.meets(FAIR_COIN.beta * (1 - 1e-9), order=4)
    assert not total.meets(beta * (1 - 1e-9), order=4)


@pytest.mark.parametrize(("count", "blocks"), [(1, 1), (2, 2), (12, 12), (9, 1), (12, 3)])
@pytest.mark.parametrize("data", [UNIFORM, RARE, FAIR_COIN])
def test_a_released_mean_satisfies_the_condition(data: Known, count: int, blocks: int) -> None:
    """Sec. III-C.1: X-tilde-bar ~ BC(mu, (sigma^2 + sigma_DP^2) / t, beta-tilde-bar / sqrt t)."""
    for noise in (LAPLACE, WIDE):
        profile = Profile(bounds=(0, 1), sigma2=data.sigma2, beta=data.beta, epsilon=1 / noise.beta)
        terms = [(1, data)] * count + [(1, noise)] * blocks
        moments = tuple(m / count**k for k, m in enumerate(moments_of_sum(terms)))
        mean = Known(moments, profile.released_parameter(count, blocks))
        assert mean.sigma2 == pytest.approx(profile.released_variance(count, blocks), rel=ROUNDING)
        assert mean.meets(mean.beta)


def test_binomial_uniform_and_laplace_tails_are_within_the_bound() -> None:
    """Lemma 4: P(|X - mu| >= x) <= 2 exp(-x^2 / (2 (sigma^2 + beta x))) for all x > 0."""
    for n, p in ((1, Fraction(1, 2)), (20, Fraction(1, 2)), (20, Fraction(1, 20))):
        coin = two_point(p)
        beta = sum_parameter([sqrt(coin.sigma2)] * n, [coin.beta] * n)
        mass = {k - n * p: comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}
        for distance in {abs(d) for d in mass} - {0}:
            tail = sum(m for d, m in mass.items() if abs(d) >= distance)
            assert tail <= tail_bound(float(distance), n * coin.sigma2, beta)
    for x in (0.01 * i for i in range(1, 1000)):
        assert 1 - 2 * x <= tail_bound(x, UNIFORM.sigma2, UNIFORM.beta)
        assert exp(-3 * x) <= tail_bound(x, LAPLACE.sigma2, LAPLACE.beta)


def test_the_tail_bound_is_of_the_order_of_an_exponential() -> None:
    """Lemma 4: O(exp(-x / (2 beta))) = o(x^-n); the constant is 2 exp(sigma^2 / (2 beta^2))."""
    sigma2, beta, constant = 3.0, 2.0, 2 * exp(3 / 8)
    for x in (100.0, 300.0, 1000.0):
        ratio = tail_bound(x, sigma2, beta) / exp(-x / (2 * beta))
        assert constant * (1 - sigma2**2 / (beta**3 * x)) <= ratio <= constant


def tail_of_laplace_difference(x: float) -> float:
    """P(X - Y >= x), exactly, for X and Y of Laplace(0, 1): variance 4, parameter 2."""
    return exp(-x) * (1 + x / 2) / 2 if x >= 0 else 1 - tail_of_laplace_difference(-x)


@pytest.mark.parametrize(("sigma2", "beta"), [(1.0, 0.3), (4.0, 2.0), (0.01, 2.0), (40.0, 5.0)])
@pytest.mark.parametrize("theta", [1e-9, 1e-3, 0.05, 0.5, 1.0, 1.5, 2.0])
def test_both_thresholds_keep_the_type_one_error(theta: float, sigma2: float, beta: float) -> None:
    """Sec. II-D: both choices guarantee that the probability of type-I error is at most theta."""
    first = bernstein.threshold(theta, sigma2, beta)
    second = bernstein.simple_threshold(theta, sigma2, beta)
    assert tail_bound(first, sigma2, beta) == pytest.approx(min(1, theta), rel=1e-9)
    assert second >= first
    parts = bernstein.threshold(theta, sigma2, 0) + bernstein.threshold(theta, 0, beta)
    assert second == pytest.approx(parts, rel=ROUNDING)
    if (sigma2, beta) == (4.0, 2.0):
        assert all(2 * tail_of_laplace_difference(z) <= theta for z in (first, second))


@pytest.mark.parametrize("theta", [1e-6, 0.05, 0.5])
@pytest.mark.parametrize("excess", [0.01, 0.3, 1, 3, 20])
def test_the_type_two_error_is_within_its_bound(theta: float, excess: float) -> None:
    """Sec. II-D: P(|Z| < z) <= 2 exp(-(z - Delta)^2 / (2 (sigma^2 + beta (Delta - z))))."""
    z = bernstein.threshold(theta, 4.0, 2.0)
    gap = z + excess
    error = tail_of_laplace_difference(-z - gap) - tail_of_laplace_difference(z - gap)
    printed = 2 * exp(-((z - gap) ** 2) / (2 * (4.0 + 2.0 * (gap - z))))
    bound = tail_bound(gap - z, 4.0, 2.0)
    assert bound == pytest.approx(min(1, printed), rel=1e-9)
    assert error <= bound
    assert tail_bound(z / 2 - z, 4.0, 2.0) == 1


@pytest.mark.parametrize("theta", [PowerTheta(1, 1), PowerTheta(1, 2), PowerTheta(3, 1 / 8)])
def test_the_exponent_of_the_type_two_bound_approaches_its_asymptote(theta: PowerTheta) -> None:
    """Sec. III-C.1: asymptotically not more than exp(-Delta sqrt t / (2 (beta_a + beta_b)))."""
    gap, sigma2, beta_a, beta_b, shortfalls = 1.0, 2000.0, 30.0, 20.0, list[float]()
    for t in (10**8, 10**9, 5 * 10**9):
        variance, beta = sigma2 / t, (beta_a + beta_b) / sqrt(t)
        z = bernstein.simple_threshold(theta(t), variance, beta)
        bound = tail_bound(gap - z, variance, beta)
        asymptote = type_two_asymptote(gap, t, beta_a, beta_b)
        shortfalls.append(1 - log(bound) / log(asymptote))
        # With u = z / gap and e = variance / (beta gap): (1 - u)^2 / (1 - u + e) >= 1 - u - e.
        assert 0 <= shortfalls[-1] <= z / gap + variance / (beta * gap) + 2 * beta * log(2) / gap
    assert shortfalls[0] > 2 * shortfalls[1] > 3 * shortfalls[2]
