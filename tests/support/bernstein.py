"""What Bernstein's condition says of moments, sums and tails (Sec. II-C, II-D and III-C)."""

import math
from collections.abc import Sequence
from math import exp, factorial, sqrt


def moment_bound(k: int, sigma2: float, beta: float) -> float:
    """Def. 2: the largest |E(X - mu)^k| that Bernstein's condition allows."""
    return factorial(k) / 2 * sigma2 * math.pow(beta, k - 2)


def parameter_of_moments(central_moments: Sequence[float]) -> float:
    """The smallest beta that meets Def. 2 for the moments given, of order k = 2, 3, 4, ..."""
    sigma2 = central_moments[0]
    return max(
        math.pow(2 * abs(moment) / (factorial(k) * sigma2), 1 / (k - 2))
        for k, moment in enumerate(central_moments[1:], start=3)
    )


def sum_parameter(sigmas: Sequence[float], betas: Sequence[float]) -> float:
    """Lemma 3: the parameter of X_1 +- ... +- X_n for independent X_i (their variances add)."""
    return min(sum(betas), sqrt(len(betas)) * max(*sigmas, *betas))


def tail_bound(x: float, sigma2: float, beta: float) -> float:
    """Lemma 4: P(|X - mu| >= x) is at most this, for x > 0."""
    if x <= 0 or sigma2 + beta * x == 0:
        return 1.0 if x <= 0 else 0.0
    return min(1.0, 2 * exp(-(x * x) / (2 * (sigma2 + beta * x))))


def type_two_asymptote(gap: float, t: int, beta_a: float, beta_b: float) -> float:
    """Sec. III-C: exp(-gap sqrt(t) / (2 (beta_a + beta_b))), how the type-II bound falls.

    `beta_a`, `beta_b` are the parameters of one released sample (beta-tilde-bar). The bound's
    exponent approaches this one; the bound itself keeps a factor that grows slower than any
    exponential in sqrt(t).
    """
    return exp(-gap * sqrt(t) / (2 * (beta_a + beta_b)))
