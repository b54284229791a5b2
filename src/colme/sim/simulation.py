"""Simulate a scenario: the experiment whose parts are batches of runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from colme import plugins
from colme.errors import ConfigError
from colme.experiment.progress import in_notebook, progress
from colme.experiment.run import Experiment, Report, Several, run
from colme.sim import results
from colme.sim.batch import Sums
from colme.sim.measures import AllRuns, Measure, kinds_to_keep, require_room
from colme.sim.prepare import Prepared, precision, runs_of_a_graph
from colme.sim.results import RESULT
from colme.sim.scenario import Scenario

SEGMENT = 150_000_000
"""Agent-rounds computed between two reports of progress: a fraction of a second."""

REPORTS = 20
"""Reports of a batch, at least: when it reports it can be stopped."""

DRAWING = 80
"""Bytes of an edge's end while a graph is drawn and held."""
LANE = 200
"""Bytes of an agent in a lane: its data, its class, what it is measured against."""


class BatchOfRuns(NamedTuple):
    """Runs of one degree that share a graph."""

    number: int
    """Which of the degrees."""
    first: int
    runs: int


class Simulation(Experiment[BatchOfRuns, xr.Dataset]):
    """A scenario with all that its numbers depend on. A degree is prepared when it is needed."""

    files = (RESULT,)

    def __init__(
        self,
        scenario: Scenario,
        *,
        keep: Iterable[str] | str = (),
        measures: Sequence[Measure] = (),
        dtype: type | None = None,
        by_batch: bool = False,
    ) -> None:
        if not isinstance(scenario, Scenario):
            expected = "a Scenario, such as Scenario.build(agents=100) or Scenario.load(path)"
            raise ConfigError("scenario", scenario, expected)
        self.scenario, self.measures, self.by_batch = scenario, measures, by_batch
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

    def compute(
        self, part: BatchOfRuns, report: Report = lambda _: None, *, threads: int = 1
    ) -> Sums:
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
        results.save(result, out / RESULT)
        return [out / RESULT]

    def load(self, out: Path) -> xr.Dataset:
        """Read the dataset."""
        return results.load(out / RESULT)

    def memory_of_part(self) -> int:
        """Return the bytes of one batch, about.

        Measured with paper and relay, 100,000 agents, degrees 5 and 20: at most 1.6 times what was
        taken, and at least 0.9 times.
        """
        scenario = self.scenario
        levels = 1 if scenario.epsilon_per_agent is not None else len(scenario.epsilon)
        largest = max(
            scenario.graph.mean_degree(scenario.agents, degree) for degree in scenario.graph.degrees
        )
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
    files = [f"{name}.nc" for name in scenarios]

    def save(found: dict[str, xr.Dataset], out: Path) -> list[Path]:
        for name, dataset in found.items():
            results.save(dataset, out / f"{name}.nc")
        return [*(out / name for name in files), *draw(found, out)]

    def load(out: Path) -> dict[str, xr.Dataset]:
        return {name: results.load(out / f"{name}.nc") for name in scenarios}

    experiments = {name: Simulation(scenario) for name, scenario in scenarios.items()}
    return Several(experiments, save=save, load=load, files=files)


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
    with progress("simulating", total) if shown else nullcontext(report or _silent) as told:
        return run(
            experiment, out=out, force=force, threads=threads, executor=executor, report=told
        ).result


def _silent(_: int) -> None:
    pass
