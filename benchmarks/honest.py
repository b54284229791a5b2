"""Whether what the simulator reports is so: standard errors, and harm at every single round.

usage: python benchmarks/honest.py errors|graphs|unlike|precision

errors: the mean reported standard error as a multiple of the spread over 100 seeds, at t = 100.
graphs: the worst MSE / Local of tracking at any round, on graphs that are hard to mix on.
unlike: the same where classes differ in variance.
precision: MSE in float32 as a multiple of that in float64, on the same draws.
"""

import sys
from collections.abc import Iterable
from math import inf
from typing import Any

import networkx as nx
import numpy as np

from colme.sim.scenario import Scenario
from colme.sim.study import precision, simulate

SEEDS = 100
ROUNDS = 4_000


def errors() -> None:
    """Over graph families, placements, algorithms and numbers of runs."""
    families = ("random-regular", "erdos-renyi", "scale-free")
    placements: dict[str, dict[str, Any]] = {
        "random classes": {},
        "fixed classes": {"classes": [agent % 3 for agent in range(200)]},
        "one class": {"means": [0.4]},
    }
    for runs in (32, 256):
        for family in families:
            for name, placement in placements.items():
                means, reported = [], []
                for seed in range(SEEDS):
                    scenario = Scenario.build(
                        graph={"family": family, "degree": 4},
                        epsilon=4,
                        rounds=100,
                        recorded=[100],
                        runs=runs,
                        seed=seed,
                        algorithms=["oracle", "tracking"],
                        **placement,
                    )
                    end = simulate(scenario).isel(t=-1, degree=0, epsilon=0)
                    means.append(end.mse.values)
                    reported.append(end.mse_se.values)
                oracle, tracking = np.mean(reported, axis=0) / np.std(means, axis=0, ddof=1)
                words = f"{runs} runs, {family}, {name}"
                print(f"{words}: oracle {oracle:.2f}, tracking {tracking:.2f}", flush=True)


def graphs() -> None:
    """One class and three, two epsilons."""
    hubs = nx.cycle_graph(5)
    hubs.add_edges_from((hub, 5 + 39 * hub + leaf) for hub in range(5) for leaf in range(39))
    hard = {
        "star of 200": nx.star_graph(199),
        "five hubs with 39 leaves": hubs,
        "binary tree": nx.full_rary_tree(2, 200),
        "scale-free, degree 2": nx.barabasi_albert_graph(200, 1, seed=1),
        "path": nx.path_graph(200),
        "pairs": nx.from_edgelist((a, a + 1) for a in range(0, 200, 2)),
        "random regular, degree 5": nx.random_regular_graph(5, 200, seed=1),
        "random regular, degree 20": nx.random_regular_graph(20, 200, seed=1),
    }
    for name, graph in hard.items():
        for means in ([0.4], [0.2, 0.4, 0.8]):
            report(f"{name}, {len(means)} classes", [0.3, 1, 4, inf], graph=graph, means=means)


def unlike() -> None:
    """Coins, and a beta distribution whose variance goes with its mean."""
    for data in ({"distribution": "bernoulli"}, {"distribution": "beta", "concentration": 4.0}):
        for degree in (5, 20):
            words = f"{data['distribution']} of means .01, .03, .3, r = {degree}"
            fields = {"data": data, "means": [0.01, 0.03, 0.3], "graph": {"degree": degree}}
            report(words, [0.5, 1, 4], **fields)


def report(words: str, epsilons: Iterable[float], **fields: Any) -> None:
    """The worst round of each epsilon."""
    for epsilon in epsilons:
        scenario = Scenario.build(
            epsilon=epsilon,
            rounds=ROUNDS,
            recorded=list(range(1, ROUNDS + 1)),  # nothing can hide between them
            runs=32,
            algorithms=["tracking"],
            **fields,
        )
        result = simulate(scenario).isel(degree=0, epsilon=0, algorithm=0)
        ratio = (result.mse / result.mse_local).values
        at = int(ratio.argmax())
        error = float(result.mse_se[at] / result.mse_local[at])
        end = float(ratio[-1])
        print(
            f"{words}, epsilon = {epsilon:g}: {ratio[at]:.3f} +- {error:.3f} at t = {at + 1},"
            f" {end:.3f} at the end",
            flush=True,
        )


def single_precision() -> None:
    """Around the spread and the round where `precision` begins to choose float64, and beyond."""
    for spread, rounds in ((1.0, 30_000), (1.0, 90_000), (3.0, 40_000), (100.0, 4_000)):
        scenario = Scenario.build(
            means=[0.2 * spread, 0.4 * spread, 0.8 * spread],
            graph={"degree": 20},
            epsilon=inf,
            rounds=rounds,
            runs=32,
            algorithms=["oracle", "tracking"],
        )
        single, double = (simulate(scenario, dtype=one) for one in (np.float32, np.float64))
        for algorithm in ("oracle", "tracking"):
            ratio = (single.mse / double.mse).sel(algorithm=algorithm).isel(t=-1)
            chosen = precision(scenario).__name__
            words = f"means {scenario.means}, sigma 0.5, t = {rounds} ({chosen}), {algorithm}"
            print(f"{words}: {float(ratio.squeeze()):.3f}", flush=True)


MODES = {"errors": errors, "graphs": graphs, "unlike": unlike, "precision": single_precision}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in MODES:
        sys.exit(__doc__)
    MODES[sys.argv[1]]()
