"""The confidence radius and the optimistic distance that ColME, C-ColME and B-ColME share."""

# mypy: disable-error-code="misc, untyped-decorator"

from math import inf, log, sqrt
from typing import Annotated

import numpy as np
from pydantic import Field

from colme.errors import ConfigError
from colme.graph import Graph
from colme.inference.compiled import jit
from colme.sim.engines.measure import Array

Delta = Annotated[float, Field(gt=0, le=1)]
"""The confidence level of the three, as an option."""


def confidence_radius(count: int, sigma: float, gamma: float) -> float:
    """beta_gamma(n) = sigma sqrt((2/n) (1 + 1/n) ln(sqrt(n + 1) / gamma)).

    Infinite for n = 0: of an agent never heard of, anything may be true.
    """
    if count <= 0:
        return inf
    return sigma * sqrt(2 / count * (1 + 1 / count) * log(sqrt(count + 1) / gamma))


def radii(first: int, rounds: int, sigma: float, gamma: float) -> Array:
    """The radius after `first` samples, after one more, ...: `rounds` of them."""
    return np.array([confidence_radius(first + i, sigma, gamma) for i in range(rounds)])


@jit
def optimistic_distance(mean_a: float, mean_b: float, radius_a: float, radius_b: float) -> float:
    """How far apart the true means are at least; b looks to be of a's class iff this is <= 0."""
    return abs(mean_a - mean_b) - radius_a - radius_b


def graph_gamma(graph: Graph, delta: float) -> float:
    """gamma = delta / (4 r M), with the largest degree as r if the graph is not regular."""
    return delta / (4 * max(1, int(graph.degrees.max(initial=0))) * graph.agents)


def check_confidence(sigma: float, delta: float) -> None:
    """Refuse what has no radius."""
    if not 0 < sigma < inf:
        raise ConfigError("sigma", sigma, "a finite number greater than 0")
    if not 0 < delta <= 1:
        raise ConfigError("delta", delta, "a number in (0, 1]")
