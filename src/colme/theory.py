"""What collaboration will buy: Theorem 1, Corollary 1, Propositions 1 and 3 on a given graph.

All mean squared errors are averages over the agents, times t: the limits of t * MSE.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from colme.errors import ConfigError
from colme.graph import IntArray
from colme.rules.release import sigma2_dp


def local(sigma2: ArrayLike, component_sizes: IntArray) -> float:
    """Proposition 1: t * MSE of agents that stay alone."""
    return float(np.mean(np.broadcast_to(sigma2, component_sizes.shape)))


def ideal(sigma2: ArrayLike, component_sizes: IntArray) -> float:
    """Proposition 3: t * MSE of agents that see all the raw data of their component."""
    return float(np.mean(np.asarray(sigma2) / component_sizes))


def theorem1(sigma2: ArrayLike, component_sizes: IntArray, sigma2_dp: float) -> float:
    """Theorem 1: t * MSE of Algorithm 1 with alpha = t / (t + 1) and the oracle rule."""
    shared = 2 * (np.asarray(sigma2) + sigma2_dp) / component_sizes
    return float(np.mean(np.where(component_sizes <= 2, sigma2, shared)))


def corollary1_bound(sigma2: ArrayLike, component_sizes: IntArray) -> float:
    """Corollary 1: collaboration pays where sigma_DP^2 is below this; 0 where it never does."""
    joined = component_sizes >= 3
    n = component_sizes[joined]
    if len(n) == 0:
        return 0.0
    variances = np.broadcast_to(sigma2, component_sizes.shape)[joined]
    return float(np.sum(variances * (1 - 2 / n)) / (2 * np.sum(1 / n)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """The answer before joining: does it pay at this privacy, and by how much?"""

    local: float
    ideal: float
    theorem1: float
    corollary1_bound: float
    sigma2_dp: float
    smallest_epsilon: float

    @property
    def collaboration_pays(self) -> bool:
        """Corollary 1, on average over the placements."""
        return self.sigma2_dp < self.corollary1_bound

    @classmethod
    def over(
        cls,
        component_sizes: Iterable[IntArray],
        *,
        sigma2: ArrayLike,
        half_range: float,
        epsilon: float,
    ) -> Self:
        """The average over placements of agents, each given by its component sizes n_a."""
        if not 0 < half_range < inf:
            raise ConfigError("half_range", half_range, "a finite number greater than 0")
        if not np.all((np.asarray(sigma2) >= 0) & (np.asarray(sigma2) <= half_range * half_range)):
            expected = f"0 to {half_range * half_range:g}, as half a range of {half_range:g} allows"
            raise ConfigError("sigma2", sigma2, expected)
        if not epsilon > 0:
            raise ConfigError("epsilon", epsilon, "a number above 0, or inf for no privacy")
        noise = sigma2_dp(half_range, epsilon)
        rows = [
            (
                local(sigma2, n),
                ideal(sigma2, n),
                theorem1(sigma2, n, noise),
                corollary1_bound(sigma2, n),
            )
            for n in component_sizes
        ]
        if not rows:
            raise ConfigError("draws", 0, "at least 1")
        alone, best, together, bound = (float(value) for value in np.mean(rows, axis=0))
        return cls(
            local=alone,
            ideal=best,
            theorem1=together,
            corollary1_bound=bound,
            sigma2_dp=noise,
            smallest_epsilon=sqrt(sigma2_dp(half_range, 1) / bound) if bound > 0 else inf,
        )
