"""A prior for an agent's mean, learned from all released means: mixtures of one to many components.

    a record's mean ~ sum_k w_k Normal(m_k, v_b + tau2)

tau2 = 0 are classes of equal means; with tau2 free, means that are near each other. K = 1 with
tau2 free is the shrinkage of James and Stein. The records decide which of them describes them:
each model has a probability, and all that are probable count. Many records are made fewer: cells
for the fit, and the best partition of them into classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log

import numpy as np

from colme.inference.compiled import compiled
from colme.inference.em import Floats, larger, renewed
from colme.inference.tuning import TUNING, Tuning


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
