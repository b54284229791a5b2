"""Sources of discrete Laplace noise: P(k) proportional to exp(-|k| / scale) on the integers."""

from collections.abc import Iterable
from functools import cache
from math import floor
from typing import TYPE_CHECKING

from colme.errors import ConfigError

if TYPE_CHECKING:
    from numpy.random import BitGenerator, Generator, SeedSequence
    from opendp.mod import Measurement

    Seed = int | SeedSequence | BitGenerator | Generator

LARGEST_SECURE_SCALE = 2.0**55
"""OpenDP's integers have 64 bits and a draw beyond them is cut off, which would show the sum it is
added to. Up to this scale that has a probability of e^-256, about 1e-111."""


class SeededLaplace:
    """Repeatable noise for simulation and tests: whoever knows the seed can take it off again."""

    def __init__(self, seed: "Seed") -> None:
        import numpy as np  # Secure noise has no need of it.

        self._generator = np.random.default_rng(seed)

    def __call__(self, scale: float) -> int:
        """One draw; 0 for scale 0 (no privacy)."""
        # floor(scale * Exp(1)) is geometric; the difference of two is discrete Laplace.
        up, down = self._generator.standard_exponential(2)
        return floor(float(scale * up)) - floor(float(scale * down))


class SecureLaplace:
    """Noise for real data: OpenDP's exact sampler on cryptographic randomness, never repeatable.

    The scale, a float, is taken as the exact fraction it is. Noise is drawn around 0 and added to a
    sum of Python integers later: the same as noising the sum, and exact.
    """

    def __init__(self) -> None:
        _noised(1.0)  # A missing package shows at the start, not at the first release.

    def __call__(self, scale: float) -> int:
        """One draw; 0 for scale 0 (no privacy)."""
        return int(_noised(scale)(0)) if scale else 0

    def prepare(self, scales: Iterable[float]) -> None:
        """Build what draws of these scales need: one that can't be drawn shows at the start."""
        for scale in scales:
            if scale:
                _noised(scale)

    def promised_epsilon(self, sensitivity: int, scale: float) -> float:
        """OpenDP's privacy map, rounded up: the loss where one sample moves a sum by so much."""
        loss = _noised(scale).map(sensitivity)  # type: ignore[no-untyped-call]  # OpenDP's
        return float(loss)


@cache
def _noised(scale: float) -> "Measurement":
    """An integer plus noise. Built once for each scale: that takes longer than a draw."""
    try:
        # Not its prelude, which imports all that there is.
        from opendp.domains import atom_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import absolute_distance
        from opendp.mod import enable_features
    except ImportError as error:
        raise ConfigError(
            "noise", "no package opendp", "pip install '.[node]' in a clone of this project"
        ) from error
    if not 0 < scale <= LARGEST_SECURE_SCALE:
        expected = f"above 0 and at most {LARGEST_SECURE_SCALE:g} lattice steps: a larger epsilon"
        raise ConfigError("noise.scale", scale, expected)
    enable_features("contrib")
    return make_laplace(atom_domain(T="i64"), absolute_distance(T="i64"), scale=float(scale))
