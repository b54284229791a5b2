"""The true means: of a few classes, or of everybody its own, drawn anew for each run."""

from collections.abc import Mapping
from math import inf
from typing import Annotated, Any, Literal

from numpy.random import Generator
from pydantic import BeforeValidator, Field

from colme.config import KindBy, Table
from colme.sim.scenario.distributions import FloatArray

CUT = 4.0
"""Spreads from the centre at which a normal population ends, so that bounds can hold it."""


class DrawnMeans(Table):
    """A population in which no two agents have the same mean."""

    spread: float = Field(0.1, gt=0, lt=inf)
    """The standard deviation of the means."""
    centre: float = Field(0.5, gt=-inf, lt=inf)
    """Their average."""

    @property
    def reach(self) -> float:
        """How far from the centre a mean can be."""
        raise NotImplementedError

    def draw(self, agents: int, generator: Generator) -> FloatArray:
        """Everybody's."""
        raise NotImplementedError


class UniformMeans(DrawnMeans):
    """Evenly spread."""

    distribution: Literal["uniform"]

    @property
    def reach(self) -> float:
        """Half the width of the distribution."""
        return self.spread * 3**0.5

    def draw(self, agents: int, generator: Generator) -> FloatArray:
        """Uniform around the centre."""
        return self.centre + generator.uniform(-self.reach, self.reach, agents)


class NormalMeans(DrawnMeans):
    """Normal, cut at `CUT` spreads."""

    distribution: Literal["normal"]

    @property
    def reach(self) -> float:
        """Where it is cut."""
        return CUT * self.spread

    def draw(self, agents: int, generator: Generator) -> FloatArray:
        """Who would be beyond the cut is at it."""
        deviations = generator.normal(0, self.spread, agents)
        return self.centre + deviations.clip(-self.reach, self.reach)


_KINDS = {"uniform": UniformMeans, "normal": NormalMeans}


def _drawn(value: Any) -> Any:
    return KindBy("distribution").pick(_KINDS, value) if isinstance(value, Mapping) else value


Means = Annotated[
    Annotated[list[float], Field(min_length=1)] | UniformMeans | NormalMeans,
    BeforeValidator(_drawn),
]
"""A list, one for each class; or a distribution."""
