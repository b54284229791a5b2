"""The planner beside the simulator: nine settings, as a table in Markdown.

What is predicted is MSE / Local when everybody has so many samples; what is simulated is the same,
with its standard error over graphs. docs/planner.md has the result.
"""

from collections.abc import Mapping
from typing import Any

from colme.plan.forecast import expected
from colme.plan.question import AlgorithmName, Question
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate

SEED = 2026

PAPER: Mapping[str, Any] = {}
SMALL = {"agents": 50, "degree": 6, "means": (0.3, 0.6), "sigma": 0.3, "epsilon": 2.0}
WIDE = {"agents": 100, "degree": 8, "half_range": 2.0, "epsilon": 2.0}
FEW = {"agents": 12, "degree": 4, "epsilon": 4.0}

SETTINGS: list[tuple[str, AlgorithmName, Mapping[str, Any], int, int]] = [
    ("200 agents, epsilon 1, degree 5", "relay", PAPER, 30, 128),
    ("200 agents, epsilon 1, degree 5", "relay", PAPER, 100, 128),
    ("200 agents, epsilon 4, degree 20", "relay", {"epsilon": 4.0, "degree": 20}, 300, 256),
    ("50 agents, two classes, epsilon 2", "relay", SMALL, 1000, 256),
    ("100 agents, wide bounds, epsilon 2", "relay", WIDE, 200, 256),
    ("means spread by 0.1, epsilon 1", "relay", {"means": (0.5,), "spread": 0.1}, 30, 128),
    ("12 agents, epsilon 4", "relay", FEW, 2000, 512),
    ("1,000 agents, epsilon 0.5", "relay", {"agents": 1000, "epsilon": 0.5}, 250, 32),
    ("200 agents, epsilon 4, degree 20", "paper", {"epsilon": 4.0, "degree": 20}, 10_000, 256),
]
"""What it is, who runs, the question, samples, runs of the simulation."""


def simulated(
    algorithm: AlgorithmName, question: Question, count: int, runs: int
) -> tuple[float, float]:
    """MSE / Local, and its standard error."""
    means: Any = list(question.means)
    if question.spread:
        centre = question.means[0]
        means = {"distribution": "normal", "spread": question.spread, "centre": centre}
    middle = (min(question.means) + max(question.means)) / 2
    wide = question.half_range is not None
    scenario = Scenario.build(
        agents=question.agents,
        graph={"degree": question.degree},
        means=means,
        data={"sigma": question.sigma},
        bounds=(middle - question.bound, middle + question.bound) if wide else None,
        epsilon=question.epsilon,
        rounds=count,
        recorded=[count],
        eventful=False,
        runs=runs,
        seed=SEED,
        algorithms=[{"algorithm": "relay", "measured": 6} if algorithm == "relay" else algorithm],
    )
    cell = simulate(scenario).isel(t=0).squeeze()
    return float(cell.mse / cell.mse_local), float(cell.mse_se / cell.mse_local)


def planner() -> None:
    """Hold the planner's predictions against simulations: a table in Markdown."""
    print("| setting | algorithm | samples | predicted | simulated | predicted / simulated |")
    print("|---|---|---|---|---|---|")
    for name, algorithm, fields, count, runs in SETTINGS:
        question = Question(**fields)
        foreseen = expected(question, algorithm, count, boards=24, seed=1)
        ratio, error = simulated(algorithm, question, count, runs)
        told = [name, algorithm, f"{count:,}", f"{foreseen.ratio:.3g}"]
        told += [f"{ratio:.3g} ± {error:.2g}", f"{foreseen.ratio / ratio:.2f}"]
        print(f"| {' | '.join(told)} |", flush=True)
