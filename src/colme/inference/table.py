"""A board's records as a table: what each may claim, and what follows from public facts."""

from collections.abc import Sequence
from statistics import median_low

import numpy as np

from colme.inference.answers import Releases
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
    half_range, midpoint = (bounds[:, 1] - bounds[:, 0]) / 2, bounds.mean(axis=1)
    mean = np.array([record.mean for record in records])
    offset = np.clip(mean - midpoint, -FARTHEST * half_range, FARTHEST * half_range)
    data = np.array([one.data for one in blends])
    noise = np.array([one.noise for one in blends])
    variance = np.array([record.variance or 0.0 for record in records])
    error = np.zeros(len(records))
    released = np.array([record.square is not None for record in records])
    if released.any():
        variance[released], error[released] = released_variances(
            np.array([record.square for record in records if record.square is not None]),
            offset[released],
            data=data[released],
            noise=noise[released],
            square_data=np.array([one.square_data for one in blends])[released],
            square_noise=np.array([one.square_noise for one in blends])[released],
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


def _believed(record: Record, most: int) -> Blend:
    """What the release is made of, if it has no more than `most` samples."""
    past = min(record.past_count, most)
    draws = min(record.past_draws, past)
    if past:
        draws = max(draws, fewest_draws(record.epsilon, past))
    return claimed(record.schedule, min(record.count, most), past, draws)
