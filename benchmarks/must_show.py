"""How far `tracking` is from Ideal, and how much worse than Local at its worst.

usage: python benchmarks/must_show.py late|harm|minority [RUNS: 256] [SEED: 1]

late: MSE against Ideal on the same data, in the paper's setting at t = 30,000, epsilon = 1.
harm: the worst MSE / Local over recorded rounds, for class means 0.4 - g, 0.4, 0.4 + 2 g.
minority: the same of any one class, where classes have 5%, 15% and 80% of the agents.
"""

import sys
from itertools import permutations

import numpy as np

from colme.sim.engines.measure import FloatArray
from colme.sim.figures.presets import PAPER
from colme.sim.kernel.arrays import LANES
from colme.sim.kernel.pooled import advance, answer
from colme.sim.kernel.pooled_arrays import draw_units, new_pool, new_pool_state
from colme.sim.kernel.simd import form_of, register_of
from colme.sim.study.runner import simulate
from colme.sim.study.study import recorded_rounds

BOTH = [
    {"name": "known variance", "algorithm": "tracking"},
    {"name": "unknown variance", "algorithm": "tracking", "variance": "released"},
]


def late(runs: int, seed: int) -> None:
    """MSE / Ideal."""
    algorithms = [*BOTH, {"algorithm": "ideal"}]
    result = simulate(PAPER.changed(runs=runs, seed=seed, epsilon=[1.0], algorithms=algorithms))
    end = result.isel(t=-1, epsilon=0)
    for degree in (20, 5):
        cell = end.sel(degree=degree)
        for algorithm in ("known variance", "unknown variance"):
            paired = float(cell.mse.sel(algorithm=algorithm) / cell.mse.sel(algorithm="ideal"))
            closed = float(cell.mse.sel(algorithm=algorithm) / cell.mse_ideal)
            error = float(cell.mse_se.sel(algorithm=algorithm) / cell.mse_ideal)
            print(f"r = {degree}, {algorithm}: {paired:.3f} of Ideal on the same data,", end=" ")
            print(f"{closed:.3f} +- {error:.3f} of Proposition 3", flush=True)


def harm(runs: int, seed: int) -> None:
    """The worst MSE / Local."""
    for gap in (0.05, 0.1, 0.2, 0.4):
        scenario = PAPER.changed(
            means=[0.4 - gap, 0.4, 0.4 + 2 * gap],
            runs=runs,
            seed=seed,
            epsilon=[1.0, 2.0, 4.0],
            rounds=12_000 if gap < 0.08 else 6_000,
            algorithms=BOTH,
        )
        result = simulate(scenario)
        ratio = result.mse / result.mse_local
        for algorithm in result.algorithm.values:
            worst = ratio.sel(algorithm=algorithm)
            place = {name: int(index) for name, index in worst.argmax(...).items()}
            at = worst.isel(place)
            print(
                f"g = {gap}, {algorithm}: {float(at):.3f} at t = {int(at.t)},"
                f" epsilon = {float(at.epsilon):g}, r = {float(at.degree):g}",
                flush=True,
            )


def minority(runs: int, seed: int) -> None:
    """The worst MSE / Local of one class. Drives the kernel itself, to look at single agents."""
    for means in permutations((0.2, 0.4, 0.8)):
        truth = np.repeat(means, [10, 30, 160])
        for degree in (20, 5):
            for algorithm in BOTH:
                worst = max(
                    _worst_class(truth, degree, epsilon, "variance" not in algorithm, runs, seed)
                    for epsilon in (1.0, 2.0, 4.0)
                )
                print(
                    f"means {means} of 5, 15, 80%, r = {degree}, {algorithm['name']}:"
                    f" {worst[0]:.2f} for mean {worst[1]} at t = {worst[2]},"
                    f" epsilon = {worst[3]:g}",
                    flush=True,
                )


def _worst_class(
    truth: FloatArray, degree: int, epsilon: float, known: bool, runs: int, seed: int
) -> tuple[float, float, int, float]:
    rounds = 6_000
    scenario = PAPER.changed(epsilon=[epsilon], graph={"degree": [degree]}, seed=seed)
    profile = scenario.profiles()[0][0][0]
    recorded = recorded_rounds(rounds)
    squared = np.zeros((len(recorded), 2, len(truth)))  # of the answer, of Local
    for batch in range(runs // LANES):
        generator = np.random.default_rng([seed, batch])
        profiles = [[profile] * len(truth)] * LANES
        pool = new_pool(scenario.draw_graph(degree, batch), profiles, rounds, known=known)
        midpoint = np.repeat(truth[:, None], LANES, axis=1)
        state = new_pool_state(pool, profiles, midpoint, np.float32)
        units = draw_units([pool], seed, range(batch * LANES, (batch + 1) * LANES))
        total, done = np.zeros((len(truth), LANES)), 0
        for row, stop in enumerate(recorded.tolist()):
            spread = generator.uniform(-1, 1, (stop - done, *total.shape)) * profile.half_range
            sums = total + np.cumsum(spread, axis=0)
            counts = np.arange(done + 1, stop + 1)[:, None, None]
            data = (midpoint + sums / counts).astype(np.float32)
            advance(register_of(form_of(np.float32, LANES)), done + 1, data, units, pool, state)
            answers = np.empty(total.shape)
            answer(stop, data[-1], pool, state, answers)
            squared[row, 0] += ((answers - midpoint) ** 2).sum(axis=1)
            squared[row, 1] += ((data[-1] - midpoint) ** 2).sum(axis=1)
            total, done = sums[-1], stop
    worst = (0.0, 0.0, 0, epsilon)
    for mean in np.unique(truth):
        by_class = squared[..., truth == mean].sum(axis=-1)
        ratio = by_class[:, 0] / by_class[:, 1]
        row = int(ratio.argmax())
        worst = max(worst, (float(ratio[row]), float(mean), int(recorded[row]), epsilon))
    return worst


if __name__ == "__main__":
    what = {"late": late, "harm": harm, "minority": minority}[sys.argv[1]]
    what(*(int(word) for word in (sys.argv[2:] + ["256", "1"][len(sys.argv) - 2 :])))
