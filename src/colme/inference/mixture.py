"""A prior for everybody's mean, learned from released means: mixtures of one to many components.

    a record's mean ~ sum_k w_k Normal(m_k, v_b + tau2)

tau2 = 0 are classes of equal means; with tau2 free, means that are near each other. K = 1 with
tau2 free is the shrinkage of James and Stein. Which of them describes the records is left to them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log

import numpy as np

from colme.inference.cells import Cells, cells
from colme.inference.compiled import compiled
from colme.inference.em import LEAST_SPREAD, Floats, larger, renewed
from colme.inference.partition import partition

WORTH = 0.5
"""Growth ends at a component that gains less in log-likelihood: it costs ln M, ten times that."""

CLASSES_FROM = 15
"""Records; fewer are not taken for classes of equal means (tau2 = 0), which at first often look as
if they were one: of 8 agents with different means 1.11 times alone, instead of 1.05."""

MANY = 6
"""Components at which growth looks ahead: if the best partition has more, it goes on from there, or
ends, if there are far too many."""

MOST = 30
MOST_SPREAD = 10
"""Components of the largest model without and with tau2: more classes than that are a continuum,
and what a few components do not explain, tau2 does."""

PARAMETER = 0.15
"""Of ln M is what a parameter costs, instead of Schwarz's 1/2: there the .4 of the paper's classes
would be hidden between .2 and .8 for longer (1.41 times alone at M = 1,000, instead of 1.10)."""

STEPS = 120
"""Of EM, at most; it takes 3 to 40."""

GAIN = 1e-3
"""EM ends at a step that gains less: a thousandth moves no model's probability."""

ROUGHLY = 4.0
"""Less probable models need not be known as well: e times less so, e times the gain, to e^4."""

TRIAL_STEPS = 8
TRIAL_GAIN = 0.05
"""Of a split on trial: enough to rank it."""

MOVED = 2.0
"""Records that tell so much more, or less, than at the last fit from scratch: time for another, as
classes may be seen that were not there to be kept."""

FORGOTTEN = 14.0
"""A model that is e^14 times less probable than the best is not renewed."""


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
        """Means and weights."""
        return 2 * self.means.size - 1

    @property
    def places(self) -> float:
        """How many distances were learned: where components are, and half of how wide."""
        return self.means.size + 0.5 * self.free


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """Mixtures fitted to the same records."""

    models: tuple[Model, ...]
    count: int
    """Of the records."""
    precision: float
    """Of all records together when the models were last fitted from scratch."""
    precision_now: float
    """The same of the records that they were fitted to."""

    @property
    def scores(self) -> Floats:
        """Log-likelihoods, less what parameters cost and finding a place among all there are.

        That is the spread of all means in errors of a record, as prior densities have it. Schwarz
        leaves it out since it stays as it is while records become more; here they become more
        precise. Early a class too few harms, so one more is cheap; late a few records of a class
        must not pass for a class of their own (MSE / Ideal 1.28 with Schwarz's cost alone).
        """
        parameter = PARAMETER * log(self.count)
        place = log(1 + self.overall.tau2 * self.precision_now / self.count)
        return np.array(
            [
                model.loglik - parameter * model.parameters - place * model.places
                for model in self.models
            ]
        )

    @property
    def probabilities(self) -> Floats:
        """Of each model; they add up to 1."""
        scores = self.scores
        weights = np.exp(scores - scores.max())
        return np.asarray(weights / weights.sum())

    def near(self, precision: float, count: int) -> bool:
        """Whether models of so many records, as precise together, may begin at these."""
        moved = max(precision / self.precision, self.precision / precision)
        return moved <= MOVED and (count < CLASSES_FROM) == (self.count < CLASSES_FROM)

    def worth_keeping(self) -> list[tuple[Model, float]]:
        """Those that may count again, each with what a step of EM must gain to go on.

        Besides the probable ones: the best without and with tau2, if small, and the next larger,
        so that nobody has to look for it again; and the overall one.
        """
        scores = self.scores
        below = scores.max() - scores
        kept = {*np.flatnonzero(below <= FORGOTTEN).tolist()}
        for free in (False, True):
            branch = [i for i, model in enumerate(self.models) if model.free == free]
            if branch:
                best = min(branch, key=lambda i: float(below[i]))
                if self.models[best].means.size <= MANY:
                    kept.update((best, min(best + 1, branch[-1])))
        overall = self.overall
        gains = GAIN * np.exp(np.minimum(below, ROUGHLY))
        return [
            (model, gain)
            for i, (model, gain) in enumerate(zip(self.models, gains.tolist(), strict=True))
            if i in kept or model is overall
        ]

    @property
    def overall(self) -> Model:
        """K = 1 with tau2 free: how all means are spread."""
        return next(model for model in self.models if model.free and model.means.size == 1)


def fit(x: Floats, v: Floats, warm: Models | None = None) -> Models:
    """All models worth having of records at x with variances v.

    Begins at `warm`, models of the same records a little earlier, unless they have changed much.
    """
    board = cells(x, v)
    precision = float((1 / v).sum())
    branches = (False, True) if x.size >= CLASSES_FROM else (True,)
    if warm is None or not warm.near(precision, x.size):
        models = [model for free in branches for model in _from_scratch(board, free=free)]
        return Models(tuple(models), x.size, precision, precision)
    kept = _renewed(board, warm.worth_keeping())
    models = [model for free in branches for model in _with_more(board, kept, free=free)]
    return Models(tuple(models), x.size, warm.precision, precision)


def _from_scratch(board: Cells, *, free: bool) -> list[Model]:
    one = converged(board, _one(board, free=free))
    return [one, *_grown(board, one)]


def _renewed(board: Cells, kept: list[tuple[Model, float]]) -> list[Model]:
    """What the models have become; each with what a step of EM must gain."""
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
        STEPS,
        np.array([gain for _, gain in kept]),
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


def _with_more(board: Cells, kept: list[Model], *, free: bool) -> list[Model]:
    """Those without or with tau2, with more components where the largest is the best."""
    models = [model for model in kept if model.free == free]
    cost = PARAMETER * log(board.n.sum())
    if models and max(models, key=lambda one: one.loglik - cost * one.parameters) is models[-1]:
        models.extend(_grown(board, models[-1]))
    return models


def _grown(board: Cells, model: Model) -> Iterator[Model]:
    """With one component more, and one more: the best one split in two, while that is worth it."""
    cost = 2 * PARAMETER * log(board.n.sum())
    fell = False
    while model.means.size < (MOST_SPREAD if model.free else MOST):
        more = None
        if model.means.size == MANY and not model.free:
            means, weights = partition(board)
            if means.size > MOST:
                return
            if means.size > MANY:
                more = converged(board, Model(means, weights, 0.0, False, -inf))
        more = more or _larger(board, model)
        if more is None:
            return
        yield more
        gain = more.loglik - model.loglik
        falls = gain < cost * (more.means.size - model.means.size)
        if gain < WORTH or (falls and fell):
            return
        model, fell = more, falls


def _one(board: Cells, *, free: bool) -> Model:
    """K = 1. tau2 starts at the moment estimate of DerSimonian and Laird."""
    p = board.n / board.v
    total = p.sum()
    mean = (p * board.x).sum() / total
    excess = (p * (board.x - mean) ** 2).sum() - board.n.sum() + 1
    tau2 = excess / (total - (p / board.v).sum() / total) if board.n.sum() > 1 else 0.0
    least = LEAST_SPREAD * board.n.sum() / total
    return Model(np.array([mean]), np.ones(1), max(tau2, least) if free else 0.0, free, -inf)


def converged(board: Cells, model: Model) -> Model:
    """The model that EM ends at from this one."""
    (found,) = _renewed(board, [(model, GAIN)])
    return found


def _larger(board: Cells, model: Model) -> Model | None:
    """With one component made two: the one that gains most."""
    loglik, means, weights, tau2 = compiled(larger)(
        board.x,
        board.v,
        board.n,
        model.means,
        model.weights,
        model.tau2,
        model.free,
        TRIAL_STEPS,
        TRIAL_GAIN,
        STEPS,
        GAIN,
    )
    if means.size == model.means.size:
        return None
    return Model(means, weights, tau2, model.free, loglik)
