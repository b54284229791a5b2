"""Everybody's answers from one board: like with like, what a record may weigh, how far it moves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from colme.inference.agreement import made_up
from colme.inference.em import Floats
from colme.inference.mixture import Models, fit
from colme.inference.posterior import Believers, Ints, Moments, moments
from colme.inference.quantiles import quantiles
from colme.inference.variances import Average, average, own_error
from colme.rules.interval import QUANTILE, empirical_margin

Bools = NDArray[np.bool_]

ALIKE = 2.0
"""Records are used whose variance is within this factor of one's own: in skewed data mean and
variance go together, and a prior blind to that pulls the loud to the quiet (2.1 times alone)."""

FEWEST = 6
"""Records alike, one's own included; with fewer the answer is one's own mean."""

UNUSUAL = 2.0
"""Standard errors beyond that factor that the variance of one's samples may be off what it is taken
for; farther off the answer is one's own. Without, 2.3 times alone where one in 500 samples is 1 and
most others see more."""

PRECISE = 0.35
"""Of the records that have to be as precise as one is taken to be. Where 5% claim a thousand times
the samples and are off by .01, .033 of MSE / Local at t = 10,000 instead of .16; where 30% do and
are four standard deviations off, .27 instead of the .57 of a quarter. Own paces and epsilons lose
next to nothing by it."""

HEAVIEST = 4.0
"""Records of the median that one may weigh as much as, however many claim more."""

LIGHTEST = 1e6
"""How many records it takes to weigh as much as one of the median, at most: more is the same, and
numbers stay within reach of each other."""

NEVER_SEEN = 3.0
"""The rule of three: what has not happened in n samples has, at 95%, less than this / n of chance.
It is the interval of samples that were all the same, whose own variance tells nothing."""

REACH = 3.0
EARLY_REACH = 17.0
"""(4) The answer is at most ln(n) / 3 standard deviations of x_bar from it, before 300 samples
ln(n)^2 / 17, and 1 if that is more: whatever the board says. Without it a class of 5% between two
others would be 4.4 times worse off than alone for a while, with ln(n) / 3 throughout 2.9, so 2.6;
costs .03 of MSE / Local at t = 100, epsilon = 4, and .005 at epsilon = 1."""


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
    known: Bools
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
    found = _alone(owners)
    board, owners = drawn(board, owners)
    if board.x.size < FEWEST - 1:
        return found
    overall = average(board.variance, board.error)
    if not overall.certain:
        return found
    largest = board.half_range**2
    public = np.clip(overall.shrunk(board.variance, board.error), 0.0, largest)
    x = (board.x - board.origin) / board.unit
    v = (board.data * public + board.noise * largest) / board.unit**2
    sigma2 = taken_for(owners, overall)
    asking = (sigma2 > 0) & usual(owners, sigma2)
    doubt = _doubt(owners, sigma2, public)
    models: list[Models | None] = [None] * owners.mean.size
    for near, who in _groups(public, sigma2, owners.index, asking):
        v_near = _within_reach(v[near])
        learned = fit(x[near], v_near, None if warm is None else warm[who[0]])
        own = owners.index[who]
        believers = Believers(
            index=np.where(own < 0, -1, np.searchsorted(near, own)),
            x_bar=(owners.mean[who] - board.origin) / board.unit,
            s2=sigma2[who] / owners.count[who] / board.unit**2,
            width=2 * owners.half_range[who] / board.unit,
        )
        belief = moments(x[near], v_near, learned, believers)
        belief = replace(belief, variance=belief.variance * doubt[who])
        _enter(found, who, belief, believers.s2, owners.count[who], board.unit)
        for a in who:
            models[a] = learned
    return replace(found, models=tuple(models))


def _alone(owners: Owners) -> Answers:
    """What everybody would answer without a board."""
    count = owners.mean.size
    sd = np.sqrt(owners.variance / owners.count)
    return Answers(
        value=owners.mean.copy(),
        sd=sd,
        margin=_margins_alone(owners, sd),
        trust=np.zeros(count),
        class_size=np.ones(count),
        models=(None,) * count,
    )


def drawn(board: Releases, owners: Owners) -> tuple[Releases, Owners]:
    """Without what nobody can have drawn."""
    if board.x.size < FEWEST:
        return board, owners
    left = ~made_up(board.x, board.noise * board.half_range**2)
    if left.all():
        return board, owners
    place = np.where(left, np.cumsum(left) - 1, -1)
    honest = replace(
        board,
        x=board.x[left],
        data=board.data[left],
        noise=board.noise[left],
        half_range=board.half_range[left],
        variance=board.variance[left],
        error=board.error[left],
    )
    return honest, replace(owners, index=np.where(owners.index < 0, -1, place[owners.index]))


def _doubt(owners: Owners, sigma2: Floats, public: Floats) -> Floats:
    """What variances of answers are multiplied by: the root of how far off one's own declared
    variance turns out to be, for others' may be as far off, unseen.

    Where all declare twice theirs, classes part later than one can know who believes the records:
    95% intervals would cover .89 for a while; so .94, and .98 without the root.
    """
    stated = np.where(owners.known & (owners.index >= 0), public[owners.index], sigma2)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(np.log(stated / sigma2))
    return np.exp(0.5 * np.where(np.isfinite(off), off, 0.0))


def _within_reach(v: Floats) -> Floats:
    """Variances, so that no record weighs much more than most."""
    precise, middle = quantiles(v, [PRECISE, 0.5])
    return np.clip(v, max(precise, middle / HEAVIEST), middle * LIGHTEST)


def _enter(
    found: Answers, who: Ints, belief: Moments, s2: Floats, count: Floats, unit: float
) -> None:
    """Moments in units of the board become answers, within the limit."""
    told = np.log(count)
    limit = np.maximum(1.0, np.minimum(told / REACH, told**2 / EARLY_REACH)) * np.sqrt(s2)
    shift = np.clip(belief.shift, -limit, limit)
    kept = np.divide(shift, belief.shift, out=np.ones_like(shift), where=belief.shift != 0)
    found.value[who] += unit * shift
    # What was cut off is a doubt of its own.
    found.sd[who] = unit * np.sqrt(belief.variance + (belief.shift - shift) ** 2)
    found.margin[who] = QUANTILE * found.sd[who]
    found.trust[who] = kept * belief.trust
    found.class_size[who] = belief.alike


def _margins_alone(owners: Owners, sd: Floats) -> Floats:
    margins = QUANTILE * sd
    for i in np.flatnonzero(~owners.known).tolist():
        margins[i] = empirical_margin(float(owners.variance[i]), int(owners.count[i]))
    same = ~owners.known & (owners.variance == 0)
    never_seen = 2 * owners.half_range * np.minimum(1.0, NEVER_SEEN / owners.count)
    return np.maximum(margins, np.where(same, never_seen, 0.0))


def taken_for(owners: Owners, overall: Average) -> Floats:
    """The variance that each owner is taken to have: its own, drawn to the average."""
    error = own_error(owners.variance, owners.count, owners.known, overall.mean)
    return np.minimum(overall.shrunk(owners.variance, error), owners.half_range**2)


def alike(public: Floats, sigma2: float) -> Bools:
    """Whose variance is within a factor of this one."""
    return np.asarray((sigma2 / ALIKE <= public) & (public <= sigma2 * ALIKE))


def usual(owners: Owners, sigma2: Floats) -> Bools:
    """Whose samples vary about as much as they are taken to: like with like holds for oneself too.

    Events that are rare may not have happened yet. Samples that were all the same are never usual.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(np.log(owners.variance) - np.log(sigma2))
    return np.asarray(owners.known | (off <= log(ALIKE) + UNUSUAL * np.sqrt(2 / owners.count)))


def _groups(public: Floats, sigma2: Floats, index: Ints, asking: Bools) -> list[tuple[Ints, Ints]]:
    """Records alike, in order, and the owners among those asking that they are alike to.

    An owner's own record is always among them, whatever its variance.
    """
    owners = np.flatnonzero(asking)
    owners = owners[np.argsort(sigma2[owners], kind="stable")]
    order = np.argsort(public)
    # In that order an owner's are those from the first to before the last, as in `alike`.
    first = np.searchsorted(public, sigma2[owners] / ALIKE, side="left", sorter=order)
    last = np.searchsorted(public, sigma2[owners] * ALIKE, side="right", sorter=order)
    place = np.argsort(order)[index[owners]]
    mine = index[owners] >= 0
    outside = mine & ~((first <= place) & (place < last))
    enough = last - first + (outside | ~mine) >= FEWEST
    extra = np.where(outside, index[owners], -1)
    groups: dict[tuple[int, int, int], list[int]] = {}
    keys = zip(*(values[enough].tolist() for values in (first, last, extra)), strict=True)
    for key, owner in zip(keys, owners[enough].tolist(), strict=True):
        groups.setdefault(key, []).append(owner)
    found = []
    for (begin, end, own), who in groups.items():
        near = np.append(order[begin:end], own) if own >= 0 else order[begin:end]
        found.append((np.sort(near), np.array(who)))
    return found
