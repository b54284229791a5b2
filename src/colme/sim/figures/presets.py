"""Named scenarios."""

from collections.abc import Mapping
from math import inf

from colme.sim.scenario import Scenario

PAPER = Scenario.model_validate(
    {
        "agents": 200,
        "graph": {"degree": [20, 5]},
        "means": [0.2, 0.4, 0.8],
        "data": {"distribution": "uniform", "sigma": 0.5},
        "epsilon": [1.0, 2.0, 4.0, inf],
        "rounds": 30_000,
        "runs": 4_000,
        "algorithms": ["oracle", "bernstein", "optimistic"],
    }
)
"""Sec. V of the paper, whole: Figure 1, with the theta table of `colme.rules.decision`."""

PRESETS: Mapping[str, Scenario] = {"paper": PAPER}
