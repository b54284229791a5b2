"""The kernel's running means of samples and unit noise that a test gives it, instead of draws."""

from typing import Any

import numpy as np

from colme.sim.kernel.arrays import RunningMeans

Array = np.ndarray[Any, Any]


def feed(first: int, last: int, samples: Array, units: Array, stream: RunningMeans) -> None:
    """Fill the stream for rounds first..last from all rounds' samples and noise, [T, M, L]."""
    rows = len(stream.data)
    for t in range(first, last + 1):
        for kind, (given, means) in enumerate(((samples, stream.data), (units, stream.noise))):
            before = means[(t - 2) % rows].copy()
            means[(t - 1) % rows] = before + (given[t - 1] - before) / t
            moved = np.abs(means[(t - 1) % rows] - before)
            stream.motion[(t - 1) % rows, kind] = moved.max(axis=0)
