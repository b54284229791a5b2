"""One degree of a scenario in the kernel: all algorithms at all epsilons, on the same data."""

from collections.abc import Callable, Mapping
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
from colme.sim.kernel.rounds import simulate
from colme.sim.kernel.simd import form_of
from colme.sim.scenario import Scenario

FloatArray = NDArray[np.float64]
Sums = Mapping[str, FloatArray]

SEGMENT = 150_000_000
"""Agent-rounds computed between two reports of progress: a fraction of a second."""

_ALPHA = {"theorem": (1, 0), "stepped": (10, 1)}  # stride and offset of the kernel's alpha


class Stopped(Exception):  # noqa: N818 (not an error)
    """Raised through a batch when its caller no longer wants it."""


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
        self._cells = [
            (algorithm, level)
            for algorithm in scenario.algorithms
            for level in range(len(self.profiles))
        ]
        self._own_epsilons = scenario.epsilon_per_agent is not None
        self._p, self._q = self._tables()

    def _tables(self) -> tuple[FloatArray, FloatArray]:
        network = thresholds.Network(self.scenario.agents, self.mean_degree, self.scenario.rounds)
        p = np.zeros((len(self._cells), self.scenario.rounds + 1))
        if not self._own_epsilons:
            for row, (algorithm, level) in enumerate(self._cells):
                p[row, 1:] = thresholds.common(algorithm, self.profiles[level][0], network)
            return p, np.zeros((len(self._cells), 1))
        q = np.zeros_like(p)
        for row, (algorithm, level) in enumerate(self._cells):
            p[row, 1:], q[row, 1:] = thresholds.over_time(algorithm, self.profiles[level], network)
        return p, q

    def algorithms(self, edges: Edges, form: Form) -> Algorithms:
        """The kernel's description of every algorithm at every epsilon, in the results' order."""
        cells, agents = self._cells, self.scenario.agents
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
        stride, offset = zip(*(_ALPHA[algorithm.alpha] for algorithm, _ in cells), strict=True)
        return Algorithms(
            rule=np.array([ORACLE if c.rule == "oracle" else tested for c, _ in cells], np.int32),
            noise=np.array([level for _, level in cells], np.int32),
            stride=np.array(stride, np.int32),
            offset=np.array(offset, np.int32),
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

    def run_batch(
        self,
        first: int,
        runs: int,
        *,
        dtype: type = np.float32,
        report: Callable[[int], None] = lambda _: None,
    ) -> Sums:
        """Runs first .. first + runs - 1, which share a graph, summed.

        `report` hears how many rounds were done, and may raise `Stopped`.
        """
        scenario = self.scenario
        graph = scenario.draw_graph(self.degree, first // make.BATCH)
        form = form_of(dtype, make.BATCH if runs > 1 else 1)
        numbers = range(first, first + len(form))  # lanes beyond `runs` are computed and dropped
        # Classes with the same mean are one class: the first of them.
        same = np.array([scenario.means.index(mean) for mean in scenario.means])
        classes = np.stack([same[scenario.draw_classes(run)] for run in numbers], axis=1)
        edges = make.new_graph(graph.indptr, graph.indices)
        algorithms = self.algorithms(edges, form)
        population = self.population(classes, form)
        schedule = make.new_schedule(scenario.rounds, self.recorded)
        stream = make.new_stream(form, graph.agents, scenario.seed, numbers, always=True)
        state = make.new_state(form, edges, algorithms, population)
        record = make.new_record(form, algorithms, len(self.recorded))
        stride = max(1, SEGMENT // (len(form) * graph.agents * len(self._cells)))
        for start in range(1, scenario.rounds + 1, stride):
            stop = min(start + stride - 1, scenario.rounds)
            simulate(
                form, start, stop, edges, population, schedule, algorithms, stream, state, record
            )
            report(stop - start + 1)
        within, between = make.edge_totals(edges, state)
        mse = record.error[..., :runs] / graph.agents
        mse_local = record.local_error[..., :runs] / graph.agents
        return {
            "runs": np.array(float(runs)),
            "mse": mse.sum(axis=-1),
            "mse_squared": (mse**2).sum(axis=-1),
            "local": mse_local.sum(axis=-1),
            "local_squared": (mse_local**2).sum(axis=-1),
            "size": record.size[..., :runs].sum(axis=-1) / graph.agents,
            "locals": record.local[..., :runs].sum(axis=-1) / graph.agents,
            "missed": record.missed[..., :runs].sum(axis=-1),
            "mixed_up": record.mixed_up[..., :runs].sum(axis=-1),
            "within": np.array(float(within[:runs].sum())),
            "between": np.array(float(between[:runs].sum())),
            **self._theory(graph, classes[:, :runs]),
        }

    def _theory(self, graph: Graph, classes: IntArray) -> Sums:
        """The closed forms for each run's placement, summed over the runs."""
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
