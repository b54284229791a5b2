"""Figure 3, which the paper does not have: relay beside tracking and the paper's own."""

from math import inf

import numpy as np

from colme.sim.figures.presets import PAPER
from colme.sim.scenario import Scenario

RUNS = 128
LOG_SPACED = 40
MARKS = (30, 100, 300, 1_000)
"""Rounds that are recorded besides those that are evenly spaced on a log scale, to be told."""

MEASURED = 4
"""Agents of each run that are asked, with all who hold the same boards: late, nearly everybody."""

QUICK_RUNS, QUICK_ROUNDS = 32, 4_000

ALGORITHMS = [
    {"algorithm": "paper"},
    {"algorithm": "tracking"},
    {"algorithm": "relay", "measured": MEASURED},
]


def study(runs: int = RUNS, seed: int = 1, *, quick: bool = False) -> Scenario:
    """The paper's setting, from strict privacy to none."""
    rounds = QUICK_ROUNDS if quick else PAPER.rounds
    return PAPER.changed(
        epsilon=[0.5, 1.0, 4.0, inf],
        rounds=rounds,
        runs=runs,
        seed=seed,
        recorded=_recorded(rounds),
        eventful=False,
        algorithms=ALGORITHMS,
    )


def _recorded(rounds: int) -> list[int]:
    """Few enough: an answer of relay costs a fit."""
    spaced = np.rint(np.geomspace(1, rounds, LOG_SPACED)).astype(np.int64)
    return sorted({*spaced.tolist(), *MARKS})
