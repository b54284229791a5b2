"""Variances that nobody declared: released ones are noisy, so each is drawn to their average."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from colme.inference.em import Floats
from colme.inference.quantiles import quantiles

SUSPECT = 0.05
"""Of the released variances, at either end, that are taken for no more than the next: liars."""

SMALLEST = 0.02
"""Of the average: no variance is taken to be smaller. Rare events may not have happened yet."""

LEAST_LEFT = 0.5
"""Of a variance, in the squares about a mean of two samples; one sample has nothing left."""

CERTAIN = 1.5
"""Standard errors that the average has to be above 0, or nothing is concluded from it. With 3 there
is no gain before t = 100 in wards of a hospital; who is unlike the average is alone anyway."""


@dataclass(frozen=True, slots=True)
class Average:
    """What the board tells of everybody's variance."""

    mean: float
    between: float
    """How much they differ, beyond their errors: a variance of variances."""
    error: float
    """The standard error of the mean."""

    @property
    def certain(self) -> bool:
        """Whether it says anything yet."""
        return self.mean > 0 and self.mean >= CERTAIN * self.error

    def shrunk(self, raw: Floats, error: Floats) -> Floats:
        """Each drawn to the average, the more the larger its error (a variance) is; 0: not at all.

        >>> average = Average(mean=1.0, between=0.5, error=0.1)
        >>> average.shrunk(np.array([3.0, 3.0, -3.0]), np.array([0.0, 0.5, 0.5])).tolist()
        [3.0, 2.0, 0.02]
        """
        whole = self.between + error
        share = np.divide(error, whole, out=np.zeros_like(whole), where=whole > 0)
        drawn = np.maximum(raw + share * (self.mean - raw), SMALLEST * self.mean)
        return np.where(error > 0, drawn, raw)


def average(raw: Floats, error: Floats) -> Average:
    """Of raw variances with these errors (variances as well; 0 for a declared one)."""
    inside = _unsuspicious(raw)
    # Loud ones say less; among those that are much more certain than half of all, all say the same.
    (typical,) = quantiles(error, [0.5])
    weight = typical / (typical + error) if typical > 0 else (error == 0).astype(np.float64)
    weight = weight / weight.sum()
    mean = float((weight * inside).sum())
    between = float((weight * ((inside - mean) ** 2 - error)).sum())
    return Average(mean, max(0.0, between), sqrt(float((weight * weight * error).sum())))


def _unsuspicious(raw: Floats) -> Floats:
    lowest, highest = quantiles(raw, [SUSPECT, 1 - SUSPECT])
    return np.clip(raw, lowest, highest)


def own_error(variance: Floats, count: Floats, known: NDArray[np.bool_], mean: float) -> Floats:
    """Of the exact variance of one's samples: as of Gaussian data; none where it is known."""
    larger = np.maximum(variance, mean)
    return np.where(known, 0.0, 2 * larger * larger / count)


def released_variances(
    square: Floats,
    offset: Floats,
    *,
    data: Floats,
    noise: Floats,
    square_data: Floats,
    square_noise: Floats,
    half_range: Floats,
) -> tuple[Floats, Floats]:
    """Raw variances and their errors, from means and squares about the midpoint of the bounds.

    `data` to `square_noise` are those of a `Blend`. A mean's own variance is missing from the
    difference: `data` of the variance asked for, and the noise.
    """
    cap = half_range * half_range
    of_noise = noise * cap
    raw = (square - offset * offset + of_noise) / np.maximum(1 - data, LEAST_LEFT)
    raw = np.clip(raw, -cap, cap)
    level = max(float(_unsuspicious(raw).mean()), 0.0)
    error = square_noise * cap * cap + 4 * offset * offset * of_noise + 2 * of_noise * of_noise
    return raw, error + 2 * level * level * square_data
