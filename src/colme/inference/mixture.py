"""A prior for an agent's mean, learned from all released means: mixtures of one to many components.

    a record's mean ~ sum_k w_k Normal(m_k, v_b + tau2)

tau2 = 0 are classes of equal means; with tau2 free, means that are near each other. K = 1 with
tau2 free is the shrinkage of James and Stein. The records decide which of them describes them:
each model has a probability, and all that are probable count. Many records are made fewer: cells
for the fit, and the best partition of them into classes.

EM of sum_k w_k Normal(m_k, v_b + tau2) stands last: one source, compiled if numba is in use.
`e_step` is the only E-step: EM, the trial of a split and the posterior use it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, floor, inf, log, log2, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from colme.inference.compiled import compiled
from colme.inference.tuning import TUNING, EmTuning, Tuning

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells of n records each, at x, with variance v: arrays, one entry for each cell."""

    x: Floats
    v: Floats
    n: Floats


def cells(x: Floats, v: Floats, tuning: Tuning = TUNING) -> Cells:
    """Draw many records at x with variance v, neighbours in both, together into cells.

    Cells are much narrower than the records' own error, and a fit to them costs less.
    """
    if x.size <= tuning.unbinned:
        return Cells(x, v, np.ones(x.size))
    layer = np.floor(np.log(v) / np.log(tuning.cell_step) + tuning.cell_offset)
    place = np.floor(
        x / (tuning.cell_width * np.sqrt(tuning.cell_step**layer)) + tuning.cell_offset
    )
    order = np.lexsort((place, layer))
    edges = (np.diff(place[order]) != 0) | (np.diff(layer[order]) != 0)
    first = np.concatenate(([0], np.flatnonzero(edges) + 1))
    precision = 1 / v[order]
    n = np.diff(np.concatenate((first, [x.size]))).astype(np.float64)
    p = np.add.reduceat(precision, first)
    return Cells(np.add.reduceat(precision * x[order], first) / p, n / p, n)


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One mixture, and how well it describes the records."""

    means: Floats
    weights: Floats
    tau2: float
    free: bool
    """Whether tau2 was learned; else it is 0."""
    loglik: float

    @property
    def parameters(self) -> int:
        """The number of means and free weights."""
        return 2 * self.means.size - 1

    @property
    def places(self) -> float:
        """The number of distances that were learned: places of components, half for their width."""
        return self.means.size + 0.5 * self.free


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """Mixtures fitted to the same records."""

    models: tuple[Model, ...]
    count: int
    """The number of records."""
    precision: float
    """The precision of all records together when the models were last fitted from scratch."""
    precision_now: float
    """The precision of the records that they were fitted to."""
    tuning: Tuning = TUNING

    @property
    def scores(self) -> Floats:
        """Log-likelihoods, less what parameters cost and finding a place among all there are.

        That is the spread of all means in errors of a record, as prior densities have it. Schwarz
        leaves it out since it stays as it is while records become more; here they become more
        precise. Early a class too few harms, so one more is cheap; late a few records of a class
        must not pass for a class of their own (MSE / Ideal 1.28 with Schwarz's cost alone).
        """
        parameter = self.tuning.parameter_cost * log(self.count)
        place = log(1 + self.overall.tau2 * self.precision_now / self.count)
        return np.array(
            [
                model.loglik - parameter * model.parameters - place * model.places
                for model in self.models
            ]
        )

    @property
    def probabilities(self) -> Floats:
        """The probability of each model; they add up to 1."""
        scores = self.scores
        weights = np.exp(scores - scores.max())
        return np.asarray(weights / weights.sum())

    def near(self, precision: float, count: int) -> bool:
        """Return whether a fit to so many records, as precise together, may start from these."""
        moved = max(precision / self.precision, self.precision / precision)
        few = self.tuning.classes_from
        return moved <= self.tuning.moved and (count < few) == (self.count < few)

    def worth_keeping(self) -> list[tuple[Model, float]]:
        """Return the models that may count again, each with what a step of EM must gain to go on.

        Besides the probable ones: the best without and with tau2, if small, and the next larger,
        so that it need not be searched again; and the overall one.
        """
        tuning, scores = self.tuning, self.scores
        below = scores.max() - scores
        kept = {*np.flatnonzero(below <= tuning.forgotten).tolist()}
        for free in (False, True):
            branch = [i for i, model in enumerate(self.models) if model.free == free]
            if branch:
                best = min(branch, key=lambda i: float(below[i]))
                if self.models[best].means.size <= tuning.many:
                    kept.update((best, min(best + 1, branch[-1])))
        overall = self.overall
        gains = tuning.em.gain * np.exp(np.minimum(below, tuning.roughly))
        return [
            (model, gain)
            for i, (model, gain) in enumerate(zip(self.models, gains.tolist(), strict=True))
            if i in kept or model is overall
        ]

    @property
    def overall(self) -> Model:
        """The model with K = 1 and tau2 free: how all means are spread."""
        return next(model for model in self.models if model.free and model.means.size == 1)


def fit(x: Floats, v: Floats, warm: Models | None = None, tuning: Tuning = TUNING) -> Models:
    """Fit all models worth having to records at x with variances v.

    Starts from `warm`, models of the same records a little earlier, unless they have changed much.
    """
    board = cells(x, v, tuning)
    precision = float((1 / v).sum())
    branches = (False, True) if x.size >= tuning.classes_from else (True,)
    if warm is None or warm.tuning != tuning or not warm.near(precision, x.size):
        models = [model for free in branches for model in _from_scratch(board, tuning, free=free)]
        return Models(tuple(models), x.size, precision, precision, tuning)
    kept = _renewed(board, warm.worth_keeping(), tuning)
    models = [model for free in branches for model in _with_more(board, kept, tuning, free=free)]
    return Models(tuple(models), x.size, warm.precision, precision, tuning)


def _from_scratch(board: Cells, tuning: Tuning, *, free: bool) -> list[Model]:
    one = converged(board, _one(board, tuning, free=free), tuning)
    return [one, *_grown(board, one, tuning)]


def _renewed(board: Cells, kept: list[tuple[Model, float]], tuning: Tuning) -> list[Model]:
    """Run EM from each model, given with what a step must gain."""
    models = [model for model, _ in kept]
    ends = np.cumsum([model.means.size for model in models])
    loglik, means, weights, tau2 = compiled(renewed)(
        board.x,
        board.v,
        board.n,
        np.concatenate([model.means for model in models]),
        np.concatenate([model.weights for model in models]),
        np.array([model.tau2 for model in models]),
        ends,
        np.array([model.free for model in models]),
        np.array([gain for _, gain in kept]),
        tuning.em,
    )
    each = zip(
        np.split(means, ends[:-1]),
        np.split(weights, ends[:-1]),
        tau2.tolist(),
        (model.free for model in models),
        loglik.tolist(),
        strict=True,
    )
    return [Model(*one) for one in each]


def _with_more(board: Cells, kept: list[Model], tuning: Tuning, *, free: bool) -> list[Model]:
    """Return the models without or with tau2, and larger ones if the largest is the best."""
    models = [model for model in kept if model.free == free]
    cost = tuning.parameter_cost * log(board.n.sum())
    if models and max(models, key=lambda one: one.loglik - cost * one.parameters) is models[-1]:
        models.extend(_grown(board, models[-1], tuning))
    return models


def _grown(board: Cells, model: Model, tuning: Tuning) -> Iterator[Model]:
    """Add components one by one, each time splitting the best in two, while that is worth it."""
    cost = 2 * tuning.parameter_cost * log(board.n.sum())
    fell = False
    while model.means.size < (tuning.most_spread if model.free else tuning.most):
        more = None
        if model.means.size == tuning.many and not model.free:
            means, weights = partition(board, tuning)
            if means.size > tuning.most:
                return
            if means.size > tuning.many:
                more = converged(board, Model(means, weights, 0.0, False, -inf), tuning)
        more = more or _larger(board, model, tuning)
        if more is None:
            return
        yield more
        gain = more.loglik - model.loglik
        falls = gain < cost * (more.means.size - model.means.size)
        if gain < tuning.worthwhile or (falls and fell):
            return
        model, fell = more, falls


def _one(board: Cells, tuning: Tuning, *, free: bool) -> Model:
    """Return the model with K = 1; tau2 starts at the moment estimate of DerSimonian and Laird."""
    p = board.n / board.v
    total = p.sum()
    mean = (p * board.x).sum() / total
    excess = (p * (board.x - mean) ** 2).sum() - board.n.sum() + 1
    tau2 = excess / (total - (p / board.v).sum() / total) if board.n.sum() > 1 else 0.0
    least = tuning.em.least_spread * board.n.sum() / total
    return Model(np.array([mean]), np.ones(1), max(tau2, least) if free else 0.0, free, -inf)


def converged(board: Cells, model: Model, tuning: Tuning = TUNING) -> Model:
    """Return the model that EM ends at from this one."""
    (found,) = _renewed(board, [(model, tuning.em.gain)], tuning)
    return found


def _larger(board: Cells, model: Model, tuning: Tuning) -> Model | None:
    """Make two of the component that gains most; None if none does."""
    loglik, means, weights, tau2 = compiled(larger)(
        board.x,
        board.v,
        board.n,
        model.means,
        model.weights,
        model.tau2,
        model.free,
        tuning.em,
    )
    if means.size == model.means.size:
        return None
    return Model(means, weights, tau2, model.free, loglik)


def partition(board: Cells, tuning: Tuning = TUNING) -> tuple[Floats, Floats]:
    """Return means and weights of the classes that explain the records best, however many.

    Each record is in one class; a fit with many components starts here. A class of n among M
    records costs what their distances from its mean do, n ln(M / n) for which are in it and ln M
    for its two parameters. Classes are intervals, so the best end of the last one but one is found
    piece by piece.
    """
    order = np.argsort(board.x, kind="stable")
    p = (board.n / board.v)[order]
    x, n = board.x[order], board.n[order]
    ends = np.unique(
        np.linspace(0, x.size, min(x.size, tuning.pieces) + 1).round().astype(np.int64)
    )
    centre = (p * x).sum() / p.sum()
    d = x - centre
    counts, precisions, firsts, seconds = (
        np.concatenate(([0.0], np.cumsum(values)))[ends] for values in (n, p, p * d, p * d * d)
    )
    total = counts[-1]
    best = np.zeros(ends.size)
    begins = np.zeros(ends.size, dtype=np.int64)
    for j in range(1, ends.size):
        size, precision = counts[j] - counts[:j], precisions[j] - precisions[:j]
        first, second = firsts[j] - firsts[:j], seconds[j] - seconds[:j]
        cost = best[:j] + 0.5 * (second - first * first / precision)
        cost += size * np.log(total / size) + log(total)
        begins[j] = cost.argmin()
        best[j] = cost[begins[j]]
    cuts = [ends.size - 1]
    while cuts[-1] > 0:
        cuts.append(int(begins[cuts[-1]]))
    cuts.reverse()
    first, precision = np.diff(firsts[cuts]), np.diff(precisions[cuts])
    return centre + first / precision, np.diff(counts[cuts]) / total


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
