"""Everybody's answers from one board: like with like, what a record may weigh, how far it moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from colme.inference.em import Floats
from colme.inference.mixture import Models, fit
from colme.inference.posterior import Believers, Ints, moments
from colme.inference.variances import average, own_error
from colme.rules.interval import QUANTILE, empirical_margin, known_variance_margin

ALIKE = 2.0
"""Records are used whose variance is within this factor of one's own: in skewed data mean and
variance go together, and a prior blind to that pulls the loud to the quiet (2.1 times alone)."""

FEWEST = 6
"""Records alike, one's own included; with fewer the answer is one's own mean."""

HEAVIEST = 4.0
"""Records of the median that one may weigh as much as, whatever it claims."""

LIGHTEST = 1e6
"""How many records it takes to weigh as much as one of the median, at most: more is the same, and
numbers stay within reach of each other."""

NEVER_SEEN = 3.0
"""The rule of three: what has not happened in n samples has, at 95%, less than this / n of chance.
It is the interval of samples that were all the same, whose own variance tells nothing."""

REACH = 1.0
REACH_GROWTH = 0.5
"""(4) Standard deviations of x_bar that the answer may be from it at 10 samples, and how many more
for ten times the samples: whatever the board says. Costs .009 of MSE / Local at t = 300."""


@dataclass(frozen=True, slots=True, eq=False)
class Releases:
    """A board as a table: arrays, one entry for each record."""

    x: Floats
    """Released means."""
    data: Floats
    """A of v = A sigma2 + B L^2: what of the variance of the data is left."""
    noise: Floats
    """B: what noise adds."""
    half_range: Floats
    """L."""
    variance: Floats
    """Declared, or as released: a noisy one may be negative."""
    error: Floats
    """Of that, a variance; 0 for a declared one."""
    origin: float
    unit: float
    """Public, such as the midpoint of the bounds and half their range: answers are computed
    relative to them, so that they depend on neither where zero is nor the unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Who asks: arrays, one entry for each agent."""

    mean: Floats
    """Exact: x_bar."""
    count: Floats
    """Its samples."""
    variance: Floats
    """Declared, or that of the samples."""
    known: NDArray[np.bool_]
    """Whether it was declared."""
    half_range: Floats
    index: Ints
    """Of the own record in the table; -1 if it is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """One entry for each owner."""

    value: Floats
    sd: Floats
    margin: Floats
    """Half the width of a 95% interval."""
    trust: Floats
    """The weight of what others say in the value: 0 to 1."""
    class_size: Floats
    """How many agents are expected to be alike, oneself included."""
    models: tuple[Models | None, ...]
    """What was learned of the others: where the next answer may start. None: nothing."""


def answers(
    board: Releases, owners: Owners, *, warm: Sequence[Models | None] | None = None
) -> Answers:
    """Of every owner, each from the records like its own; who has the same ones shares a fit.

    `warm`: the models of these owners' last answers.
    """
    count = owners.mean.size
    alone = np.maximum(owners.variance, 0.0) / owners.count
    value, sd = owners.mean.copy(), np.sqrt(alone)
    margin = _margins_alone(owners)
    trust, class_size = np.zeros(count), np.ones(count)
    models: list[Models | None] = [None] * count
    result = Answers(value, sd, margin, trust, class_size, tuple(models))
    if board.x.size < FEWEST - 1:
        return result
    overall = average(board.variance, board.error)
    if not overall.certain:
        return result
    largest = board.half_range**2
    public = np.minimum(overall.shrunk(board.variance, board.error), largest)
    error = own_error(owners.variance, owners.count, owners.known, overall.mean)
    sigma2 = np.minimum(overall.shrunk(owners.variance, error), owners.half_range**2)
    v = board.data * public + board.noise * largest
    origin, unit = board.origin, board.unit
    for near, who in _groups(public, sigma2, owners.index):
        x_near = (board.x[near] - origin) / unit
        v_near = v[near] / unit**2
        middle = float(np.median(v_near))
        if not middle > 0:
            continue
        v_near = np.clip(v_near, middle / HEAVIEST, middle * LIGHTEST)
        learned = fit(x_near, v_near, None if warm is None else warm[who[0]])
        s2 = sigma2[who] / owners.count[who] / unit**2
        own = owners.index[who]
        believers = Believers(
            index=np.where(own < 0, -1, np.searchsorted(near, own)),
            x_bar=(owners.mean[who] - origin) / unit,
            s2=s2,
            width=2 * owners.half_range[who] / unit,
        )
        found = moments(x_near, v_near, learned, believers)
        reach = REACH + REACH_GROWTH * np.log10(np.maximum(owners.count[who], 10) / 10)
        limit = reach * np.sqrt(s2)
        shift = np.clip(found.shift, -limit, limit)
        value[who] += unit * shift
        sd[who] = unit * np.sqrt(found.variance + (found.shift - shift) ** 2)
        margin[who] = np.maximum(QUANTILE * sd[who], _same_samples(owners)[who])
        cut = np.divide(shift, found.shift, out=np.ones_like(shift), where=found.shift != 0)
        trust[who] = found.trust * cut
        class_size[who] = found.alike
        for a in who:
            models[a] = learned
    return Answers(value, sd, margin, trust, class_size, tuple(models))


def _margins_alone(owners: Owners) -> Floats:
    margins = [
        (known_variance_margin if known else empirical_margin)(variance, int(count))
        for variance, count, known in zip(
            owners.variance.tolist(), owners.count.tolist(), owners.known.tolist(), strict=True
        )
    ]
    return np.maximum(margins, _same_samples(owners))


def _same_samples(owners: Owners) -> Floats:
    """The least margin of those whose samples were all the same; 0 for all others."""
    same = ~owners.known & (owners.variance == 0)
    width = 2 * owners.half_range
    return np.where(same, width * np.minimum(1.0, NEVER_SEEN / owners.count), 0.0)


def _groups(public: Floats, sigma2: Floats, index: Ints) -> list[tuple[Ints, Ints]]:
    """Records alike, in order, and the owners that they are alike to: those with s2 above 0."""
    groups: dict[bytes, tuple[Ints, list[int]]] = {}
    with np.errstate(divide="ignore"):
        level, own_level = np.log(public), np.log(sigma2)
    for a in np.flatnonzero(sigma2 > 0):
        near = np.abs(level - own_level[a]) <= log(ALIKE)
        missing = index[a] < 0
        if not missing:
            near[index[a]] = True
        if np.count_nonzero(near) + missing >= FEWEST:
            groups.setdefault(near.tobytes(), (np.flatnonzero(near), []))[1].append(int(a))
    return [(near, np.array(who)) for near, who in groups.values()]
