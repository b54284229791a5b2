"""Why an answer is near the own mean, in words, and how much is missing. For the owner only."""

from collections.abc import Sequence
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


LITTLE_TO_LEARN = "what others tell adds little to these samples, or does not fit them"
"""Others' records were used."""


def obstacle(own: Own, records: Sequence[Record], *, first_release: int) -> str:
    """Say what keeps the answer near the own mean, and about how much is missing.

    It is the first obstacle, in the order in which `answers` meets them. `first_release`: the
    samples after which a node like this one releases something.
    """
    usable, board, owners = tables(own, records)
    board, owners = drawn(board, owners)
    others = board.x.size - int(owners.index[0] >= 0)
    if others < NEEDED:
        after = "its first sample" if first_release == 1 else f"{first_release} samples or so"
        return (
            f"{_others(others)} released something under these bounds so far, and {NEEDED}"
            f" are needed; with this epsilon a node does after {after}"
        )
    overall = average(board.variance, board.error)
    if not overall.certain:
        missing = _missing(overall, own, usable)
        more = "a few" if missing is None else f"about {missing:,}"
        return f"noise hides as yet how much samples vary; {more} more at every node will tell"
    sigma2 = assumed_variance(owners, overall)
    if not (sigma2 > 0)[0] or not is_typical(owners, sigma2)[0]:
        if own.variance == 0:
            return "all samples are the same so far, and others' are not"
        return "these samples vary otherwise than others' do; more samples may tell why"
    public = np.clip(overall.shrunk(board.variance, board.error), 0.0, board.half_range**2)
    near = similar_variance(public, float(sigma2[0]))
    near[owners.index[owners.index >= 0]] = False
    alike = int(np.count_nonzero(near))
    if alike < NEEDED:
        return (
            f"samples vary as much as these at {alike} of {others} others, and {NEEDED} are needed"
        )
    return LITTLE_TO_LEARN


def _others(count: int) -> str:
    if count == 0:
        return "nobody else has"
    return "1 other has" if count == 1 else f"{count} others have"


def _missing(overall: Average, own: Own, records: Sequence[Record]) -> int | None:
    """Return about how many samples are missing: noise on average squares fades with their count.

    Others' variance is assumed to be one's own, since noise hides it.
    """
    if own.variance <= 0:
        return None
    times = TUNING.certain * overall.error / own.variance
    have = median(record.count for record in records)
    return round((times - 1) * have) if times > 1 else None
