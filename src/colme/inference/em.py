"""EM for sum_k w_k Normal(m_k, v_b + tau2): one source, compiled where numba is installed."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from math import exp, floor, inf, log, log2, pi, sqrt
from typing import cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Em = Callable[
    [Floats, Floats, Floats, Floats, Floats, float, bool, int, float],
    tuple[float, Floats, Floats, float],
]

ROUNDED = 2.0**-27
"""What parameters are rounded to: logarithms, and means in standard deviations of a record."""


def em(
    x: Floats,
    v: Floats,
    n: Floats,
    m: Floats,
    w: Floats,
    tau2: float,
    free: bool,
    steps: int,
    gain: float,
) -> tuple[float, Floats, Floats, float]:
    """Of n_b records each at x_b: the log-likelihood, and the m, w and tau2 that it is of.

    Ends after `steps`, or when one has brought less than `gain`. tau2 moves where it is free; it
    can't leave 0. After every two steps it leaps ahead in their direction (Varadhan and Roland's
    SQUAREM), and back if that was worse: EM alone may take hundreds.
    """
    components = m.size
    total = n.sum()
    # A typical variance; harmonic, so that a few loud records do not make it theirs.
    noise = total / (n / v).sum()
    # Far below what any spread of the records could show.
    smallest = 1e-9 * noise
    u, t = np.log(w), log(max(tau2, 1e-300))
    best, best_m, best_u, best_t = -inf, m, u, t
    first_m, first_u, first_t = m, u, t
    back_m, back_u, back_t = m, u, t
    taken = 0
    # Parameters are rounded at every step: else rounding errors grow near saddle points, and the
    # compiled form, another order of records or another unit may end elsewhere.
    grid = 2.0 ** floor(log2(ROUNDED * sqrt(noise)))
    for _ in range(steps):
        m = np.rint(m / grid) * grid
        u = np.rint(u / ROUNDED) * ROUNDED
        t = round(t / ROUNDED) * ROUNDED
        tau2 = exp(t) if free else tau2
        s = 1 / (v + tau2)
        d = x - m.reshape(components, 1)
        r = u.reshape(components, 1) - (0.5 * s) * (d * d)
        top = r[0].copy()
        for k in range(1, components):
            top = np.maximum(top, r[k])
        r = np.exp(r - top)
        z = r.sum(axis=0)
        loglik = (n * (top + np.log(z) + 0.5 * np.log(s / (2 * pi)))).sum()
        gained = loglik - best
        if taken == 2:
            taken = 0
            # Back, if it has not gained: by a margin, so that rounding errors do not decide.
            if not gained >= max(gain, 0.0):
                m, u, t = back_m, back_u, back_t
                continue
        best, best_m, best_u, best_t = loglik, m, u, t
        if gained < gain:
            break
        r = r * (n / z)
        rs = r * s
        size = r.sum(axis=1)
        # A component that is empty stays where it is: it must not divide by zero.
        step_m = (rs * d).sum(axis=1) / (rs.sum(axis=1) + 1e-200)
        step_u = np.log((size + 1e-6) / (total + 1e-6 * components)) - u
        step_t = 0.0
        if free:
            shrink = tau2 * s
            d = shrink * (d - step_m.reshape(components, 1))
            spread = (r * (d * d)).sum() + (n * shrink * v).sum()
            step_t = log(max(spread / total, smallest)) - t
        m, u, t = m + step_m, u + step_u, t + step_t
        taken += 1
        if taken == 1:
            first_m, first_u, first_t = step_m, step_u, step_t
        else:
            back_m, back_u, back_t = m, u, t
            bend_m, bend_u, bend_t = step_m - first_m, step_u - first_u, step_t - first_t
            # How far two steps went and how much they bent, in units of what records can tell.
            about = tau2 / (noise + tau2)
            went = (size * (first_m * first_m / (noise + tau2) + first_u * first_u)).sum()
            went += total * (about * first_t) ** 2
            bent = (size * (bend_m * bend_m / (noise + tau2) + bend_u * bend_u)).sum()
            bent += total * (about * bend_t) ** 2
            far = min(max(sqrt(went / (bent + 1e-200)), 1.0), 30.0)
            # From where both began: far = 1 is where they ended.
            m = m - step_m - first_m + 2 * far * first_m + far * far * bend_m
            u = u - step_u - first_u + 2 * far * first_u + far * far * bend_u
            u = u - log(np.exp(u).sum())
            t = max(t - step_t - first_t + 2 * far * first_t + far * far * bend_t, log(smallest))
    return best, best_m, np.exp(best_u), exp(best_t) if free else tau2


@cache
def fastest_em() -> Em:
    """`em`, compiled on its first use where numba is installed: the same numbers, sooner."""
    if find_spec("numba") is None:
        return em
    njit = import_module("numba").njit
    try:
        return cast(Em, njit(cache=True)(em))
    except RuntimeError:  # nowhere to keep what was compiled
        return cast(Em, njit(em))
