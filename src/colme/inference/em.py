"""EM for sum_k w_k Normal(m_k, v_b + tau2): one source, compiled if numba is in use.

`e_step` is the only E-step: EM, the trial of a split and the posterior use it.
"""

from math import exp, floor, inf, log, log2, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from colme.inference.tuning import EmTuning

Floats = NDArray[np.float64]


def e_step(x: Floats, s: Floats, m: Floats, u: Floats, r: Floats) -> tuple[Floats, Floats]:
    """Weigh each component for each record at x with precision s: means m, log-weights u.

    Fills r[k], [components, records], so that component k has the share r[k] / z of a record.
    Returns (top, z): the log-likelihood of a record is top + log(z), but for the widths.
    """
    # Component by component: sums along rows of a table are slow where compiled.
    half = 0.5 * s
    for k in range(m.size):
        d = x - m[k]
        np.subtract(u[k], half * d * d, r[k])
    top = r[0].copy()
    for k in range(1, m.size):
        top = np.maximum(top, r[k])
    z = np.zeros(x.size)
    for k in range(m.size):
        np.exp(r[k] - top, r[k])
        z += r[k]
    return top, z


def logarithms(w: Floats) -> Floats:
    """Return natural logarithms, one by one: numpy's of an array may differ in the last bit."""
    u = np.empty(w.size)
    for k in range(w.size):
        u[k] = log(w[k])
    return u


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
    tuning: EmTuning,
) -> tuple[float, Floats, Floats, float]:
    """Fit n_b records at each x_b with variance v_b, from m, w and tau2 on.

    Returns the log-likelihood, and the m, w and tau2 that have it.

    Ends after `steps`, or when one has brought less than `gain`. tau2 moves if it is free. EM can't
    leave 0: there the slope of the likelihood tells whether to begin above. After every two steps
    it leaps ahead in their direction (Varadhan and Roland's SQUAREM), and back if that was worse:
    EM alone may take hundreds.
    """
    components = m.size
    total = n.sum()
    # A typical variance; harmonic, so that a few noisy records do not make it theirs.
    noise = total / (n / v).sum()
    u, t, none = np.log(w), log(max(tau2, 1e-300)), log(tuning.no_spread * noise)
    # Parameters are rounded at every step: else rounding errors grow near saddle points, and the
    # compiled form, another order of records or another unit may end elsewhere.
    grid = 2.0 ** floor(log2(tuning.rounding * sqrt(noise)))
    spreads = free and tau2 > 1e3 * tuning.no_spread * noise
    if free and not spreads:
        t = none
    best, best_m, best_u, best_t = -inf, m, u, t
    first_m, first_u, first_t = m, u, t
    back_m, back_u, back_t = m, u, t
    taken, left = 0, False
    s = 1 / (v + tau2)
    widths = 0.5 * (n * np.log(s / (2 * pi))).sum()
    r = np.empty((components, x.size))
    for _ in range(steps):
        m = np.rint(m / grid) * grid
        u = np.rint(u / tuning.rounding) * tuning.rounding
        if spreads:
            t = round(t / tuning.rounding) * tuning.rounding
        if free:
            tau2 = exp(t)
            s = 1 / (v + tau2)
            widths = 0.5 * (n * np.log(s / (2 * pi))).sum()
        top, z = e_step(x, s, m, u, r)
        loglik = (n * (top + np.log(z))).sum() + widths
        gained = loglik - best
        if taken == 2:
            taken = 0
            # Back, if it has not gained: by a margin, so that rounding errors do not decide.
            if not gained >= max(gain, 0.0):
                m, u, t = back_m, back_u, back_t
                spreads = free and t > none
                continue
        best, best_m, best_u, best_t = loglik, m, u, t
        if gained < gain:
            break
        each = n / z
        size, step_m = np.empty(components), np.empty(components)
        spread, slope = 0.0, 0.0
        for k in range(components):
            q = r[k] * each
            size[k] = q.sum()
            q = q * s
            d = x - m[k]
            precision = q.sum()
            # A component that is empty stays where it is: it must not divide by zero.
            step_m[k] = (q * d).sum() / (precision + 1e-200)
            if free:
                d = d - step_m[k]
                around = (q * s * d * d).sum()
                spread += tau2 * tau2 * around
                # Of the likelihood, twice: what the records are about their means, beyond v.
                slope += around - precision
        # A component that is empty keeps a little weight.
        step_u = np.log((size + 1e-6) / (total + 1e-6 * components)) - u
        step_t = 0.0
        if spreads:
            spread += tau2 * (n * v * s).sum()
            step_t = max(log(spread / total), none) - t
        m, u, t = m + step_m, u + step_u, t + step_t
        taken += 1
        if free and not spreads and slope > 0 and not left:
            # More probable with a little spread than without: a leap to there.
            left, taken, spreads = True, 2, True
            back_m, back_u, back_t = m, u, t
            t = log(tuning.least_spread * noise)
            continue
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
            t = max(t - step_t - first_t + 2 * far * first_t + far * far * bend_t, none)
            if spreads and step_t < 0 and tau2 < tuning.hardly_spread * noise:
                t = none
            spreads = free and t > none
    return best, best_m, np.exp(best_u), exp(best_t) if free else tau2


def best_split(
    x: Floats,
    v: Floats,
    n: Floats,
    m: Floats,
    w: Floats,
    tau2: float,
    free: bool,
    tuning: EmTuning,
) -> tuple[int, Floats, Floats]:
    """Return which component gains most if it is made two, and their means and weights.

    -1 if none does. Each is tried on its own records alone, by few steps of EM: all of them cost
    about as much as a few steps of the whole.
    """
    s = 1 / (v + tau2)
    r = np.empty((m.size, x.size))
    _, z = e_step(x, s, m, logarithms(w), r)
    most, of, halves, shares = -inf, -1, m, w
    for k in range(m.size):
        q = r[k] / z
        member = q > tuning.member
        its_x, its_v, its_s, its_n = x[member], v[member], s[member], (n * q)[member]
        size = its_n.sum()
        if size < 2:
            continue
        d = its_x - m[k]
        square = its_n * d * d
        whole = 0.5 * (its_n * np.log(its_s / (2 * pi)) - square * its_s).sum()
        sd = sqrt(square.sum() / size)
        apart = np.array([m[k] - sd, m[k] + sd])
        two = em(
            its_x,
            its_v,
            its_n,
            apart,
            np.full(2, 0.5),
            tau2 / 4,
            free,
            tuning.trial_steps,
            tuning.trial_gain,
            tuning,
        )
        if two[0] - whole > most:
            most, of, halves, shares = two[0] - whole, k, two[1], two[2]
    return of, halves, shares


def renewed(
    x: Floats,
    v: Floats,
    n: Floats,
    m: Floats,
    w: Floats,
    tau2: Floats,
    ends: NDArray[np.int64],
    free: NDArray[np.bool_],
    gains: Floats,
    tuning: EmTuning,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Run EM for many models, one after the other; the m and w of each end where `ends` says.

    One call for all: compiled code lets other threads run, and each call waits for its turn again.
    """
    loglik, new_m, new_w, new_tau2 = np.empty(ends.size), m.copy(), w.copy(), tau2.copy()
    begin = 0
    for i in range(ends.size):
        its = slice(begin, ends[i])
        loglik[i], new_m[its], new_w[its], new_tau2[i] = em(
            x, v, n, m[its], w[its], tau2[i], free[i], tuning.steps, gains[i], tuning
        )
        begin = ends[i]
    return loglik, new_m, new_w, new_tau2


def larger(
    x: Floats,
    v: Floats,
    n: Floats,
    m: Floats,
    w: Floats,
    tau2: float,
    free: bool,
    tuning: EmTuning,
) -> tuple[float, Floats, Floats, float]:
    """Split the component that gains most, then run EM; return the same model if none gains."""
    of, halves, shares = best_split(x, v, n, m, w, tau2, free, tuning)
    if of < 0:
        return -inf, m, w, tau2
    others = np.arange(m.size) != of
    more_m = np.concatenate((m[others], halves))
    more_w = np.concatenate((w[others], w[of] * shares))
    return em(x, v, n, more_m, more_w, tau2 / 4, free, tuning.steps, tuning.gain, tuning)
