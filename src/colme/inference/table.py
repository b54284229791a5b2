"""A board's records as a table: what each may claim, and what follows from public facts."""

from collections.abc import Sequence
from math import nan
from statistics import median_low

import numpy as np

from colme.inference.answers import Releases
from colme.inference.em import Floats
from colme.inference.variances import released_variances
from colme.protocol.board.record import Record
from colme.rules.weighing import Blend, claimed, fewest_draws

LARGEST_COUNT = 4
"""Times the median of all counts: no record is taken to have more samples, whatever it claims."""

FARTHEST = 4.0
"""Half ranges from the midpoint of its bounds: no mean is taken to be farther off. Noise takes a
first release there once in e^8, and it tells as little there as beyond."""


def releases(records: Sequence[Record], *, origin: float, unit: float) -> Releases:
    """Of records that may be used together."""
    most = LARGEST_COUNT * median_low([record.count for record in records] or [1])
    blends = [_believed(record, most) for record in records]
    bounds = np.array([record.bounds for record in records]).reshape(-1, 2)
    return tabulated(
        mean=np.array([record.mean for record in records]),
        square=np.array([_or_nan(record.square) for record in records]),
        variance=np.array([_or_nan(record.variance) for record in records]),
        made_of=np.array([shares(one) for one in blends]).reshape(-1, 4).T,
        half_range=(bounds[:, 1] - bounds[:, 0]) / 2,
        midpoint=bounds.mean(axis=1),
        origin=origin,
        unit=unit,
    )


def shares(one: Blend) -> tuple[float, float, float, float]:
    """What tells how precise a release is."""
    return one.data, one.noise, one.square_data, one.square_noise


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
) -> Releases:
    """From what records say, an entry each: `square` or a declared `variance`, NaN for the other.

    `made_of` [4, records]: the `shares` that they are believed to have.
    """
    offset = np.clip(mean - midpoint, -FARTHEST * half_range, FARTHEST * half_range)
    data, noise, square_data, square_noise = made_of
    error = np.zeros(mean.size)
    released = np.isnan(variance)
    if released.any():
        variance = variance.copy()
        variance[released], error[released] = released_variances(
            square[released],
            offset[released],
            data=data[released],
            noise=noise[released],
            square_data=square_data[released],
            square_noise=square_noise[released],
            half_range=half_range[released],
        )
    return Releases(
        x=midpoint + offset,
        data=data,
        noise=noise,
        half_range=half_range,
        variance=variance,
        error=error,
        origin=origin,
        unit=unit,
    )


def _or_nan(number: float | None) -> float:
    return nan if number is None else number


def _believed(record: Record, most: int) -> Blend:
    """What the release is made of, if it has no more than `most` samples."""
    past = min(record.past_count, most)
    draws = min(record.past_draws, past)
    if past:
        draws = max(draws, fewest_draws(record.epsilon, past))
    return claimed(record.schedule, min(record.count, most), past, draws)
