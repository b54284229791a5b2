"""Reported standard errors are the spread over seeds, also where the graph matters.

docs/simulator.md has the table of a larger check, over 100 seeds.
"""

from typing import Any

import numpy as np
import pytest

from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate

SEEDS = 25
AGENTS = 40

WORLDS: dict[str, dict[str, Any]] = {
    "one class, erdos-renyi": {"graph": {"family": "erdos-renyi", "degree": 2}, "means": [0.4]},
    "fixed classes, scale-free": {
        "graph": {"family": "scale-free", "degree": 4},
        "classes": [a % 3 for a in range(AGENTS)],
    },
    "random classes, regular": {"graph": {"degree": 5}},
}


@pytest.mark.parametrize("world", WORLDS)
def test_the_reported_error_is_the_spread_over_seeds(world: str) -> None:
    """A spread of 25 seeds is known to 14%: three times that, and 5% for the root of a variance."""
    means, errors = [], []
    for seed in range(SEEDS):
        scenario = Scenario.build(
            agents=AGENTS, epsilon=4, rounds=60, runs=32, seed=seed,
            algorithms=["oracle", "tight"], **WORLDS[world],
        )  # fmt: skip
        end = simulate(scenario).isel(t=-1, degree=0, epsilon=0)
        means.append(end.mse.values)
        errors.append(end.mse_se.values)
    ratio = np.mean(errors, axis=0) / np.std(means, axis=0, ddof=1)
    assert (ratio > 0.55).all()
    assert (ratio < 1.6).all()
