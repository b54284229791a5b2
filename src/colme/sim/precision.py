"""The number format of a study: single precision where that does, double where it does not."""

import numpy as np

from colme.sim.scenario import Scenario

SMALLEST, LARGEST = 1e-9, 1e9
"""Half ranges for which single precision has room for squares and their sums."""


DENSE = 1 / 3
"""Of all others, as neighbours: from there on many round alike, and rounding counts twice."""

LARGEST_DEVIATION = 0.05
"""In a sample that is taken out of two running means again, in standard deviations: squares of them
are then a quarter of a percent too large."""


def rounding(scenario: Scenario) -> float:
    """How much rounding in single precision adds to a consensus, beside its standard error.

    A consensus value moves by about sigma t^-1/2 in t / 10 rounds. Where a step of that is not much
    more than the spacing of the numbers around it, rounding is not random and adds up. Measured,
    the error of an oracle rises by 1.2 times the square of this at degree 20. On a complete graph
    all round alike: by 10 times the square of half of this.
    """
    degree = max(scenario.graph.mean_degree(scenario.agents, one) for one in scenario.graph.degrees)
    dense = 2 if degree > DENSE * (scenario.agents - 1) else 1
    many = max(1.0, scenario.agents / 200) ** 0.5
    return float(dense * many * _spacings(scenario) * scenario.rounds**1.5 / 10)


def deviation(scenario: Scenario) -> float:
    """How far off a sample is that relay takes out of its running means, beside its deviation."""
    return _spacings(scenario) * scenario.rounds


def _spacings(scenario: Scenario) -> float:
    """Of numbers in single precision, beside the standard deviation of a sample."""
    spread = scenario.reach
    sigma = min(shape.sigma2 for shape in scenario.shapes) ** 0.5
    if sigma == 0:
        return np.inf if spread > 0 else 0.0
    return float(spread / sigma / 2**24)


def precision(scenario: Scenario) -> type:
    """float32 where that costs each algorithm at most 1 to 2% of its error, else float64.

    Paces take running means apart again, which single precision has no digits for.
    """
    if scenario.pace_per_agent is not None:
        return np.float64
    half_range = scenario.profiles()[0][0][0].half_range
    allowed = min(table.engine.rounding for table in scenario.algorithms)
    fits = (
        SMALLEST < half_range < LARGEST
        and rounding(scenario) < allowed
        and deviation(scenario) < LARGEST_DEVIATION
    )
    return np.float32 if fits else np.float64
