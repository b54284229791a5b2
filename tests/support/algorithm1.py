"""Algorithm 1 of the paper, transcribed with plain arrays: slow and obviously right."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Round:
    accepted: BoolArray
    consensus: FloatArray
    estimate: FloatArray


def algorithm1(
    adjacency: BoolArray,
    samples: FloatArray,
    noise: FloatArray,
    threshold: Callable[[int], FloatArray],
    alpha: Callable[[int], float],
) -> Iterator[Round]:
    """`samples` and `noise` are (rounds, agents); `threshold(t)` is the z of every pair."""
    agents = len(adjacency)
    x_bar = np.zeros(agents)
    x_tilde = np.zeros(agents)
    consensus = np.zeros(agents)
    accepted = np.zeros_like(adjacency)
    age = np.zeros(agents, dtype=int)
    for t, (x, z) in enumerate(zip(samples, noise, strict=True), start=1):
        x_bar = x_bar * (t - 1) / t + x / t
        x_tilde = x_tilde * (t - 1) / t + (x + z) / t
        before = accepted
        accepted = adjacency & (np.abs(x_tilde[:, None] - x_tilde[None, :]) < threshold(t))
        size = 1 + accepted.sum(axis=1)
        w = np.where(accepted, 1 / (np.maximum(size[:, None], size[None, :]) + 1), 0)
        np.fill_diagonal(w, 1 - w.sum(axis=1))
        changed = (accepted != before).any(axis=1)
        age = np.where(changed, 1, age + 1)
        a = np.array([alpha(int(n)) for n in age])
        consensus = (1 - a) * x_tilde + a * (w @ consensus)
        largest = np.where(accepted, size[None, :], 0).max(axis=1, initial=0)
        alone = np.maximum(largest, size) <= 2
        yield Round(accepted, consensus, np.where(alone, x_bar, consensus))
