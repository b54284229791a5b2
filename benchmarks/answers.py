"""How long an answer takes: fits from scratch and from a warm start, plain and compiled.

The paper's classes at epsilon = 1, block ends of everybody's own, medians over eight boards from
t = 30 to 10,000. A warm start begins at the models of the board before, each record having moved by
a tenth of its standard deviation. Times are processor time of the thread, so that others on the
machine matter less.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median
from time import thread_time
from unittest.mock import patch

import numpy as np

from colme.inference.answers import Owners, Releases, answers
from colme.inference.compiled import bring_compiler, compiled
from colme.rules.weighing import WeighedBlocks, blend

SIGMA2 = 0.25
HALF_RANGE = (3 * SIGMA2) ** 0.5
"""Of the paper's uniform data: every class has bounds of its own."""
COUNTS = (30, 60, 100, 200, 300, 1_000, 3_000, 10_000)
MOVED = 0.1


def standing(agents: int, count: int) -> tuple[Releases, Owners]:
    """A board, and its first agent."""
    rng = np.random.default_rng([agents, count])
    same = np.ones(agents)
    made = [blend(WeighedBlocks(1.0, early), count) for early in rng.integers(0, 256, agents)]
    data, noise = np.array([(one.data, one.noise) for one in made]).T
    truth = rng.choice([0.2, 0.4, 0.8], agents)
    sd = np.sqrt(data * SIGMA2 + noise * HALF_RANGE**2)
    board = Releases(
        x=truth + sd * rng.normal(size=agents),
        data=data,
        noise=noise,
        half_range=HALF_RANGE * same,
        variance=SIGMA2 * same,
        error=0 * same,
        origin=0.5,
        unit=HALF_RANGE,
    )
    owner = Owners(
        mean=truth[:1] + rng.normal(0, (SIGMA2 / count) ** 0.5, 1),
        count=np.array([float(count)]),
        variance=np.array([SIGMA2]),
        known=np.array([True]),
        half_range=np.array([HALF_RANGE]),
        index=np.array([0]),
    )
    return board, owner


def milliseconds(once: Callable[[], object]) -> float:
    """The least of three, after a first: what it takes, not what others took meanwhile."""
    once()
    times = []
    for _ in range(3):
        begun = thread_time()
        once()
        times.append(thread_time() - begun)
    return 1e3 * min(times)


def measured(agents: int) -> tuple[float, float]:
    """One answer from scratch, and one from a warm start."""
    cold, warm = [], []
    for count in COUNTS:
        board, owner = standing(agents, count)
        models = answers(board, owner).models
        sd = np.sqrt(board.data * SIGMA2 + board.noise * HALF_RANGE**2)
        rng = np.random.default_rng([agents, count, 1])
        later = replace(board, x=board.x + MOVED * sd * rng.normal(size=agents))
        cold.append(milliseconds(partial(answers, board, owner)))
        warm.append(milliseconds(partial(answers, later, owner, warm=models)))
    return median(cold), median(warm)


def plain(function: Callable[..., object], *called: object) -> Callable[..., object]:
    """As it stands: what is done where numba is not installed."""
    return function


def main() -> None:
    """A table in Markdown."""
    bring_compiler()
    print("| records | | from scratch, ms | warm, ms |\n|---|---|---|---|")
    for words, chosen in (("compiled", compiled), ("numpy", plain)):
        with (
            patch("colme.inference.mixture.compiled", chosen),
            patch("colme.inference.posterior.compiled", chosen),
        ):
            for agents in (200, 1_000, 4_096):
                cold, warm = measured(agents)
                print(f"| {agents:,} | {words} | {cold:.2f} | {warm:.2f} |", flush=True)
