"""An agent's own mean, given a prior from the others' releases and its exact mean of its samples.

What the prior can't see yet must not harm: the parts (1) to (4) below, each with what it is worth.
"""

from dataclasses import dataclass
from math import inf, log, pi

import numpy as np
from numpy.typing import NDArray

from colme.inference.compiled import compiled
from colme.inference.em import Floats
from colme.inference.mixture import Model, Models

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

UNSEEN = 0.83
"""(2) What a component's bias may be before anyone can see it. Without: 1.28 times alone at
epsilon = 1. A square root as of an excess of variance instead of the cube root: less safe with
many agents (a class at 1.31 instead of 1.28 times alone at M = 1,000), less gained with few."""

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
    kept = [i for i, one in enumerate(probabilities.tolist()) if one >= NEGLIGIBLE]
    chosen = [models.models[i] for i in kept]
    shift, square, trust, alike = compiled(averaged)(
        x,
        v,
        np.concatenate([model.means for model in chosen]),
        np.concatenate([model.weights for model in chosen]),
        np.array([model.tau2 for model in chosen]),
        np.cumsum([model.means.size for model in chosen]),
        probabilities[kept],
        agents.index,
        agents.x_bar,
        agents.s2,
        _unseen_class(models.overall, agents),
    )
    return Moments(shift, np.maximum(square - shift * shift, 0.0), trust, alike)


def _unseen_class(overall: Model, agents: Believers) -> Floats:
    """(1) The log-density of x_bar if its mean is of no class seen so far."""
    wide = WIDER * overall.tau2 + agents.s2
    d = agents.x_bar - overall.means[0]
    return np.maximum(-np.log(agents.width), _log_normal(d, wide))


def _log_normal(d: Floats, variance: Floats) -> Floats:
    return np.asarray(-0.5 * (d * d / variance + np.log(2 * pi * variance)))


def averaged(
    x: Floats,
    v: Floats,
    means: Floats,
    weights: Floats,
    tau2: Floats,
    ends: Ints,
    probabilities: Floats,
    index: Ints,
    x_bar: Floats,
    s2: Floats,
    unseen: Floats,
) -> Floats:
    """`given` each model, over all of them; means and weights of each end where `ends` says."""
    total = np.zeros((4, x_bar.size))
    begin = 0
    for i in range(ends.size):
        its = slice(begin, ends[i])
        total += probabilities[i] * given(
            x, v, means[its], weights[its], tau2[i], index, x_bar, s2, unseen
        )
        begin = ends[i]
    total /= probabilities.sum()
    return total


def given(
    x: Floats,
    v: Floats,
    means: Floats,
    weights: Floats,
    tau2: float,
    index: Ints,
    x_bar: Floats,
    s2: Floats,
    unseen: Floats,
) -> Floats:
    """E of shift, its square, trust and number alike, if this model is right: (4, agents)."""
    components = means.size
    s = 1 / (v + tau2)
    r = np.empty((components, x.size))
    for k in range(components):
        d = x - means[k]
        np.subtract(log(weights[k]), 0.5 * s * d * d, r[k])
    top = r[0].copy()
    for k in range(1, components):
        top = np.maximum(top, r[k])
    z = np.zeros(x.size)
    for k in range(components):
        np.exp(r[k] - top, r[k])
        z += r[k]
    # Own record: what it adds to each sum, nothing where there is none.
    mine = 1.0 * (index >= 0)
    own = np.maximum(index, 0)
    # M counts oneself, whether one's record is there or not.
    m = x.size + 1 - mine
    v_mine = v[own] * mine
    y, spread, heard, size, log_q = np.empty((5, components, x_bar.size))
    priors = np.zeros(x_bar.size)
    spare = components / np.log(np.maximum(m, 3.0))
    none = np.maximum(NO_CLASS, spare / (m + spare))
    for k in range(components):
        q = r[k] / z
        qs = q * s
        d = x - means[k]
        qsd = qs * d
        others = size[k]
        np.subtract(q.sum(), q[own] * mine, others)
        others[others < 0] = 0.0
        precision = qs.sum() - qs[own] * mine
        pull = qsd.sum() - qsd[own] * mine
        doubt = (qsd * d * s * (1 - q)).sum()
        prior = ((others + 1 / components) / m) ** PRIOR_POWER
        priors += prior
        unknown = ~((others >= FEWEST) & (precision > 0))
        # Whatever can be computed with: an unknown component has no weight.
        others[unknown], precision[unknown] = 1.0, s[0]
        information = np.maximum(precision - doubt, INFORMATION * precision)
        variance = 1 / information + tau2
        whole = variance + s2
        off = x_bar - means[k] - pull / precision
        log_normal = -0.5 * (off * off / whole + np.log(2 * pi * whole))
        share = s2 / whole
        # (2) A bias that can't be seen yet: the answer leans back to x_bar by `lean`.
        v_own = np.maximum(v_mine, others / precision - tau2)
        bias2 = UNSEEN * v_own * np.cbrt(np.log(m) * precision / (others * information))
        hidden = bias2 * np.sqrt(np.sqrt(np.maximum(1.0, v_own / s2)))
        lean = np.maximum(0.0, (hidden - s2 - tau2) / (hidden + s2 + tau2))
        np.multiply(1 - lean, share, heard[k])
        np.multiply(-heard[k], off, y[k])
        # (3) And the variance says so.
        unsure = UNSEEN_SHARE * heard[k] ** 2 * bias2
        np.add(lean**2 * s2 + (1 - lean**2) * variance * share, unsure, spread[k])
        np.add(np.log(prior), log_normal, log_q[k])
        log_q[k][unknown] = -inf
    log_none = np.log(none * priors) + unseen
    top = log_none
    for k in range(components):
        top = np.maximum(top, log_q[k])
    total = np.zeros((4, x_bar.size))
    shift, square, trust, alike = total
    q = np.exp(log_none - top)
    z = q.copy()
    square += q * s2
    for k in range(components):
        q = np.exp(log_q[k] - top)
        z += q
        shift += q * y[k]
        square += q * (spread[k] + y[k] * y[k])
        trust += q * heard[k]
        alike += q * size[k]
    total /= z
    alike += 1
    return total
