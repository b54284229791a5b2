"""Means and ratios over independent batches, with their uncertainty.

Runs of a batch share a graph, so batches, not runs, are independent. A ratio of two totals from the
same batches is less uncertain than either total: its error is that of what is left of the one
after the other has been taken off (delta method). A mean is the same thing, with the number of
runs as the second total. Every interval of this project is one of these, and every "clearly" is
`BatchMean.clear`.
"""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

FloatArray = NDArray[np.float64]

CONFIDENCE = 0.95

WIDEST = 4.0
"""Logarithm of the widest band on a log axis, to either side."""


def student_factor(batches: ArrayLike) -> FloatArray:
    """Return how many standard errors wide each side of an interval over so many batches is.

    Two standard errors would hold the truth in 91% of cases with 8 batches, and in 70% with 2.
    The factor is NaN for fewer than two batches: one batch says nothing of its error.
    """
    freedom = np.asarray(batches, np.float64) - 1
    return np.asarray(stdtrit(np.where(freedom > 0, freedom, np.nan), (1 + CONFIDENCE) / 2))


class BatchMean:
    """A ratio of totals over batches.

    Parameters
    ----------
    above
        A row for each batch: what is added up.
    below
        A row for each batch: what the total is divided by, such as its number of runs, or the same
        quantity of another algorithm. A batch in which it is 0 does not count.

    Examples
    --------
    >>> runs = BatchMean([2.0, 4.0, 6.0], [1.0, 1.0, 1.0])
    >>> float(runs.value), round(float(runs.error), 3), int(runs.clear(than=20.0))
    (4.0, 1.155, -1)
    """

    def __init__(self, above: ArrayLike, below: ArrayLike) -> None:
        self.above = np.asarray(above, np.float64)
        below = np.asarray(below, np.float64)
        missing = self.above.ndim - below.ndim
        self.below = below.reshape(*below.shape, *(1,) * missing) if missing > 0 else below

    @classmethod
    def of_groups(
        cls, above: FloatArray, below: FloatArray, group: NDArray[np.int64]
    ) -> "BatchMean":
        """Add up columns (the last axis) that are of the same batch; NaN in `above` is left out.

        `group` is the number of the batch of each column.
        """
        there = ~np.isnan(above)
        member = (group == np.arange(group.max() + 1)[:, None]).astype(np.float64)
        return cls(
            np.moveaxis(np.where(there, above, 0.0) @ member.T, -1, 0),
            np.moveaxis(np.where(there, below, 0.0) @ member.T, -1, 0),
        )

    def where(self, known: NDArray[np.bool_]) -> "BatchMean":
        """Return the same with NaN where something is not known."""
        return BatchMean(np.where(known, self.above, np.nan), self.below)

    @cached_property
    def batches(self) -> NDArray[np.int64]:
        """Number of batches that count."""
        return np.asarray((self.below != 0).sum(axis=0))

    @cached_property
    def value(self) -> FloatArray:
        """Ratio of the totals; NaN if there is nothing to divide by."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.above.sum(axis=0) / self.below.sum(axis=0))

    @cached_property
    def error(self) -> FloatArray:
        """Standard error of `value`; NaN with fewer than two batches."""
        with np.errstate(invalid="ignore", divide="ignore"):
            left = self.above - self.value * self.below
            scale = np.where(self.batches > 1, self.batches / (self.batches - 1), np.nan)
            spread = (left**2).sum(axis=0) * scale
            return np.asarray(np.sqrt(spread) / np.abs(self.below.sum(axis=0)))

    @cached_property
    def margin(self) -> FloatArray:
        """Half the width of the 95% interval."""
        return np.asarray(student_factor(self.batches) * self.error)

    def clear(self, than: float = 1.0) -> NDArray[np.int64]:
        """Return -1 where the interval lies below `than`, 1 where above, 0 where it is in doubt."""
        with np.errstate(invalid="ignore"):
            off = np.abs(self.value - than) > self.margin
        return np.asarray(np.where(off, np.sign(self.value - than), 0.0), np.int64)


def factor_band(value: FloatArray, margin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an interval as a factor to both sides, for a log axis: no error is below 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor = np.exp(np.minimum(margin / value, WIDEST))
    return value / factor, value * factor
