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
from colme.sim.kernel.rounds import simulate
from colme.sim.kernel.simd import form_of
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

    def prepare(self, first: int, runs: int, dtype: type = np.float32) -> "Batch":
        """Runs first .. first + runs - 1, which share a graph, before their first round."""
        return Batch(self, first, runs, dtype)

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


class Batch:
    """Runs that share a graph, side by side in the kernel."""

    def __init__(self, study: Study, first: int, runs: int, dtype: type) -> None:
        scenario = study.scenario
        self.study = study
        self.runs = runs
        self.graph = scenario.draw_graph(study.degree, first // make.BATCH)
        self._form = form_of(dtype, make.BATCH if runs > 1 else 1)
        # Lanes beyond `runs` are computed and dropped.
        numbers = range(first, first + len(self._form))
        # Classes with the same mean are one class: the first of them.
        same = np.array([scenario.means.index(mean) for mean in scenario.means])
        self.classes = np.stack([same[scenario.draw_classes(run)] for run in numbers], axis=1)
        self._edges = make.new_graph(self.graph.indptr, self.graph.indices)
        self._algorithms = study.algorithms(self._edges, self._form)
        self._population = study.population(self.classes, self._form)
        self._schedule = make.new_schedule(scenario.rounds, study.recorded)
        self._stream = make.new_stream(
            self._form, scenario.agents, scenario.seed, numbers, always=True
        )
        self._state = make.new_state(self._form, self._edges, self._algorithms, self._population)
        self._record = make.new_record(self._form, self._algorithms, len(study.recorded))

    @property
    def work_per_round(self) -> int:
        """Agent-rounds that one round takes: every agent in every lane, by every algorithm."""
        return len(self._form) * self.graph.agents * len(self._algorithms.rule)

    def advance(self, first: int, last: int) -> None:
        """Rounds first .. last, which follow those done before."""
        simulate(
            self._form,
            first,
            last,
            self._edges,
            self._population,
            self._schedule,
            self._algorithms,
            self._stream,
            self._state,
            self._record,
        )

    def sums(self) -> Sums:
        """What was recorded, summed over the runs."""
        agents, record = self.graph.agents, self._record
        mine = np.s_[..., : self.runs]
        within, between = make.edge_totals(self._edges, self._state)
        mse, mse_local = record.error[mine] / agents, record.local_error[mine] / agents
        return {
            "runs": np.array(float(self.runs)),
            "mse": mse.sum(axis=-1),
            "mse_squared": (mse**2).sum(axis=-1),
            "local": mse_local.sum(axis=-1),
            "local_squared": (mse_local**2).sum(axis=-1),
            "size": record.size[mine].sum(axis=-1) / agents,
            "locals": record.local[mine].sum(axis=-1) / agents,
            "missed": record.missed[mine].sum(axis=-1),
            "mixed_up": record.mixed_up[mine].sum(axis=-1),
            "within": np.array(float(within[mine].sum())),
            "between": np.array(float(between[mine].sum())),
            **self.study.closed_forms(self.graph, self.classes[mine]),
        }
