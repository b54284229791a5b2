"""Why an answer is one's own alone, and about how much is missing. For the owner's eyes only."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from colme.inference.answers import (
    Own,
    assumed_variance,
    drawn,
    is_typical,
    similar_variance,
    tables,
)
from colme.inference.robust import Average, average
from colme.inference.tuning import TUNING
from colme.protocol.board.record import Record

NEEDED = TUNING.fewest_records - 1
"""Other similar records."""


@dataclass(frozen=True, slots=True)
class TooFew:
    """Too few others have released anything under the same bounds."""

    others: int


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Noise hides how much samples vary, so no record's weight is known."""

    samples: int | None
    """About how many more each agent needs; None if that can't be said."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """One's own samples vary more or less than the others' samples do."""

    all_the_same: bool


@dataclass(frozen=True, slots=True)
class FewAlike:
    """Too few others have samples that vary as much as one's own."""

    alike: int
    others: int


@dataclass(frozen=True, slots=True)
class LittleToLearn:
    """Others' records were used: they add little, or do not fit."""


Obstacle = TooFew | Uncertain | Unlike | FewAlike | LittleToLearn


def obstacle(own: Own, records: Sequence[Record]) -> Obstacle:
    """Return the first obstacle, in the order in which `answers` meets them."""
    usable, board, owners = tables(own, records)
    board, owners = drawn(board, owners)
    others = board.x.size - int(owners.index[0] >= 0)
    if others < NEEDED:
        return TooFew(others)
    overall = average(board.variance, board.error)
    if not overall.certain:
        return Uncertain(_missing(overall, own, usable))
    sigma2 = assumed_variance(owners, overall)
    if not (sigma2 > 0)[0] or not is_typical(owners, sigma2)[0]:
        return Unlike(all_the_same=own.variance == 0)
    public = np.clip(overall.shrunk(board.variance, board.error), 0.0, board.half_range**2)
    near = similar_variance(public, float(sigma2[0]))
    near[owners.index[owners.index >= 0]] = False
    count = int(np.count_nonzero(near))
    return FewAlike(count, others) if count < NEEDED else LittleToLearn()


def _missing(overall: Average, own: Own, records: Sequence[Record]) -> int | None:
    """Return about how many samples are missing: noise on average squares fades with their count.

    Others' variance is assumed to be one's own, since noise hides it.
    """
    if own.variance <= 0:
        return None
    times = TUNING.certain * overall.error / own.variance
    have = median(record.count for record in records)
    return round((times - 1) * have) if times > 1 else None
