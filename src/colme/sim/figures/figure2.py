"""Figure 2, which the paper does not have: tracking beside the paper's own."""

from math import inf

from colme.sim.figures.presets import PAPER
from colme.sim.scenario import Scenario

RUNS = 256
QUICK_RUNS = 32

_ALGORITHMS = [
    {"name": "paper (Bernstein)", "algorithm": "paper"},
    {"algorithm": "tracking"},
    {"name": "tracking, variance unknown", "algorithm": "tracking", "variance": "released"},
]


def study(runs: int = RUNS, seed: int = 1) -> Scenario:
    """The paper's setting, with one stricter privacy level."""
    return PAPER.changed(
        epsilon=[0.5, 1.0, 2.0, 4.0, inf], runs=runs, seed=seed, algorithms=_ALGORITHMS
    )
