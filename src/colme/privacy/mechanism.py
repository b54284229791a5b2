"""Sources of discrete Laplace noise: P(k) proportional to exp(-|k| / scale) on the integers."""

from math import floor

import numpy as np
from numpy.random import BitGenerator, Generator, SeedSequence

Seed = int | SeedSequence | BitGenerator | Generator


class SeededLaplace:
    """Repeatable noise for simulation and tests: whoever knows the seed can take it off again."""

    def __init__(self, seed: Seed) -> None:
        self._generator = np.random.default_rng(seed)

    def __call__(self, scale: float) -> int:
        """One draw; 0 for scale 0 (no privacy)."""
        # floor(scale * Exp(1)) is geometric; the difference of two is discrete Laplace.
        up, down = self._generator.standard_exponential(2)
        return floor(float(scale * up)) - floor(float(scale * down))
