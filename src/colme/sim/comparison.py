"""Private-C-ColME beside the systems it descends from, in its own setting and in Galante's."""

from collections.abc import Mapping
from math import inf

from colme.sim.presets import PAPER
from colme.sim.scenario import AlgorithmSpec, DataSpec, GraphSpec, Scenario

_BASELINES = [
    AlgorithmSpec(rule="local"),
    AlgorithmSpec(rule="ideal"),
    AlgorithmSpec(name="c-colme", rule="c-colme", delta=0.1),
    AlgorithmSpec(name="c-colme, global reset", rule="c-colme", delta=0.1, global_reset=True),
    AlgorithmSpec(name="b-colme", rule="b-colme", delta=0.1),
]
_NO_GRAPH = [
    AlgorithmSpec(name="colme, simple", rule="colme", delta=0.1),
    AlgorithmSpec(name="colme, soft", rule="colme", delta=0.1, weights="soft"),
    AlgorithmSpec(name="colme, aggressive", rule="colme", delta=0.1, weights="aggressive"),
    AlgorithmSpec(name="colme, restricted", rule="colme", delta=0.1, restricted=True),
    AlgorithmSpec(rule="private-colme"),
]
_THIS = AlgorithmSpec(name="private-c-colme", rule="bernstein")

OURS = PAPER.model_copy(
    update={
        "graph": GraphSpec(degree=[20]),
        "epsilon": [4.0, inf],
        "rounds": 10_000,
        "runs": 64,
        "tolerance": 0.02,
        "algorithms": [_THIS, *_BASELINES, *_NO_GRAPH],
    }
)
"""This paper's setting: 200 agents in three classes."""

GALANTES = Scenario(
    agents=10_000,
    graph=GraphSpec(degree=[10]),
    means=[0.0, 1.0],
    data=DataSpec(distribution="normal", sigma=2.0),
    epsilon=[inf],
    rounds=2_000,
    runs=4,
    tolerance=0.1,
    algorithms=[_THIS, *_BASELINES],
)
"""Galante et al. 2024: 10,000 agents, no privacy. ColME, which keeps numbers of everybody for
everybody, would need 2.4 GB here."""


def settings(*, quick: bool, seed: int) -> Mapping[str, Scenario]:
    """Both settings; the quick ones take less than a minute together."""
    ours, galantes = {"seed": seed}, {"seed": seed}
    if quick:
        ours |= {"runs": 2, "rounds": 4_000}
        galantes |= {"runs": 1}
    return {
        "paper": OURS.model_copy(update=ours),
        "galante": GALANTES.model_copy(update=galantes),
    }
