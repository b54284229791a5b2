"""Bernstein's condition: parameters and thresholds (Sec. II-C and II-D).

X ~ BC(mu, sigma2, beta) when |E(X - mu)^k| <= k!/2 * sigma2 * beta^(k-2) for k = 2, 3, ...
(Def. 2). A larger beta is always allowed (the monotonicity remark), so every threshold here may be
used with a parameter that is merely large enough.
"""

from math import log, sqrt

from colme.errors import ConfigError

SMALLEST_RATIO = 1 / (2 * sqrt(3))
"""No random variable has beta / sigma below this (the remark after Def. 2, from k = 4)."""


def uniform_parameter(half_range: float) -> float:
    """Lemma 2: the uniform distribution on [mu - L, mu + L] has beta = L / (2 sqrt 5)."""
    return half_range / (2 * sqrt(5))


def laplace_parameter(scale: float) -> float:
    """Laplace(mu, b) has E(X - mu)^k = k! b^k for even k, so beta = b = sigma / sqrt 2."""
    return scale


def gaussian_parameter(sigma: float) -> float:
    """E(X - mu)^4 = 3 sigma^4 asks for beta >= sigma / 2, and no other moment asks for more."""
    return sigma / 2


def bounded_parameter(max_deviation: float) -> float:
    """|X - mu| <= B gives |E(X - mu)^k| <= B^(k-2) sigma2, and k!/2 >= 3^(k-2): beta = B / 3."""
    return max_deviation / 3


def threshold(theta: float, sigma2: float, beta: float) -> float:
    """Sec. II-D, the first z_theta: the root of the tail bound at level theta <= 2."""
    s = _log_level(theta)
    return beta * s + root(beta * beta * s * s + 2 * sigma2 * s)


def simple_threshold(theta: float, sigma2: float, beta: float) -> float:
    """Sec. II-D, the simpler z_theta for theta <= 2; never below the first one."""
    s = _log_level(theta)
    return 2 * beta * s + root(2 * sigma2 * s)


def root(x: float) -> float:
    """sqrt; of an array too, bit for bit: the simulator asks a rule for many edges at once."""
    number: object = x
    power: float = x**0.5 if not isinstance(number, float | int) else sqrt(x)
    return power


def larger(a: float, b: float) -> float:
    """max, likewise."""
    number: object = a
    return max(a, b) if isinstance(number, float | int) else a * (a >= b) + b * (a < b)


def _log_level(theta: float) -> float:
    if not 0 < theta <= 2:
        raise ConfigError("theta", theta, "a level in (0, 2]")
    return log(2 / theta)
