"""Simulate a scenario: the experiment whose parts are batches of runs.

`Prepared` is one degree of a scenario, prepared once for all of its batches; `precision` chooses
the number format; `Simulation` is the experiment, and `simulate` runs it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from colme import plugins, theory
from colme.errors import ConfigError
from colme.experiment.run import (
    Experiment,
    Report,
    Several,
    in_notebook,
    progress,
    run,
    silent,
)
from colme.experiment.streams import RandomStream, sequence
from colme.graph import IntArray
from colme.sim import results
from colme.sim.batch import Batch, Drawn, Recorder, Sums, runs_of_a_graph
from colme.sim.engines import (
    Cell,
    Engine,
    LargeEngine,
    Liars,
    PaperEngine,
    Setting,
    World,
    by_engine,
    mean_groups,
)
from colme.sim.kernel.arrays import LINES, STEPS, UNIFORM, Form, Origin, aligned
from colme.sim.kernel.simd import form_of
from colme.sim.measures import (
    AllRuns,
    AnswerRecorder,
    Averages,
    Keep,
    Measure,
    kinds_to_keep,
    require_room,
)
from colme.sim.results import RESULT
from colme.sim.scenario import Scenario

SMALLEST, LARGEST = 1e-9, 1e9
"""Half ranges for which single precision has room for squares and their sums."""

DENSE = 1 / 3
"""Of all others, as neighbours: from there on many round alike, and rounding counts twice."""

LARGEST_DEVIATION = 0.05
"""In a sample that is taken out of two running means again, in standard deviations: squares of them
are then a quarter of a percent too large."""


SEGMENT = 150_000_000
"""Agent-rounds computed between two reports of progress: a fraction of a second."""

REPORTS = 20
"""Reports of a batch, at least: when it reports it can be stopped."""

DRAWING = 80
"""Bytes of an edge's end while a graph is drawn and held."""
LANE = 200
"""Bytes of an agent in a lane: its data, its class, what it is measured against."""


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
        self.entrants = by_engine(scenario.algorithms, len(profiles))
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
            claims=scenario.liars if scenario.liars is not None and scenario.liars.claims else None,
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
        averages = Averages(self.cells, feed, self.closed_forms(world), self.keep)
        recorders: list[Recorder] = [averages]
        if self.setting.keeps_answers:
            recorders.append(AnswerRecorder(self.measures, self.keep, world, self.cells))
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
        # What does not depend on epsilon is computed once, and stands at every level.
        levels = range(len(self.setting.profiles))
        return [
            (table.label, level if table.private else 0)
            for table in self.scenario.algorithms
            for level in levels
        ]

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
        for number, honest in enumerate(world.honest.T):
            # A liar is like nobody.
            alike = np.where(honest, world.mean_groups[:, number], -1 - np.arange(len(honest)))
            sizes = world.graph.component_sizes(alike)[honest]
            variances = sigma2[world.classes[honest, number]]
            rows.append(
                [
                    theory.ideal(variances, sizes),
                    theory.corollary1_bound(variances, sizes),
                    *(theory.theorem1(variances, sizes, sigma2_dp) for sigma2_dp in noise),
                ]
            )
        ideal, bound, *theorem1 = np.sum(rows, axis=0)
        return {"ideal": ideal, "bound": bound, "theorem1": np.array(theorem1)}


def precision(scenario: Scenario) -> type:
    """float32 where that costs each algorithm at most 1 to 2% of its error, else float64.

    Paces take running means apart again, which single precision has no digits for.
    """
    if scenario.pace_per_agent is not None:
        return np.float64
    spacings = _spacings(scenario)
    half_range = scenario.profiles()[0][0][0].half_range
    fits = (
        SMALLEST < half_range < LARGEST
        and _rounding(scenario, spacings) < min(one.engine.rounding for one in scenario.algorithms)
        # How far off a sample is that relay takes out of its running means, beside its deviation.
        and spacings * scenario.rounds < LARGEST_DEVIATION
    )
    return np.float32 if fits else np.float64


def _spacings(scenario: Scenario) -> float:
    """Of numbers in single precision, beside the standard deviation of a sample."""
    spread = scenario.reach
    sigma = min(shape.sigma2 for shape in scenario.shapes) ** 0.5
    if sigma == 0:
        return np.inf if spread > 0 else 0.0
    return float(spread / sigma / 2**24)


def _rounding(scenario: Scenario, spacings: float) -> float:
    """How much rounding in single precision adds to a consensus, beside its standard error.

    A consensus value moves by about sigma t^-1/2 in t / 10 rounds. Where a step of that is not much
    more than the spacing of the numbers around it, rounding is not random and adds up. Measured,
    the error of an oracle rises by 1.2 times the square of this at degree 20. On a complete graph
    all round alike: by 10 times the square of half of this.
    """
    dense = 2 if scenario.largest_degree > DENSE * (scenario.agents - 1) else 1
    many = max(1.0, scenario.agents / 200) ** 0.5
    return float(dense * many * spacings * scenario.rounds**1.5 / 10)


class BatchOfRuns(NamedTuple):
    """Runs of one degree that share a graph."""

    number: int
    """Which of the degrees."""
    first: int
    runs: int


class Simulation(Experiment[BatchOfRuns, xr.Dataset]):
    """A scenario with all that its numbers depend on. A degree is prepared when it is needed."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        file: str = RESULT,
        keep: Iterable[str] | str = (),
        measures: Sequence[Measure] = (),
        dtype: type | None = None,
        by_batch: bool = False,
    ) -> None:
        if not isinstance(scenario, Scenario):
            expected = "a Scenario, such as Scenario.build(agents=100) or Scenario.load(path)"
            raise ConfigError("scenario", scenario, expected)
        self.scenario, self.measures, self.by_batch = scenario, measures, by_batch
        self.files = (file,)
        self.keep = kinds_to_keep(keep)
        if by_batch and self.keep:
            raise ConfigError("keep", sorted(self.keep), "nothing, if results are by batch")
        self.dtype = np.dtype(precision(scenario) if dtype is None else dtype)
        self._prepared: dict[int, Prepared] = {}
        require_room(
            self.keep,
            cells=len(scenario.graph.degrees) * len(self.prepared(0).cells),
            rows=len(self.prepared(0).recorded),
            agents=scenario.agents,
            classes=len(scenario.class_means),
            runs=scenario.runs,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what each process prepares by itself."""
        return self.__dict__ | {"_prepared": {}}

    def prepared(self, number: int) -> Prepared:
        """Return the degree of this number, ready for any batch."""
        if number not in self._prepared:
            degree = self.scenario.graph.degrees[number]
            self._prepared[number] = Prepared(self.scenario, degree, self.keep, self.measures)
        return self._prepared[number]

    def identity(self) -> Mapping[str, Any]:
        """Return the scenario with the contents of its files, and what is kept and measured."""
        measures = {one.name: {plugins.OBJECT: plugins.text_of(one.of)} for one in self.measures}
        more = {
            "keep": sorted(self.keep),
            "measures": measures,
            "measure_sources": plugins.sources(measures),
            "dtype": self.dtype.name,
            "by_batch": self.by_batch,
        }
        return {"command": "simulate", **self.scenario.identity_fields(), **more}

    def parts(self) -> Sequence[BatchOfRuns]:
        """Return all batches, degree by degree."""
        runs = self.scenario.runs
        lanes = runs_of_a_graph(runs)
        return [
            BatchOfRuns(number, first, min(lanes, runs - first))
            for number in range(len(self.scenario.graph.degrees))
            for first in range(0, runs, lanes)
        ]

    def name(self, part: BatchOfRuns) -> str:
        """Return degree and runs."""
        return f"{self.scenario.graph.degrees[part.number]}-{part.first}-{part.runs}"

    def work(self, part: BatchOfRuns) -> int:
        """Return run-rounds: one run by one round, with all its algorithms."""
        return self.scenario.rounds * part.runs

    def compute(self, part: BatchOfRuns, report: Report = silent, *, threads: int = 1) -> Sums:
        """Compute the sums of one batch."""
        rounds = self.scenario.rounds
        prepared = self.prepared(part.number)
        batch = prepared.batch(part.first, part.runs, self.dtype.type, threads)
        stride = max(1, min(SEGMENT // batch.work_per_round, rounds // REPORTS))
        report(0)  # a part that is not wanted any more does not begin
        for start in range(1, rounds + 1, stride):
            last = min(start + stride - 1, rounds)
            batch.advance(start, last)
            report((last - start + 1) * part.runs)
        return batch.sums()

    def combine(self, parts: Sequence[Sums]) -> xr.Dataset:
        """Average over all runs, in the order of the batches, so that their sum is the same."""
        degrees = len(self.scenario.graph.degrees)
        batches = len(parts) // degrees
        by_degree = [parts[d * batches : (d + 1) * batches] for d in range(degrees)]
        if not self.by_batch:
            return self._averaged(by_degree)
        each = [self._averaged([[of[b]] for of in by_degree]) for b in range(batches)]
        return xr.concat(each, "batch", data_vars="all", combine_attrs="override")

    def _averaged(self, sums: Sequence[Sequence[Sums]]) -> xr.Dataset:
        scenario, setting = self.scenario, self.prepared(0).setting
        all_runs = AllRuns(
            sums,
            setting.recorded.astype(np.float64),
            (len(scenario.algorithms), len(setting.profiles), len(setting.recorded)),
        )
        degrees = [self.prepared(n).mean_degree for n in range(len(sums))]
        return results.as_dataset(scenario, degrees, all_runs, self.keep, self.measures)

    def save(self, result: xr.Dataset, out: Path) -> list[Path]:
        """Write the dataset."""
        path = out / self.files[0]
        results.save(result, path)
        return [path]

    def load(self, out: Path) -> xr.Dataset:
        """Read the dataset."""
        return results.load(out / self.files[0])

    def memory_of_part(self) -> int:
        """Return the bytes of one batch, about.

        Measured with paper and relay, 100,000 agents, degrees 5 and 20: at most 1.6 times what was
        taken, and at least 0.9 times.
        """
        scenario = self.scenario
        levels = 1 if scenario.epsilon_per_agent is not None else len(scenario.epsilon)
        largest = scenario.largest_degree
        of_cells = sum(
            (levels if table.private else 1)
            * (table.engine.bytes_of_agent + table.engine.bytes_of_neighbour * largest)
            for table in scenario.algorithms
        )
        lanes, wide = runs_of_a_graph(scenario.runs), self.dtype.itemsize // 4
        return round(scenario.agents * (DRAWING * largest + lanes * wide * (LANE + of_cells)))


def simulations(
    scenarios: Mapping[str, Scenario],
    draw: Callable[[dict[str, xr.Dataset], Path], list[Path]],
) -> Several:
    """Make one experiment of several simulations, whose data sets end in one folder.

    `draw` writes what is made of them, such as a figure, and returns the paths.
    """
    each = {name: Simulation(one, file=f"{name}.nc") for name, one in scenarios.items()}
    return Several(each, draw)


def simulate(
    scenario: Scenario,
    *,
    out: Path | str | None = None,
    force: bool = False,
    threads: int | None = None,
    executor: Executor | None = None,
    report: Report | None = None,
    dtype: type | None = None,
    by_batch: bool = False,
    keep: Iterable[str] | str = (),
    measures: Sequence[Measure] = (),
) -> xr.Dataset:
    """Simulate a scenario. The results have the same bits for any number of threads.

    Parameters
    ----------
    out
        Folder for finished batches and for the result; the same call resumes there.
    force
        Replace what another simulation left in `out`.
    threads
        Threads of this process; as many as there are cores if not given.
    executor
        Computes batches instead of threads, in other processes or on other machines. It belongs to
        the caller and stays open.
    report
        Is told how many run-rounds have been done since it was called last. If it is not given, a
        notebook shows a progress bar.
    dtype
        Number format; the smaller one that will do if not given.
    by_batch
        Add a dimension `batch`, for those who compare what has data in common: batches are
        independent, runs of one are not.
    keep
        What is stored beside averages: any of `agents`, `classes` and `runs`; the first and the
        last together store every agent's answers.
    measures
        Quantities of your own, see `colme.sim.measures.Measure`.

    Returns
    -------
    xarray.Dataset
        Over algorithm, epsilon, degree and t; `result.colme` sums it up.

    Examples
    --------
    >>> from colme import Scenario, simulate
    >>> result = simulate(Scenario.build(agents=10, graph={"degree": 3}, rounds=20, runs=2))
    >>> bool((result.mse > 0).all())
    True
    """
    experiment = Simulation(scenario, keep=keep, measures=measures, dtype=dtype, by_batch=by_batch)
    shown = report is None and in_notebook()
    total = experiment.total_work()
    with progress("simulating", total) if shown else nullcontext(report or silent) as told:
        return run(
            experiment, out=out, force=force, threads=threads, executor=executor, report=told
        ).result
