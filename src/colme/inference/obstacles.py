"""Why an answer is one's own alone, and about how much is missing: for the owner, nobody else."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from colme.inference.answer import Own, tables
from colme.inference.answers import FEWEST, alike, drawn, taken_for, usual
from colme.inference.variances import CERTAIN, Average, average
from colme.protocol.board.record import Record

NEEDED = FEWEST - 1
"""Others alike."""


@dataclass(frozen=True, slots=True)
class TooFew:
    """Others have released nothing, or under other bounds."""

    others: int


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Noise hides how much samples vary, so nobody's weight is known."""

    samples: int | None
    """That everybody needs besides, about; None if that can't be said."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """One's own samples vary otherwise than they would if they were as others' are."""

    all_the_same: bool


@dataclass(frozen=True, slots=True)
class FewAlike:
    """Of the others, too few have samples that vary as much as one's own."""

    alike: int
    others: int


@dataclass(frozen=True, slots=True)
class LittleToLearn:
    """Others were listened to: they add little, or do not fit."""


Obstacle = TooFew | Uncertain | Unlike | FewAlike | LittleToLearn


def obstacle(own: Own, records: Sequence[Record]) -> Obstacle:
    """The first one in the way, in the order in which `answers` meets them."""
    usable, board, owners = tables(own, records)
    board, owners = drawn(board, owners)
    others = board.x.size - int(owners.index[0] >= 0)
    if others < NEEDED:
        return TooFew(others)
    overall = average(board.variance, board.error)
    if not overall.certain:
        return Uncertain(_missing(overall, own, usable))
    sigma2 = taken_for(owners, overall)
    if not (sigma2 > 0)[0] or not usual(owners, sigma2)[0]:
        return Unlike(all_the_same=own.variance == 0)
    public = np.clip(overall.shrunk(board.variance, board.error), 0.0, board.half_range**2)
    near = alike(public, float(sigma2[0]))
    near[owners.index[owners.index >= 0]] = False
    count = int(np.count_nonzero(near))
    return FewAlike(count, others) if count < NEEDED else LittleToLearn()


def _missing(overall: Average, own: Own, records: Sequence[Record]) -> int | None:
    """Noise on an average of squares fades with the count of samples.

    Others' variance is taken to be one's own: that the noise hides it is what is in the way.
    """
    if own.variance <= 0:
        return None
    times = CERTAIN * overall.error / own.variance
    have = median(record.count for record in records)
    return round((times - 1) * have) if times > 1 else None
