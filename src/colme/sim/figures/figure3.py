"""Figure 3, which the paper does not have: relay beside tracking and the paper's own."""

from math import inf

from colme.sim.figures.presets import PAPER
from colme.sim.scenario import Scenario

RUNS = 128
RECORDED = 60
"""Rounds, evenly spaced on a log scale: an answer of relay costs a fit."""

MEASURED = 3
"""Agents of each run that relay answers. Members of a class err alike once they know each other,
so that runs, of which there are many, tell more than agents do."""

QUICK_RUNS, QUICK_ROUNDS = 32, 4_000

ALGORITHMS = [
    {"algorithm": "paper"},
    {"algorithm": "tracking"},
    {"algorithm": "relay", "measured": MEASURED},
]


def study(runs: int = RUNS, seed: int = 1, *, quick: bool = False) -> Scenario:
    """The paper's setting, from strict privacy to none."""
    return PAPER.changed(
        epsilon=[0.5, 1.0, 4.0, inf],
        rounds=QUICK_ROUNDS if quick else PAPER.rounds,
        runs=runs,
        seed=seed,
        recorded=RECORDED,
        eventful=False,
        algorithms=ALGORITHMS,
    )
