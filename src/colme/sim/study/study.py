"""One degree of a scenario: all algorithms at all epsilons, on the same data."""

import numpy as np

from colme import theory
from colme.graph import Graph, IntArray
from colme.sim.engines import AlgorithmTable, Cell, Engine, Entrant, Setting
from colme.sim.kernel import LANES, LINES, STEPS, UNIFORM, Form, Origin, aligned
from colme.sim.scenario import Scenario
from colme.sim.study.quantities import Sums

GRAPHS = 8
"""Of a study, at least, or as many as it has runs."""


def recorded_rounds(rounds: int) -> IntArray:
    """Up to about 150 rounds: evenly spaced ones, and early ones evenly spaced on a log scale.

    A study adds those in which something happens to an algorithm (`Engine.eventful`).
    """
    linear = np.linspace(0, rounds, 101)[1:]
    early = np.geomspace(1, rounds, 60)
    return np.unique(np.rint(np.concatenate([linear, early])).clip(1).astype(np.int64))


def runs_of_a_graph(runs: int) -> int:
    """How many runs stand side by side and share a graph, such that there are `GRAPHS` of these.

    What a graph does to all its runs alike shows in the spread of batches only. Fewer lanes take
    longer: a run of 4 takes 1.9 to 2.8 times as long as one of 32, one that is alone 5 to 9 times.
    """
    return next(lanes for lanes in (LANES, 16, 4, 1) if lanes == 1 or runs >= GRAPHS * lanes)


class Study:
    """Prepared once; then any batch of runs, in any order and on any thread."""

    def __init__(self, scenario: Scenario, degree: int) -> None:
        self.scenario = scenario
        self.degree = degree
        self.lanes = runs_of_a_graph(scenario.runs)
        self.mean_degree = float(degree or scenario.draw_graph(degree, 0).degrees.mean())
        self._shapes = scenario.shapes
        profiles = scenario.profiles()
        self.entrants: dict[type[Engine], list[Entrant]] = {}
        for table in scenario.algorithms:
            levels = range(len(profiles)) if table.private else range(1)
            kind = self.entrants.setdefault(table.engine, [])
            kind += [(table, level) for level in levels]
        epsilons = [np.array([one.epsilon for one in level[0]]) for level in profiles]
        eventful = [
            kind.eventful(level, scenario.rounds) for kind in self.entrants for level in epsilons
        ]
        self.setting = Setting(
            agents=scenario.agents,
            degree=self.mean_degree,
            rounds=scenario.rounds,
            recorded=np.unique(np.concatenate([recorded_rounds(scenario.rounds), *eventful])),
            tolerance=scenario.tolerance,
            seed=scenario.seed,
            centre=scenario.centre,
            means=np.asarray(scenario.means) - scenario.centre,
            midpoints=np.asarray(scenario.midpoints) - scenario.centre,
            profiles=profiles,
        )
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
        noise = [level[0][0].sigma2_dp for level in self.setting.profiles]
        if self.scenario.epsilon_per_agent is not None:
            noise = [np.nan]
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
