"""One degree of a scenario, ready for any batch: rounds to record, number format, worlds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from colme import theory
from colme.experiment.streams import RandomStream, sequence
from colme.graph import IntArray
from colme.sim.batch import Batch, Drawn, Recorder, Sums
from colme.sim.engines import (
    AlgorithmTable,
    Cell,
    Claims,
    Engine,
    Entrant,
    LargeEngine,
    Liars,
    PaperEngine,
    Setting,
    World,
    mean_groups,
)
from colme.sim.keep import Keep, Keeper
from colme.sim.kernel.arrays import LANES, LINES, STEPS, UNIFORM, Form, Origin, aligned
from colme.sim.kernel.simd import form_of
from colme.sim.measures import Averages, Measure, Measures
from colme.sim.scenario import Lying, Scenario

GRAPHS = 8
"""Batches, at least, or as many as there are runs: error bars are over batches."""

SMALLEST, LARGEST = 1e-9, 1e9
"""Half ranges for which single precision has room for squares and their sums."""

DENSE = 1 / 3
"""Of all others, as neighbours: from there on many round alike, and rounding counts twice."""

LARGEST_DEVIATION = 0.05
"""In a sample that is taken out of two running means again, in standard deviations: squares of them
are then a quarter of a percent too large."""


def recorded_rounds(rounds: int, asked: int | list[int] | None = None) -> IntArray:
    """Return the rounds to record, at most about 150: some evenly spaced, some on a log scale.

    Or at most as many as asked for, on a log scale alone, or those themselves. `Prepared` adds
    rounds in which something happens to an algorithm (`Engine.eventful`) or to the truth.
    """
    if isinstance(asked, list):
        chosen = np.array(asked)
    elif asked is not None:
        chosen = np.geomspace(1, rounds, asked)
    else:
        linear, early = np.linspace(0, rounds, 101)[1:], np.geomspace(1, rounds, 60)
        chosen = np.concatenate([linear, early])
    return np.unique(np.rint(chosen).clip(1).astype(np.int64))


def runs_of_a_graph(runs: int) -> int:
    """Return how many runs share a graph, such that there are at least `GRAPHS` batches.

    The effect of a graph on all its runs shows in the spread of batches only. Fewer lanes take
    longer: a run of 4 takes 1.9 to 2.8 times as long as one of 32, one that is alone 5 to 9 times.
    """
    return next(lanes for lanes in (LANES, 16, 4, 1) if lanes == 1 or runs >= GRAPHS * lanes)


class Prepared:
    """One degree of a scenario, prepared once; then any batch, in any order and on any thread."""

    def __init__(
        self,
        scenario: Scenario,
        degree: int,
        keep: Keep = frozenset(),
        measures: Sequence[Measure] = (),
    ) -> None:
        self.scenario = scenario
        self.degree = degree
        self.keep = keep
        self.measures = measures
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
        recorded = [recorded_rounds(scenario.rounds, scenario.recorded)]
        if scenario.eventful:
            recorded += [
                kind.eventful(level, scenario.rounds)
                for kind in self.entrants
                for level in epsilons
            ]
            recorded += [scenario.drift.eventful(scenario.rounds)] if scenario.drift else []
        self.setting = Setting(
            agents=scenario.agents,
            degree=self.mean_degree,
            rounds=scenario.rounds,
            recorded=np.unique(np.concatenate(recorded)),
            tolerance=scenario.tolerance,
            seed=scenario.seed,
            centre=scenario.centre,
            means=np.asarray(scenario.class_means) - scenario.centre,
            midpoints=np.asarray(scenario.midpoints) - scenario.centre,
            common_bounds=scenario.bounds is not None,
            profiles=profiles,
            claims=_claims(scenario.liars),
            keeps_answers=bool(keep - {"runs"} or measures),
        )
        self.prepared = {
            kind: kind.prepare(self.setting, entrants) for kind, entrants in self.entrants.items()
        }

    def batch(self, first: int, runs: int, dtype: type = np.float32, threads: int = 1) -> Batch:
        """Make the batch of runs first .. first + runs - 1, before their first round.

        A run that is alone on its graph may use several `threads`; its results are the same for
        any number.
        """
        form = form_of(dtype, self.lanes)
        lanes = range(first, first + len(form))
        world = self.world(lanes, runs, form)
        engines = self._engines(world, threads)
        feed = Drawn(world, lanes, min(engine.buffer for engine in engines))
        recorders: list[Recorder] = [Averages(self.cells, feed, self.closed_forms(world))]
        if self.keep:
            recorders.append(Keeper(self.keep, feed, self.cells))
        if self.measures:
            recorders.append(Measures(self.measures, world, self.cells))
        return Batch(feed, engines, recorders)

    def _engines(self, world: World, threads: int) -> list[Engine]:
        if set(self.entrants) == {PaperEngine}:
            entrants, prepared = self.entrants[PaperEngine], self.prepared[PaperEngine]
            if LargeEngine.suits(world, prepared):
                return [LargeEngine(world, entrants, prepared, threads)]
        return [kind(world, own, self.prepared[kind]) for kind, own in self.entrants.items()]

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

    def world(self, lanes: range, runs: int, form: Form) -> World:
        """The runs of a batch; `lanes` are their numbers, and those of lanes beyond them."""
        scenario, drift = self.scenario, self.scenario.drift
        classes = np.stack([scenario.draw_classes(run) for run in lanes], axis=1)
        means = np.stack([scenario.draw_means(run) for run in lanes], axis=1) - scenario.centre
        world = World(
            setting=self.setting,
            graph=scenario.draw_graph(self.degree, lanes.start // self.lanes),
            numbers=lanes[:runs],
            form=form,
            classes=classes,
            origin=self.origin(classes, form)._replace(location=aligned(means, form[0].dtype)),
            means=means,
            honest=np.stack([scenario.draw_honest(run) for run in lanes[:runs]], axis=1),
            course=drift.course(means, mean_groups(means), scenario.seed, lanes) if drift else None,
            pace=None if scenario.pace_per_agent is None else np.array(scenario.pace_per_agent),
        )
        liars = self._liars(world)
        return world if liars is None else replace(world, liars=liars)

    def _liars(self, world: World) -> Liars | None:
        scenario, lying = self.scenario, self.scenario.liars
        if lying is None or lying.among(scenario.agents) == 0:
            return None
        half_range = self.setting.profiles[0][0][0].half_range
        keys = [
            sequence(scenario.seed, RandomStream.LIES, run).generate_state(1, np.uint64)[0]
            for run in world.numbers
        ]
        return Liars(
            lie=lying,
            count_times=lying.count_times,
            no_variance=lying.no_variance,
            invented=lying.invented,
            centre=scenario.centre,
            lows=world.midpoints - half_range,
            highs=world.midpoints + half_range,
            keys=np.array(keys, np.uint64),
        )

    def origin(self, classes: IntArray, form: Form) -> Origin:
        """The kernel's description of the data, for the classes [M, L] of some runs."""
        dtype = form[0].dtype
        shape = self._shapes[0]
        spread = np.ones(len(self._shapes))
        if shape.quantiles is None:
            kind, table = UNIFORM, np.zeros((1, 1), np.float32)
            spread = np.array([one.support[1] for one in self._shapes])
        else:
            kind = LINES if shape.interpolated else STEPS
            table = np.array([one.quantiles for one in self._shapes], np.float32)
        return Origin(
            shape=kind,
            location=aligned(self.setting.means[classes], dtype),
            spread=aligned(spread[classes], dtype),
            classes=aligned(classes, np.int32),
            table=table,
        )

    def closed_forms(self, world: World) -> Sums:
        """Proposition 3, Corollary 1 and Theorem 1 for each run, summed.

        Of honest agents that have one sample a round, among themselves. NaN where means drift or
        paces differ: they are about neither.
        """
        noise = [level[0][0].sigma2_dp for level in self.setting.profiles]
        if self.scenario.epsilon_per_agent is not None:
            noise = [np.nan]
        if world.course is not None or world.pace is not None:
            unknown = np.array(np.nan)
            return {"ideal": unknown, "bound": unknown, "theorem1": np.full(len(noise), np.nan)}
        sigma2 = np.array([shape.sigma2 for shape in self._shapes])
        rows = []
        for run, honest in enumerate(world.honest.T):
            # A liar is like nobody.
            alike = np.where(honest, world.mean_groups[:, run], -1 - np.arange(len(honest)))
            sizes = world.graph.component_sizes(alike)[honest]
            variances = sigma2[world.classes[honest, run]]
            rows.append(
                [
                    theory.ideal(variances, sizes),
                    theory.corollary1_bound(variances, sizes),
                    *(theory.theorem1(variances, sizes, sigma2_dp) for sigma2_dp in noise),
                ]
            )
        ideal, bound, *theorem1 = np.sum(rows, axis=0)
        return {"ideal": ideal, "bound": bound, "theorem1": np.array(theorem1)}


def _claims(lying: Lying | None) -> Claims | None:
    if lying is None or (lying.count_times == 1 and not lying.no_variance):
        return None
    return Claims(lying.count_times, lying.no_variance)


def rounding(scenario: Scenario) -> float:
    """How much rounding in single precision adds to a consensus, beside its standard error.

    A consensus value moves by about sigma t^-1/2 in t / 10 rounds. Where a step of that is not much
    more than the spacing of the numbers around it, rounding is not random and adds up. Measured,
    the error of an oracle rises by 1.2 times the square of this at degree 20. On a complete graph
    all round alike: by 10 times the square of half of this.
    """
    degree = max(scenario.graph.mean_degree(scenario.agents, one) for one in scenario.graph.degrees)
    dense = 2 if degree > DENSE * (scenario.agents - 1) else 1
    many = max(1.0, scenario.agents / 200) ** 0.5
    return float(dense * many * _spacings(scenario) * scenario.rounds**1.5 / 10)


def deviation(scenario: Scenario) -> float:
    """How far off a sample is that relay takes out of its running means, beside its deviation."""
    return _spacings(scenario) * scenario.rounds


def _spacings(scenario: Scenario) -> float:
    """Of numbers in single precision, beside the standard deviation of a sample."""
    spread = scenario.reach
    sigma = min(shape.sigma2 for shape in scenario.shapes) ** 0.5
    if sigma == 0:
        return np.inf if spread > 0 else 0.0
    return float(spread / sigma / 2**24)


def precision(scenario: Scenario) -> type:
    """float32 where that costs each algorithm at most 1 to 2% of its error, else float64.

    Paces take running means apart again, which single precision has no digits for.
    """
    if scenario.pace_per_agent is not None:
        return np.float64
    half_range = scenario.profiles()[0][0][0].half_range
    allowed = min(table.engine.rounding for table in scenario.algorithms)
    fits = (
        SMALLEST < half_range < LARGEST
        and rounding(scenario) < allowed
        and deviation(scenario) < LARGEST_DEVIATION
    )
    return np.float32 if fits else np.float64
