"""One degree of a scenario: all algorithms at all epsilons, on the same data."""

import numpy as np

from colme import theory
from colme.graph import Graph, IntArray
from colme.sim.engines import AlgorithmTable, Cell, Engine, Entrant, Setting
from colme.sim.kernel import LINES, STEPS, UNIFORM, Form, Origin, aligned
from colme.sim.scenario import Scenario
from colme.sim.study.quantities import Sums


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
        self.mean_degree = float(degree or scenario.draw_graph(degree, 0).degrees.mean())
        self._shapes = scenario.shapes
        self.setting = Setting(
            agents=scenario.agents,
            degree=self.mean_degree,
            rounds=scenario.rounds,
            recorded=recorded_rounds(scenario.rounds),
            tolerance=scenario.tolerance,
            seed=scenario.seed,
            means=np.asarray(scenario.means, dtype=np.float64),
            midpoints=np.asarray(scenario.midpoints, dtype=np.float64),
            profiles=scenario.profiles(),
        )
        self.entrants: dict[type[Engine], list[Entrant]] = {}
        for table in scenario.algorithms:
            levels = range(len(self.setting.profiles)) if table.private else range(1)
            kind = self.entrants.setdefault(table.engine, [])
            kind += [(table, level) for level in levels]
        self.prepared = {
            kind: kind.prepare(self.setting, entrants) for kind, entrants in self.entrants.items()
        }

    @property
    def recorded(self) -> IntArray:
        """The rounds in which something is measured."""
        return self.setting.recorded

    @property
    def cells(self) -> list[Cell]:
        """Every algorithm at every epsilon, in the order of the results."""
        levels = range(len(self.setting.profiles))
        return [self._cell(table, level) for table in self.scenario.algorithms for level in levels]

    def _cell(self, table: AlgorithmTable, level: int) -> Cell:
        # What does not depend on epsilon is computed once, and stands at every level.
        return table.label, level if table.private else 0

    def origin(self, classes: IntArray, form: Form) -> Origin:
        """The kernel's description of the data, for the classes [M, L] of some runs."""
        dtype = form[0].dtype
        shape = self._shapes[0]
        if shape.quantiles is None:
            kind, spread, table = UNIFORM, shape.support[1], np.zeros((1, 1), np.float32)
        else:
            kind, spread = LINES if shape.interpolated else STEPS, 1.0
            table = np.array([shape.quantiles for shape in self._shapes], np.float32)
        return Origin(
            shape=kind,
            location=aligned(self.setting.means[classes], dtype),
            spread=aligned(np.full(classes.shape, spread), dtype),
            classes=aligned(classes, np.int32),
            table=table,
        )

    def closed_forms(self, graph: Graph, classes: IntArray) -> Sums:
        """Proposition 3, Corollary 1 and Theorem 1 for each run's classes [M, runs], summed."""
        sigma2 = np.array([shape.sigma2 for shape in self._shapes])
        own_epsilons = self.scenario.epsilon_per_agent is not None
        noise = [np.nan if own_epsilons else level[0].sigma2_dp for level in self.setting.profiles]
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
