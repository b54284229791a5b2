"""The number format of a study: single precision where that does, double where it does not."""

import numpy as np

from colme.sim.scenario import Scenario

SMALLEST, LARGEST = 1e-9, 1e9
"""Half ranges for which single precision has room for squares and their sums."""


def rounding(scenario: Scenario) -> float:
    """How much rounding in single precision adds to a consensus, beside its standard error.

    A consensus value moves by about sigma t^-1/2 in t / 10 rounds. Where a step of that is not much
    more than the spacing of the numbers around it, rounding is not random and adds up. Measured,
    the error of an oracle rises by 1.2 times the square of this at degree 20 and 10 times on a
    complete graph; that of tracking 6 times and, as all round alike there, 150 times.
    """
    spread = scenario.reach
    sigma = min(shape.sigma2 for shape in scenario.shapes) ** 0.5
    if sigma == 0:
        return np.inf if spread > 0 else 0.0
    many = max(1.0, scenario.agents / 200) ** 0.5
    return float(spread / sigma * scenario.rounds**1.5 / 10 / 2**24 * many)


def precision(scenario: Scenario) -> type:
    """float32 where that costs each algorithm at most 1 to 2% of its error, else float64.

    Paces take running means apart again, which single precision has no digits for.
    """
    if scenario.pace_per_agent is not None:
        return np.float64
    half_range = scenario.profiles()[0][0][0].half_range
    allowed = min(table.engine.rounding for table in scenario.algorithms)
    fits = SMALLEST < half_range < LARGEST and rounding(scenario) < allowed
    return np.float32 if fits else np.float64
