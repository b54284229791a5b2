"""The answers of many owners from one board: which records each uses, and how far each moves.

`posterior`, the public function, is one owner's answer from records. What each record may claim is
limited where records become arrays (`releases`); the rest follows from public facts.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, log, nan, sqrt
from statistics import median_low

import numpy as np
from numpy.typing import NDArray

from colme.errors import InvalidValue
from colme.inference.mixture import Floats, Models, fit
from colme.inference.posterior import Ints, PosteriorMoments, Queries, moments
from colme.inference.robust import (
    Average,
    average,
    made_up,
    own_error,
    quantiles,
    released_variances,
)
from colme.inference.tuning import TUNING, Tuning
from colme.protocol.board.record import VERSION, Record
from colme.protocol.own_data import QUANTILE
from colme.rules.weighing import Blend, claimed, fewest_draws

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


def empirical_margin(variance: float, count: int) -> float:
    """Half-width by the variance of the samples themselves; a single one tells nothing."""
    if count < 2:
        return inf
    return student_quantile(count - 1) * sqrt(variance / (count - 1))


def student_quantile(freedom: int) -> float:
    """Return the 97.5% quantile of Student's distribution, to 1% from 3 degrees of freedom on."""
    if freedom < 1:
        return inf
    z = QUANTILE
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return z + first + second + third


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """An owner's knowledge of its own data. None of it leaves the agent."""

    mean: float
    """Exact, of all samples."""
    count: int
    variance: float
    """Exact variance of the samples, combined with a declared one if there is one."""
    known: bool
    """Whether a variance was declared."""
    bounds: tuple[float, float]
    origin: str | None
    """The publisher of the own record, left out as it shares its data with the mean; or None."""
    any_bounds: bool = False
    """Whether records with other bounds may be used: if every class has its own, but all measure
    the same thing in the same unit."""

    def __post_init__(self) -> None:
        lo, hi = self.bounds
        if not (isfinite(lo) and isfinite(hi) and lo < hi):
            raise InvalidValue("bounds", self.bounds, "two finite numbers, the lower one first")
        if self.count < 1:
            raise InvalidValue("count", self.count, "at least 1 sample")
        if not lo <= self.mean <= hi:
            raise InvalidValue("mean", self.mean, f"{lo:g} to {hi:g}, as the bounds allow")
        if not 0 <= self.variance < float("inf"):
            raise InvalidValue("variance", self.variance, "a finite number, 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """An owner's answer: what it may believe of its own mean."""

    value: float
    sd: float
    margin: float
    """Half the width of a 95% interval."""
    trust: float
    """The weight of others in the value: 0 to 1."""
    class_size: float
    """The expected number of agents of the same class, the owner included."""
    models: Models | None
    """The prior learned from the others, for the next answer to start from; or None."""


def posterior(
    own: Own,
    records: Sequence[Record],
    *,
    warm: Models | None = None,
    admitted: Mapping[str, int] | None = None,
    tuning: Tuning = TUNING,
) -> Posterior:
    """Answer from all records that may be used; from one's own mean alone if they are few.

    `warm` are the models of the last answer: with them the next takes a tenth of the time.
    `admitted` says in which order publishers were admitted, the surest and first with 0: it decides
    who of many that agree too well is an original.
    """
    usable, board, owners = tables(own, records, tuning)
    if admitted is not None:
        last = len(admitted)
        order = [admitted.get(record.origin, last) for record in usable]
        board = replace(board, rank=np.array(order, np.int64))
    found = answers(board, owners, warm=[warm], tuning=tuning)
    return Posterior(
        value=float(found.value[0]),
        sd=float(found.sd[0]),
        margin=float(found.margin[0]),
        trust=float(found.trust[0]),
        class_size=float(found.class_size[0]),
        models=found.models[0],
    )


def tables(
    own: Own, records: Sequence[Record], tuning: Tuning = TUNING
) -> tuple[list[Record], Releases, Owners]:
    """Return the records that may be used; then these, and the owner, as arrays."""
    usable = [
        record
        for record in records
        if record.version == VERSION and (own.any_bounds or record.bounds == own.bounds)
    ]
    lo, hi = own.bounds
    half_range = (hi - lo) / 2
    mine = [i for i, record in enumerate(usable) if record.origin == own.origin]
    owners = Owners(
        mean=np.array([own.mean]),
        count=np.array([float(own.count)]),
        variance=np.array([own.variance]),
        known=np.array([own.known]),
        half_range=np.array([half_range]),
        index=np.array(mine[:1] or [-1]),
    )
    board = releases(usable, origin=(lo + hi) / 2, unit=half_range, tuning=tuning)
    return usable, board, owners


def releases(
    records: Sequence[Record], *, origin: float, unit: float, tuning: Tuning = TUNING
) -> Releases:
    """Make a table of records that may be used together."""
    most = tuning.largest_count * median_low([record.count for record in records] or [1])
    blends = [_believed(record, most) for record in records]
    bounds = np.array([record.bounds for record in records]).reshape(-1, 2)
    return tabulated(
        mean=np.array([record.mean for record in records]),
        square=np.array([_or_nan(record.square) for record in records]),
        variance=np.array([_or_nan(record.variance) for record in records]),
        made_of=np.array([one.shares for one in blends]).reshape(-1, 4).T,
        half_range=(bounds[:, 1] - bounds[:, 0]) / 2,
        midpoint=bounds.mean(axis=1),
        origin=origin,
        unit=unit,
        tuning=tuning,
    )


def tabulated(
    *,
    mean: Floats,
    square: Floats,
    variance: Floats,
    made_of: Floats,
    half_range: Floats,
    midpoint: Floats,
    origin: float,
    unit: float,
    tuning: Tuning = TUNING,
) -> Releases:
    """Make a table of what records say: `square` or a declared `variance`, NaN for the other.

    `made_of` [4, records]: the `Blend.shares` that they are believed to have.
    """
    farthest = tuning.farthest_mean * half_range
    offset = np.clip(mean - midpoint, -farthest, farthest)
    error = np.zeros(mean.size)
    released = np.isnan(variance)
    if released.any():
        variance = variance.copy()
        variance[released], error[released] = released_variances(
            square[released],
            offset[released],
            made_of[:, released],
            half_range[released],
            tuning,
        )
    return Releases(
        x=midpoint + offset,
        data=made_of[0],
        noise=made_of[1],
        half_range=half_range,
        variance=variance,
        error=error,
        origin=origin,
        unit=unit,
    )


def _or_nan(number: float | None) -> float:
    return nan if number is None else number


def _believed(record: Record, most: int) -> Blend:
    """Return what the release is made of, if it has no more than `most` samples."""
    past = min(record.past_count, most)
    draws = min(record.past_draws, past)
    if past:
        draws = max(draws, fewest_draws(record.epsilon, past))
    return claimed(record.schedule, min(record.count, most), past, draws)
