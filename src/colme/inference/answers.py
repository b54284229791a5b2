"""The answers of many owners from one board: which records each uses, and how far each moves.

How it works
------------
An *owner* knows its own samples exactly: their mean x_bar, how many there are, how much they vary.
A *board* is a table of what all agents have released: noisy means, each with what public facts say
of its precision. An answer is the posterior mean of the owner's own mean, under a prior that is
learned from the board. In the order of `answers`:

1. Alone (`_alone`). Every owner starts with x_bar and its interval. Each step below may leave it at
   that: the answer is never worse founded than one's own data.
2. Honest draws (`drawn`). Records that agree better than their noise allows were made up. They go.
3. Variances (`robust.average`). Released variances are noisy, so each is drawn to their average. If
   that average may be nothing but noise, no weight is known, and all owners answer alone.
4. Similar records (`similar_variance`, `is_typical`, `_groups`). In skewed data mean and variance
   go together, so an owner uses the records whose variance is within a factor of two of its own,
   if they are enough, and if its own samples vary as they are assumed to. Owners that use the same
   records form a group: they share a fit.
5. Weights (`capped_precision`). No record weighs much more than most, whatever it claims.
6. The prior (`mixture.fit`). Mixtures of one to many components, with and without a spread within
   them, each with a probability. The fit starts from the last answer's models if it may.
7. The posterior (`posterior.moments`). Each model, with its components, says how far the truth may
   lie from x_bar. The owner's own record is taken off all sums: it shares its data with x_bar.
8. The limit (`_enter`). An answer moves at most so many standard deviations from x_bar, whatever
   the board says. What was cut off adds to its standard deviation.

The order matters. Made-up records go before anything is averaged; variances come before weights,
since they say what a record weighs; the limit comes last, so that no mistake or lie before it can
do more harm than that. Nothing here is sent or stored but the models, in memory: an answer contains
x_bar, which never leaves its owner.

All numbers are relative to `Releases.origin` and `unit`, so that answers depend neither on where
zero is nor on the unit. `tuning` has every constant with its reason. Not pretty: step 3 decides for
all owners at once, and an owner with a declared variance waits for others' released ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from colme.inference.em import Floats
from colme.inference.mixture import Models, fit
from colme.inference.posterior import Ints, PosteriorMoments, Queries, moments
from colme.inference.robust import Average, average, made_up, own_error, quantiles
from colme.inference.tuning import TUNING, Tuning
from colme.rules.interval import QUANTILE, empirical_margin

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Releases:
    """A board as a table: arrays, one entry for each record."""

    x: Floats
    """Released means."""
    data: Floats
    """A in the variance v = A sigma2 + B L^2 of a released mean: what is left of the data's."""
    noise: Floats
    """B, which noise adds."""
    half_range: Floats
    """L, half the width of the bounds."""
    variance: Floats
    """The variance of the data, declared or as released: a noisy one may be negative."""
    error: Floats
    """The variance of that variance; 0 for a declared one."""
    origin: float
    unit: float
    """Both are public, such as the midpoint of the bounds and half their range. Answers are
    computed relative to them."""
    rank: Ints | None = None
    """The order in which publishers were admitted, 0 for the first; None if it is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Agents whose answers are computed: arrays, one entry for each."""

    mean: Floats
    """x_bar, the exact mean of the samples."""
    count: Floats
    """The number of samples."""
    variance: Floats
    """The variance of the samples, or a declared one."""
    known: Bools
    """Whether the variance was declared."""
    half_range: Floats
    index: Ints
    """The place of the own record in the table; -1 if it is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers: arrays, one entry for each owner."""

    value: Floats
    sd: Floats
    margin: Floats
    """Half the width of a 95% interval."""
    trust: Floats
    """The weight of others in the value: 0 to 1."""
    class_size: Floats
    """The expected number of agents of the same class, the owner included."""
    models: tuple[Models | None, ...]
    """The prior learned from the others, from which the next answer may start; None if none was."""


def answers(
    board: Releases,
    owners: Owners,
    *,
    warm: Sequence[Models | None] | None = None,
    tuning: Tuning = TUNING,
) -> Answers:
    """Answer for every owner from the records that are similar to its own.

    `warm` are the models of these owners' last answers. Owners with the same records share a fit.
    """
    found = _alone(owners, tuning)
    board, owners = drawn(board, owners, tuning)
    if board.x.size < tuning.fewest_records - 1:
        return found
    overall = average(board.variance, board.error, tuning)
    if not overall.certain:
        return found
    largest = board.half_range**2
    public = np.clip(overall.shrunk(board.variance, board.error), 0.0, largest)
    x = (board.x - board.origin) / board.unit
    v = (board.data * public + board.noise * largest) / board.unit**2
    sigma2 = assumed_variance(owners, overall)
    asking = (sigma2 > 0) & is_typical(owners, sigma2, tuning)
    doubt = _doubt(owners, sigma2, public)
    models: list[Models | None] = [None] * owners.mean.size
    for near, who in _groups(public, sigma2, owners.index, asking, tuning):
        v_near = capped_precision(v[near], tuning)
        learned = fit(x[near], v_near, None if warm is None else warm[who[0]], tuning)
        own = owners.index[who]
        queries = Queries(
            index=np.where(own < 0, -1, np.searchsorted(near, own)),
            x_bar=(owners.mean[who] - board.origin) / board.unit,
            s2=sigma2[who] / owners.count[who] / board.unit**2,
            width=2 * owners.half_range[who] / board.unit,
        )
        belief = moments(x[near], v_near, learned, queries, tuning)
        belief = replace(belief, variance=belief.variance * doubt[who])
        _enter(found, who, belief, queries.s2, owners.count[who], board.unit, tuning)
        for a in who:
            models[a] = learned
    return replace(found, models=tuple(models))


def _alone(owners: Owners, tuning: Tuning) -> Answers:
    """Return the answers without a board."""
    count = owners.mean.size
    sd = np.sqrt(owners.variance / owners.count)
    return Answers(
        value=owners.mean.copy(),
        sd=sd,
        margin=_margins_alone(owners, sd, tuning.never_seen),
        trust=np.zeros(count),
        class_size=np.ones(count),
        models=(None,) * count,
    )


def drawn(board: Releases, owners: Owners, tuning: Tuning = TUNING) -> tuple[Releases, Owners]:
    """Remove the records that no agent can have drawn."""
    if board.x.size < tuning.fewest_records:
        return board, owners
    left = ~made_up(board.x, board.noise * board.half_range**2, tuning, rank=board.rank)
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
        rank=None if board.rank is None else board.rank[left],
    )
    return honest, replace(owners, index=np.where(owners.index < 0, -1, place[owners.index]))


def _doubt(owners: Owners, sigma2: Floats, public: Floats) -> Floats:
    """Return what variances of answers are multiplied by.

    It is the root of how far off one's own declared variance turns out to be: others' may be as far
    off, unseen. If all agents declare twice their variance, classes part later than the records let
    one believe: 95% intervals would cover .89 for a while; so .94, and .98 without the root.
    """
    stated = np.where(owners.known & (owners.index >= 0), public[owners.index], sigma2)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(np.log(stated / sigma2))
    return np.exp(0.5 * np.where(np.isfinite(off), off, 0.0))


def capped_precision(v: Floats, tuning: Tuning = TUNING) -> Floats:
    """Return variances that let no record weigh much more than most."""
    precise, middle = quantiles(v, [tuning.precise, 0.5])
    return np.clip(v, max(precise, middle / tuning.heaviest), middle * tuning.lightest)


def _enter(
    found: Answers,
    who: Ints,
    belief: PosteriorMoments,
    s2: Floats,
    count: Floats,
    unit: float,
    tuning: Tuning,
) -> None:
    """(4) Enter moments, in units of the board, as answers within the limit."""
    log_n = np.log(count)
    far = np.minimum(log_n / tuning.reach, log_n**2 / tuning.early_reach)
    limit = np.maximum(1.0, far) * np.sqrt(s2)
    shift = np.clip(belief.shift, -limit, limit)
    kept = np.divide(shift, belief.shift, out=np.ones_like(shift), where=belief.shift != 0)
    found.value[who] += unit * shift
    # What was cut off is a doubt of its own.
    found.sd[who] = unit * np.sqrt(belief.variance + (belief.shift - shift) ** 2)
    found.margin[who] = QUANTILE * found.sd[who]
    found.trust[who] = kept * belief.trust
    found.class_size[who] = belief.class_size


def _margins_alone(owners: Owners, sd: Floats, never_seen: float) -> Floats:
    margins = QUANTILE * sd
    for i in np.flatnonzero(~owners.known).tolist():
        margins[i] = empirical_margin(float(owners.variance[i]), int(owners.count[i]))
    same = ~owners.known & (owners.variance == 0)
    by_three = 2 * owners.half_range * np.minimum(1.0, never_seen / owners.count)
    return np.maximum(margins, np.where(same, by_three, 0.0))


def assumed_variance(owners: Owners, overall: Average) -> Floats:
    """Return the variance that each owner is assumed to have: its own, drawn to the average."""
    error = own_error(owners.variance, owners.count, owners.known, overall.mean)
    return np.minimum(overall.shrunk(owners.variance, error), owners.half_range**2)


def similar_variance(public: Floats, sigma2: float, tuning: Tuning = TUNING) -> Bools:
    """Return which variances are within a factor of this one."""
    factor = tuning.variance_factor
    return np.asarray((sigma2 / factor <= public) & (public <= sigma2 * factor))


def is_typical(owners: Owners, sigma2: Floats, tuning: Tuning = TUNING) -> Bools:
    """Return which owners' samples vary about as much as they are assumed to.

    An owner, too, has to be similar to the records that it uses. Rare events may not have happened
    yet. Samples that were all the same are never typical.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(np.log(owners.variance) - np.log(sigma2))
    most = log(tuning.variance_factor) + tuning.untypical * np.sqrt(2 / owners.count)
    return np.asarray(owners.known | (off <= most))


def _groups(
    public: Floats, sigma2: Floats, index: Ints, asking: Bools, tuning: Tuning
) -> list[tuple[Ints, Ints]]:
    """Return similar records, in order, with the asking owners that use exactly these.

    An owner's own record is always among them, whatever its variance.
    """
    factor = tuning.variance_factor
    owners = np.flatnonzero(asking)
    owners = owners[np.argsort(sigma2[owners], kind="stable")]
    order = np.argsort(public)
    # In that order an owner's are those from the first to before the last: `similar_variance`.
    first = np.searchsorted(public, sigma2[owners] / factor, side="left", sorter=order)
    last = np.searchsorted(public, sigma2[owners] * factor, side="right", sorter=order)
    place = np.argsort(order)[index[owners]]
    mine = index[owners] >= 0
    outside = mine & ~((first <= place) & (place < last))
    enough = last - first + (outside | ~mine) >= tuning.fewest_records
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
