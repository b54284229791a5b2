"""Figure 2, which the paper does not have: the recommended algorithm beside the paper's own."""

from math import inf

from colme.sim.presets import PAPER
from colme.sim.scenario import AlgorithmSpec, Scenario

RUNS = 256
QUICK_RUNS = 32

_ALGORITHMS = [
    AlgorithmSpec(name="paper (Bernstein)", rule="bernstein"),
    AlgorithmSpec(name="recommended", rule="recommended"),
    AlgorithmSpec(name="recommended, variance unknown", rule="recommended", variance="released"),
]


def study(runs: int = RUNS, seed: int = 1) -> Scenario:
    """The paper's setting, with one stricter privacy level."""
    return PAPER.model_copy(
        update={
            "epsilon": [0.5, 1.0, 2.0, 4.0, inf],
            "runs": runs,
            "seed": seed,
            "algorithms": _ALGORITHMS,
        }
    )
