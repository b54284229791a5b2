"""An agent's own mean, given a prior from the others' releases and its exact mean of its samples.

What the prior can't see yet must not harm: the parts (1) to (4) below, each with what it is worth.
"""

from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import NDArray

from colme.inference.em import Floats
from colme.inference.mixture import Model, Models, responsibilities

Ints = NDArray[np.int64]

NEGLIGIBLE = 1e-4
"""Models less probable than this are left out."""

FEWEST = 0.3
"""Expected others in a component; with fewer nothing is known of it."""

INFORMATION = 0.1
"""Of a component's precision, at least, that unclear membership leaves."""

PRIOR_POWER = 0.5
"""Of a component's size in its prior weight: 1 swamps small classes (worst class of 5%: 3.4 to 4.4
times alone), 0 costs a tenth of regret."""

NO_CLASS = 0.005
"""(1) The least prior weight of being of no class seen so far, where the answer is one's own. At
t = 30,000 the error is 1.09 times the Ideal of a class; with .02 1.13, with .05 1.25."""

WIDER = 4.0
"""(1) Times tau2 of the fit with K = 1: how far off such a mean may be, if that says more than the
bounds."""

UNSEEN = 2**0.5
"""(2) What a component's bias may be before anyone can see it. Without: 1.28 times alone at
epsilon = 1. With 2 instead: safer where variances are wrong, .11 for .05 at t = 300."""

UNSEEN_SHARE = 0.5
"""(3) Of that, in the variance of the answer: it makes up for first fits that are too sure."""


@dataclass(frozen=True, slots=True, eq=False)
class Believers:
    """Agents whose means are asked for: arrays, one entry each."""

    index: Ints
    """Of the own record among those of the fit, to be left out; -1 if it is not there."""
    x_bar: Floats
    s2: Floats
    """The variance of x_bar."""
    width: Floats
    """Of the bounds."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Of the posterior of each agent's mean."""

    shift: Floats
    """The posterior mean less x_bar."""
    variance: Floats
    trust: Floats
    """The weight of what others say in it."""
    alike: Floats
    """How many agents are expected to be of the same component, oneself included."""


def moments(x: Floats, v: Floats, models: Models, agents: Believers) -> Moments:
    """Over all models, each with its probability.

    The fit contains one's own record, the sums do not: it shares its data with x_bar. Taken off
    by subtraction, so that all answers together cost as much as a step of EM.
    """
    probabilities = models.probabilities
    kept = probabilities >= NEGLIGIBLE
    total = np.zeros((4, agents.x_bar.size))
    unseen = _unseen_class(models.overall, agents)
    for model, probability in zip(models.models, probabilities, strict=True):
        if probability >= NEGLIGIBLE:
            total += probability * _given(model, x, v, agents, unseen)
    shift, square, trust, alike = total / probabilities[kept].sum()
    return Moments(shift, np.maximum(square - shift * shift, 0.0), trust, alike)


def _unseen_class(overall: Model, agents: Believers) -> Floats:
    """(1) The log-density of x_bar if its mean is of no class seen so far."""
    wide = WIDER * overall.tau2 + agents.s2
    d = agents.x_bar - overall.means[0]
    return np.maximum(-np.log(agents.width), _log_normal(d, wide))


def _log_normal(d: Floats, variance: Floats) -> Floats:
    return np.asarray(-0.5 * (d * d / variance + np.log(2 * pi * variance)))


def _given(model: Model, x: Floats, v: Floats, agents: Believers, unseen: Floats) -> Floats:
    """E of shift, its square, trust and number alike, if this model is right: (4, agents)."""
    k, tau2 = model.means.size, model.tau2
    s = 1 / (v + tau2)
    r = responsibilities(x, v, model)
    d = x - model.means[:, None]
    rs = r * s
    # Own record: what it adds to each sum, nothing where there is none.
    mine = np.where(agents.index < 0, 0.0, 1.0)
    r_own, rs_own = r[:, agents.index] * mine, rs[:, agents.index] * mine
    others = np.maximum(r.sum(axis=1)[:, None] - r_own, 0.0)
    precision = rs.sum(axis=1)[:, None] - rs_own
    pull = (rs * d).sum(axis=1)[:, None] - rs_own * d[:, agents.index]
    doubt = (rs * (1 - r) * d * d * s).sum(axis=1)[:, None]
    # M counts oneself, whether one's record is there or not.
    m = x.size + 1 - mine
    prior = ((others + 1 / k) / m) ** PRIOR_POWER
    known = (others >= FEWEST) & (precision > 0)
    size, precision = np.where(known, others, 1.0), np.where(known, precision, s.min())
    information = np.maximum(precision - doubt, INFORMATION * precision)
    variance = 1 / information + tau2
    off = agents.x_bar - model.means[:, None] - pull / precision
    s2 = agents.s2
    share = s2 / (variance + s2)
    log_q = np.where(known, np.log(prior) + _log_normal(off, variance + s2), -np.inf)
    # (2) A bias that can't be seen yet: the answer leans back to x_bar by `own`.
    v_own = np.maximum(v[agents.index] * mine, size / precision - tau2)
    bias2 = UNSEEN * v_own * np.sqrt(np.log(m) * precision / (size * information))
    hidden = bias2 * np.sqrt(np.maximum(1.0, v_own / s2))
    own = np.maximum(0.0, (hidden - s2 - tau2) / (hidden + s2 + tau2))
    heard = (1 - own) * share
    y = -heard * off
    # (3) And the variance says so.
    spread = own**2 * s2 + (1 - own**2) * variance * share + UNSEEN_SHARE * heard**2 * bias2
    spare = k / np.log(np.maximum(m, 3))
    none = np.maximum(NO_CLASS, spare / (m + spare))
    log_none = np.log(none * prior.sum(axis=0)) + unseen
    top = np.maximum(log_q.max(axis=0), log_none)
    q, q_none = np.exp(log_q - top), np.exp(log_none - top)
    z = q.sum(axis=0) + q_none
    return np.stack(
        (
            (q * y).sum(axis=0) / z,
            ((q * (spread + y * y)).sum(axis=0) + q_none * s2) / z,
            (q * heard).sum(axis=0) / z,
            1 + (q * size).sum(axis=0) / z,
        )
    )
