"""Records as arrays, and one owner's answer from them: `posterior`, the public function.

What each record may claim is limited here; the rest follows from public facts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from statistics import median_low

import numpy as np

from colme.errors import InvalidValue
from colme.inference.answers import Owners, Releases, answers
from colme.inference.em import Floats
from colme.inference.mixture import Models
from colme.inference.robust import released_variances
from colme.inference.tuning import TUNING, Tuning
from colme.protocol.board.record import VERSION, Record
from colme.rules.weighing import Blend, claimed, fewest_draws


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """An owner's knowledge of its own data. None of it leaves the agent."""

    mean: float
    """Exact, of all samples."""
    count: int
    variance: float
    """That of the samples, exactly, together with a declared one if there is one."""
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
