"""How far an owner's answer may be from its mean: the half-width of a 95% interval.

As usual in statistics, and approximate: means of many samples are nearly Gaussian.
"""

from math import inf, sqrt

QUANTILE = 1.959963984540054
"""Of the standard Gaussian distribution, at 97.5%."""


def student_quantile(freedom: int) -> float:
    """Of Student's distribution, at 97.5%: Cornish and Fisher's expansion, good to 1% from 3 on."""
    if freedom < 1:
        return inf
    z = QUANTILE
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return z + first + second + third


def known_variance_margin(sigma2: float, count: int) -> float:
    """Of the mean of `count` samples."""
    return QUANTILE * sqrt(sigma2 / count)


DECLARED_WORTH = 2.0
"""Of a declared variance, in samples of which the variance is known to 100% at worst."""


def believed_variance(declared: float, seen: float, count: float, half_range: float) -> float:
    """Of one's own samples, where one was declared: that and what `count` of them show, together.

    The declared one, d, may be wrong; what samples within a range R show is worth little while they
    are few: at worst, where events are rare, its relative error is 1 after R^2 / d samples. So d
    counts as twice that many. `seen` is the samples' exact variance, so this is the owner's alone.
    """
    square = DECLARED_WORTH * 4 * half_range * half_range
    return declared * (square + count * seen) / (square + (count - 1) * declared)


def empirical_margin(variance: float, count: int) -> float:
    """The same with the variance of the samples themselves; a single one tells nothing."""
    if count < 2:
        return inf
    return student_quantile(count - 1) * sqrt(variance / (count - 1))
