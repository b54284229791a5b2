"""An agent's own mean, given a prior from the others' releases and its exact mean of its samples.

What the prior can't see yet must not harm: parts (1) to (3) here and (4) in `answers` limit it;
`tuning` has what each is worth.
"""

from dataclasses import dataclass
from math import inf, pi

import numpy as np
from numpy.typing import NDArray

from colme.inference.compiled import compiled
from colme.inference.mixture import Floats, Model, Models, e_step, logarithms
from colme.inference.tuning import TUNING, PosteriorTuning, Tuning

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Agents whose means are asked for: arrays, one entry each."""

    index: Ints
    """Places of the own records among those of the fit, to be left out; -1 if not there."""
    x_bar: Floats
    s2: Floats
    """The variance of x_bar."""
    width: Floats
    """The width of the bounds."""


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorMoments:
    """Moments of the posterior of each agent's mean."""

    shift: Floats
    """The posterior mean less x_bar."""
    variance: Floats
    trust: Floats
    """The weight of others in the posterior mean."""
    class_size: Floats
    """The expected number of agents of the same component, the agent included."""


def moments(
    x: Floats, v: Floats, models: Models, agents: Queries, tuning: Tuning = TUNING
) -> PosteriorMoments:
    """Return the moments over all models, each with its probability.

    The fit contains an agent's own record, the sums do not: it shares its data with x_bar. It is
    taken off by subtraction, so that all answers together cost as much as a step of EM.
    """
    probabilities = models.probabilities
    kept = [i for i, one in enumerate(probabilities.tolist()) if one >= tuning.negligible]
    chosen = [models.models[i] for i in kept]
    shift, square, trust, class_size = compiled(averaged)(
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
        _unseen_class(models.overall, agents, tuning.wider),
        tuning.posterior,
    )
    return PosteriorMoments(shift, np.maximum(square - shift * shift, 0.0), trust, class_size)


def _unseen_class(overall: Model, agents: Queries, wider: float) -> Floats:
    """(1) Return the log-density of x_bar if its mean is of no class seen so far."""
    wide = wider * overall.tau2 + agents.s2
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
    tuning: PosteriorTuning,
) -> Floats:
    """Average `given` over all models; means and weights of each end where `ends` says."""
    total = np.zeros((4, x_bar.size))
    begin = 0
    for i in range(ends.size):
        its = slice(begin, ends[i])
        total += probabilities[i] * given(
            x, v, means[its], weights[its], tau2[i], index, x_bar, s2, unseen, tuning
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
    tuning: PosteriorTuning,
) -> Floats:
    """Return the means of shift, its square, trust and class size under one model: (4, agents)."""
    components = means.size
    s = 1 / (v + tau2)
    r = np.empty((components, x.size))
    _, z = e_step(x, s, means, logarithms(weights), r)
    # Own record: what it adds to each sum, nothing where there is none.
    mine = 1.0 * (index >= 0)
    own = np.maximum(index, 0)
    # M counts oneself, whether one's record is there or not.
    m = x.size + 1 - mine
    v_mine = v[own] * mine
    y, spread, heard, size, log_q = np.empty((5, components, x_bar.size))
    priors = np.zeros(x_bar.size)
    spare = components / np.log(np.maximum(m, 3.0))
    none = np.maximum(tuning.no_class, spare / (m + spare))
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
        # A root is exact, a power is not, and takes longer.
        prior = (others + 1 / components) / m
        prior = np.sqrt(prior) if tuning.prior_power == 0.5 else prior**tuning.prior_power
        priors += prior
        unknown = ~((others >= tuning.fewest_others) & (precision > 0))
        # Whatever can be computed with: an unknown component has no weight.
        others[unknown], precision[unknown] = 1.0, s[0]
        information = np.maximum(precision - doubt, tuning.least_information * precision)
        variance = 1 / information + tau2
        whole = variance + s2
        off = x_bar - means[k] - pull / precision
        log_normal = -0.5 * (off * off / whole + np.log(2 * pi * whole))
        share = s2 / whole
        # (2) A bias that can't be seen yet: the answer leans back to x_bar by `lean`.
        v_own = np.maximum(v_mine, others / precision - tau2)
        bias2 = tuning.unseen_bias * v_own * np.cbrt(np.log(m) * precision / (others * information))
        hidden = bias2 * np.sqrt(np.sqrt(np.maximum(1.0, v_own / s2)))
        lean = np.maximum(0.0, (hidden - s2 - tau2) / (hidden + s2 + tau2))
        np.multiply(1 - lean, share, heard[k])
        np.multiply(-heard[k], off, y[k])
        # (3) And the variance says so.
        unsure = tuning.unseen_share * heard[k] ** 2 * bias2
        np.add(lean**2 * s2 + (1 - lean**2) * variance * share, unsure, spread[k])
        np.add(np.log(prior), log_normal, log_q[k])
        log_q[k][unknown] = -inf
    log_none = np.log(none * priors) + unseen
    top = log_none
    for k in range(components):
        top = np.maximum(top, log_q[k])
    total = np.zeros((4, x_bar.size))
    shift, square, trust, class_size = total
    q = np.exp(log_none - top)
    z = q.copy()
    square += q * s2
    for k in range(components):
        q = np.exp(log_q[k] - top)
        z += q
        shift += q * y[k]
        square += q * (spread[k] + y[k] * y[k])
        trust += q * heard[k]
        class_size += q * size[k]
    total /= z
    class_size += 1
    return total
