"""What a consortium knows before it begins."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from colme.errors import ConfigError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

AlgorithmName = Literal["relay", "paper"]


@dataclass(frozen=True, slots=True)
class Point:
    """An error ratio, forecast for so many samples of every agent.

    The ratio is NaN if it is 1 or more by an unknown factor.
    """

    samples: int
    ratio: float
    standard_error: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The number of agents, their graph and their data."""

    agents: int = 200
    degree: int = 5
    """Neighbours of each agent on a random graph."""
    means: tuple[float, ...] = (0.2, 0.4, 0.8)
    """Means of the classes, which are equally likely."""
    spread: float = 0.0
    """Standard deviation of the agents' means around that of their class (normal)."""
    sigma: float = 0.5
    """Standard deviation of a sample."""
    half_range: float | None = None
    """Half the width of the bounds; None: sigma * sqrt(3), as for uniform data."""
    epsilon: float = 1.0
    """Pure epsilon-DP of each sample: event level, replace-one; counts are public."""

    def __post_init__(self) -> None:
        if self.agents < 2:
            raise ConfigError("agents", self.agents, "at least 2")
        if not 0 <= self.degree < self.agents:
            expected = f"0 to agents - 1 = {self.agents - 1}"
            raise ConfigError("degree", self.degree, expected)
        if not (self.means and all(isfinite(mean) for mean in self.means)):
            raise ConfigError("means", self.means, "finite numbers, at least one")
        if not 0 <= self.spread < inf:
            raise ConfigError("spread", self.spread, "a finite number, 0 or more")
        if not 0 < self.sigma < inf:
            raise ConfigError("sigma", self.sigma, "a finite number greater than 0")
        if not self.sigma <= self.bound < inf:
            expected = f"a finite number, at least sigma = {self.sigma:g}"
            raise ConfigError("half_range", self.half_range, expected)
        if not self.epsilon > 0:
            raise ConfigError("epsilon", self.epsilon, "a number above 0, or inf for no privacy")

    @property
    def sigma2(self) -> float:
        """The variance of a sample."""
        return self.sigma * self.sigma

    @property
    def bound(self) -> float:
        """L: half the width of the bounds."""
        return self.sigma * 3**0.5 if self.half_range is None else self.half_range

    @property
    def classes(self) -> int:
        """Number of different means."""
        return len(set(self.means))

    def draw_truth(self, generator: Generator) -> tuple[FloatArray, IntArray]:
        """Draw each agent's mean, and a number that agents of the same mean share."""
        centres, place = np.unique(self.means, return_inverse=True)
        classes = place[generator.integers(len(self.means), size=self.agents)]
        if self.spread == 0:
            return centres[classes], classes
        own = centres[classes] + generator.normal(0, self.spread, self.agents)
        return own, np.arange(self.agents)
