"""What a consortium knows before it begins."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat, model_validator

from colme.config import Table
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


class Question(Table):
    """The number of agents, their graph and their data."""

    agents: int = Field(200, ge=2)
    degree: int = Field(5, ge=0)
    """Neighbours of each agent on a random graph."""
    means: tuple[FiniteFloat, ...] = Field((0.2, 0.4, 0.8), min_length=1)
    """Means of the classes, which are equally likely."""
    spread: FiniteFloat = Field(0.0, ge=0)
    """Standard deviation of the agents' means around that of their class (normal)."""
    sigma: FiniteFloat = Field(0.5, gt=0)
    """Standard deviation of a sample."""
    half_range: FiniteFloat | None = None
    """Half the width of the bounds; None: sigma * sqrt(3), as for uniform data."""
    epsilon: float = Field(1.0, gt=0)
    """Pure epsilon-DP of each sample: event level, replace-one; counts are public."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.degree >= self.agents:
            raise ConfigError("degree", self.degree, f"0 to agents - 1 = {self.agents - 1}")
        if self.bound < self.sigma:
            raise ConfigError("half_range", self.half_range, f"at least sigma = {self.sigma:g}")
        return self

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
