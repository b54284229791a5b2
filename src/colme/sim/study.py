"""One degree of a scenario in the kernel: all algorithms at all epsilons, on the same data."""

from collections.abc import Mapping
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from colme import theory
from colme.graph import Graph, IntArray
from colme.sim import thresholds
from colme.sim.kernel import batch as make
from colme.sim.kernel.arrays import (
    COMMON,
    LINES,
    ORACLE,
    PER_EDGE,
    STEPS,
    UNIFORM,
    Algorithms,
    Form,
    Population,
)
from colme.sim.kernel.arrays import Graph as Edges
from colme.sim.scenario import Scenario

FloatArray = NDArray[np.float64]
Sums = Mapping[str, FloatArray]

_ALPHA = {"theorem": (1, 0), "stepped": (10, 1)}  # stride and offset of the kernel's alpha


def recorded_rounds(rounds: int) -> IntArray:
    """Up to about 150 rounds: evenly spaced ones, and early ones evenly spaced on a log scale."""
    linear = np.linspace(0, rounds, 101)[1:]
    early = np.geomspace(1, rounds, 60)
    return np.unique(np.rint(np.concatenate([linear, early])).clip(1).astype(np.int64))


class Study:
    """Prepared once; then any batch of runs, in any order and on any thread."""

    def __init__(self, scenario: Scenario, degree: int) -> None:
        self.scenario = scenario
        self.degree = degree
        self.recorded = recorded_rounds(scenario.rounds)
        self.mean_degree = float(degree or scenario.draw_graph(degree, 0).degrees.mean())
        self.profiles = scenario.profiles()
        self._shapes = scenario.shapes
        levels = range(len(self.profiles))
        # Every algorithm of the kernel at every epsilon.
        self.cells = [
            (algorithm, level)
            for algorithm in scenario.algorithms
            for level in levels
            if algorithm.in_kernel
        ]
        # Likewise the recommended one.
        self.pooled = [
            (algorithm, self.profiles[level])
            for algorithm in scenario.algorithms
            for level in levels
            if algorithm.recommended
        ]
        # What does not depend on epsilon is computed once, and stands at every level.
        self.entrants = [
            (algorithm, self.profiles[level][0])
            for algorithm in scenario.algorithms
            for level in levels
            if not algorithm.in_kernel
            and not algorithm.recommended
            and (algorithm.private or level == 0)
        ]
        self._own_epsilons = scenario.epsilon_per_agent is not None
        self._p, self._q = self._tables()

    def _tables(self) -> tuple[FloatArray, FloatArray]:
        network = thresholds.Network(self.scenario.agents, self.mean_degree, self.scenario.rounds)
        p = np.zeros((len(self.cells), self.scenario.rounds + 1))
        if not self._own_epsilons:
            for row, (algorithm, level) in enumerate(self.cells):
                p[row, 1:] = thresholds.common(algorithm, self.profiles[level][0], network)
            return p, np.zeros((len(self.cells), 1))
        q = np.zeros_like(p)
        for row, (algorithm, level) in enumerate(self.cells):
            p[row, 1:], q[row, 1:] = thresholds.over_time(algorithm, self.profiles[level], network)
        return p, q

    def algorithms(self, edges: Edges, form: Form) -> Algorithms:
        """The kernel's description of every algorithm at every epsilon, in the results' order."""
        cells, agents = self.cells, self.scenario.agents
        optimistic = np.array([algorithm.rule == "optimistic" for algorithm, _ in cells])
        p, edge_p, edge_q = self._p, *np.zeros((2, len(cells), 1))
        if self._own_epsilons:
            low = np.repeat(np.arange(agents), np.diff(edges.indptr))
            edge_p, edge_q = np.zeros((2, len(cells), len(low)))
            for row, (algorithm, level) in enumerate(cells):
                edge_p[row], edge_q[row] = thresholds.over_edges(
                    algorithm, self.profiles[level], low, edges.indices
                )
        else:
            p = np.where(optimistic[:, None], make.at_most(p, form[0].dtype), p)
        tested = PER_EDGE if self._own_epsilons else COMMON
        alpha = np.array([_ALPHA[algorithm.alpha] for algorithm, _ in cells], np.int32)
        stride, offset = alpha.reshape(-1, 2).T.copy()
        return Algorithms(
            rule=np.array([ORACLE if c.rule == "oracle" else tested for c, _ in cells], np.int32),
            noise=np.array([level for _, level in cells], np.int32),
            stride=stride,
            offset=offset,
            p=p,
            q=self._q,
            edge_p=edge_p,
            edge_q=edge_q,
            inclusive=optimistic.astype(np.int32),
            scale=np.array(
                [
                    np.broadcast_to([sqrt(profile.sigma2_dp / 2) for profile in level], agents)
                    for level in self.profiles
                ]
            ),
        )

    def population(self, classes: IntArray, form: Form) -> Population:
        """The kernel's description of the data, for the classes [M, L] of some runs."""
        dtype = form[0].dtype
        means = np.asarray(self.scenario.means, dtype=np.float64)
        shape = self._shapes[0]
        if shape.quantiles is None:
            kind, spread, table = UNIFORM, shape.support[1], np.zeros((1, 1), np.float32)
        else:
            kind, spread = LINES if shape.interpolated else STEPS, 1.0
            table = np.array([shape.quantiles for shape in self._shapes], np.float32)
        return Population(
            shape=kind,
            location=make.aligned(means[classes], dtype),
            spread=make.aligned(np.full(classes.shape, spread), dtype),
            classes=make.aligned(classes, np.int32),
            table=table,
        )

    def closed_forms(self, graph: Graph, classes: IntArray) -> Sums:
        """Proposition 3, Corollary 1 and Theorem 1 for each run's classes [M, runs], summed."""
        sigma2 = np.array([shape.sigma2 for shape in self._shapes])
        noise = [np.nan if self._own_epsilons else level[0].sigma2_dp for level in self.profiles]
        rows = []
        for placed in classes.T:
            sizes = graph.component_sizes(placed)
            variances = sigma2[placed]
            rows.append(
                [
                    theory.ideal(variances, sizes),
                    theory.corollary1_bound(variances, sizes),
                    *(theory.theorem1(variances, sizes, sigma2_dp) for sigma2_dp in noise),
                ]
            )
        ideal, bound, *theorem1 = np.sum(rows, axis=0)
        return {"ideal": ideal, "bound": bound, "theorem1": np.array(theorem1)}
