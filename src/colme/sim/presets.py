"""Named scenarios."""

from collections.abc import Mapping
from math import inf

from colme.sim.scenario import AlgorithmSpec, DataSpec, GraphSpec, Scenario

PAPER = Scenario(
    agents=200,
    graph=GraphSpec(degree=[20, 5]),
    means=[0.2, 0.4, 0.8],
    data=DataSpec(distribution="uniform", sigma=0.5),
    epsilon=[1.0, 2.0, 4.0, inf],
    rounds=30_000,
    runs=4_000,
    algorithms=[AlgorithmSpec(rule=rule) for rule in ("oracle", "bernstein", "optimistic")],
)
"""Sec. V of the paper, whole: Figure 1, with the theta table of `colme.rules.decision`."""

PRESETS: Mapping[str, Scenario] = {"paper": PAPER}
