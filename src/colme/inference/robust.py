"""Statistics that few dishonest agents can't move: quantiles, variances, agreement."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from colme.inference.em import Floats
from colme.inference.tuning import TUNING, Tuning


def quantiles(values: Floats, shares: Sequence[float]) -> list[float]:
    """Return quantiles of finite values, linear between neighbours, as numpy has them.

    Ten times faster than numpy's for a few hundred values: an answer takes several.

    >>> quantiles(np.array([4.0, 1.0, 2.0]), [0.0, 0.5, 0.75])
    [1.0, 2.0, 3.0]
    """
    ordered = np.sort(values)
    last = ordered.size - 1
    found = []
    for share in shares:
        below = int(share * last)
        lower, upper = float(ordered[below]), float(ordered[min(below + 1, last)])
        found.append(lower + (share * last - below) * (upper - lower))
    return found


@dataclass(frozen=True, slots=True)
class Average:
    """The average of released variances: each is noisy, so each is drawn to it."""

    mean: float
    between: float
    """How much they differ, beyond their errors: a variance of variances."""
    error: float
    """The standard error of the mean."""
    tuning: Tuning = TUNING

    @property
    def certain(self) -> bool:
        """Whether the average is clearly above 0."""
        return self.mean > 0 and self.mean >= self.tuning.certain * self.error

    def shrunk(self, raw: Floats, error: Floats) -> Floats:
        """Draw each variance to the average, the more the larger its error (a variance) is.

        A declared one has no error and stays.

        >>> average = Average(mean=1.0, between=0.5, error=0.1)
        >>> average.shrunk(np.array([3.0, 3.0, -3.0]), np.array([0.0, 0.5, 0.5])).tolist()
        [3.0, 2.0, 0.02]
        """
        whole = self.between + error
        share = np.divide(error, whole, out=np.zeros_like(whole), where=whole > 0)
        drawn = np.maximum(
            raw + share * (self.mean - raw), self.tuning.smallest_variance * self.mean
        )
        return np.where(error > 0, drawn, raw)


def average(raw: Floats, error: Floats, tuning: Tuning = TUNING) -> Average:
    """Average raw variances with these errors (variances as well; 0 for a declared one)."""
    inside = _trimmed(raw, tuning)
    # Noisy ones say less; those that are much more certain than half of all say the same.
    (typical,) = quantiles(error, [0.5])
    weight = typical / (typical + error) if typical > 0 else (error == 0).astype(np.float64)
    weight = weight / weight.sum()
    mean = float((weight * inside).sum())
    between = float((weight * ((inside - mean) ** 2 - error)).sum())
    return Average(mean, max(0.0, between), sqrt(float((weight * weight * error).sum())), tuning)


def _trimmed(raw: Floats, tuning: Tuning) -> Floats:
    """Clip the ends, where dishonest agents are."""
    lowest, highest = quantiles(raw, [tuning.suspect, 1 - tuning.suspect])
    return np.clip(raw, lowest, highest)


def own_error(variance: Floats, count: Floats, known: NDArray[np.bool_], mean: float) -> Floats:
    """Return the error of the exact variance of own samples, as for Gaussian data; 0 if known."""
    larger = np.maximum(variance, mean)
    return np.where(known, 0.0, 2 * larger * larger / count)


def released_variances(
    square: Floats, offset: Floats, made_of: Floats, half_range: Floats, tuning: Tuning = TUNING
) -> tuple[Floats, Floats]:
    """Return raw variances and their errors, from means and squares about the bounds' midpoint.

    `made_of` [4, records] are the shares of a `Blend`. A mean's own variance is missing from the
    difference: `data` of the variance asked for, and the noise.
    """
    data, noise, square_data, square_noise = made_of
    cap = half_range * half_range
    of_noise = noise * cap
    raw = (square - offset * offset + of_noise) / np.maximum(1 - data, tuning.least_left)
    raw = np.clip(raw, -cap, cap)
    level = max(float(_trimmed(raw, tuning).mean()), 0.0)
    error = square_noise * cap * cap + 4 * offset * offset * of_noise + 2 * of_noise * of_noise
    return raw, error + 2 * level * level * square_data


def made_up(
    x: Floats,
    noise: Floats,
    tuning: Tuning = TUNING,
    *,
    rank: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Return which records at x, with noise of these variances, agree better than noise allows.

    Independent Laplace draws put no more than so many means into a narrow window, wherever it is
    and whatever the data were. If more are there, they were not drawn, whoever signed them.

    A copy comes after its original. So if `rank` says in which order records were admitted, the
    first of a crowd stay, as many as chance alone puts there and one: whoever invents copies of an
    honest agent's public mean can't have it removed.
    """
    found = np.zeros(x.size, dtype=np.bool_)
    sd = np.sqrt(noise)
    (typical,) = quantiles(sd, [0.5])
    if typical == 0:
        return found
    order = np.argsort(x)
    # The density of a Laplace draw is nowhere above 1 / (sqrt(2) sd), and adding draws lowers it.
    densest = 1 / np.maximum(sqrt(2) * sd, tuning.windows[0] * typical)
    for width in tuning.windows:
        expected = float(np.minimum(1.0, width * typical * densest).sum())
        more = int(expected + tuning.chance * sqrt(expected) + tuning.chance)
        if more >= order.size:
            break
        ordered = x[order]
        begins = np.flatnonzero(ordered[more:] - ordered[:-more] <= width * typical)
        for begin, end in _joined(begins.tolist(), more + 1):
            crowd = order[begin:end]
            if rank is not None:
                crowd = crowd[np.argsort(rank[crowd])][int(expected) + 1 :]
            found[crowd] = True
        if begins.size:
            # Wider windows are for the others: a record near a crowd is not part of it.
            order = order[~found[order]]
    return found


def _joined(begins: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Join windows of this length that overlap: crowds, as (begin, end)."""
    crowds: list[tuple[int, int]] = []
    for begin in begins:
        if crowds and begin < crowds[-1][1]:
            crowds[-1] = crowds[-1][0], begin + length
        else:
            crowds.append((begin, begin + length))
    return crowds
