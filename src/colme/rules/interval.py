"""How far an owner's answer may be from its mean: the half-width of a 95% interval."""

from math import inf, log, sqrt

MISSED = 0.05
"""The share of intervals that may miss."""

_S = log(2 / MISSED)
_S_EMPIRICAL = log(4 / MISSED)


def known_variance_margin(sigma2: float, width: float, count: int) -> float:
    """Bernstein's inequality for `count` samples within bounds that are `width` apart."""
    b = width * _S / (3 * count)
    return b + sqrt(b * b + 2 * sigma2 * _S / count)


def empirical_margin(variance: float, width: float, count: int) -> float:
    """The same with the variance of the samples themselves (Maurer and Pontil, 2009, Theorem 4)."""
    if count < 2:
        return inf
    unbiased = variance * count / (count - 1)
    return sqrt(2 * unbiased * _S_EMPIRICAL / count) + 7 * width * _S_EMPIRICAL / (3 * (count - 1))


def shared_margin(variance: float) -> float:
    """Of a shared mean whose mean squared error is at most this: a Gaussian tail bound."""
    return sqrt(2 * variance * _S)


def answer_margin(trust: float, shared: float, local: float) -> float:
    """Of the weighted answer: errors may point the same way."""
    return trust * shared + (1 - trust) * local if trust < 1 else shared
