"""Runs a scenario in batches, on several threads, and survives being stopped."""

import threading
from collections.abc import Callable, Iterable

import numpy as np
import xarray as xr

from colme.errors import ConfigError
from colme.sim.scenario import Scenario
from colme.sim.study import results
from colme.sim.study.batch import Batch
from colme.sim.study.checkpoint import Checkpoint
from colme.sim.study.kept import kinds_to_keep, require_room
from colme.sim.study.notebook import bar, in_notebook
from colme.sim.study.precision import precision
from colme.sim.study.quantities import AllRuns, Sums
from colme.sim.study.results import Results
from colme.sim.study.study import Study
from colme.sim.study.threads import Stopped, on_threads

Report = Callable[[int], None]

SEGMENT = 150_000_000
"""Agent-rounds computed between two reports of progress: a fraction of a second."""


def work(scenario: Scenario) -> int:
    """How many run-rounds a scenario has: one run by one round, with all its algorithms."""
    return scenario.runs * scenario.rounds * len(scenario.graph.degrees)


def simulate(
    scenario: Scenario,
    *,
    threads: int | None = None,
    checkpoint: Checkpoint | None = None,
    report: Report | None = None,
    dtype: type | None = None,
    by_batch: bool = False,
    keep: Iterable[str] | str = (),
) -> Results:
    """The scenario's results. They are the same, bit for bit, for any number of threads.

    Batches found in `checkpoint` are not computed again, and finished ones are kept there.
    `report` hears how many run-rounds have been done since it was called last; if it is not given,
    a notebook shows a progress bar. `dtype` is the number format; None: the smaller one that will
    do. `by_batch`: with a dimension `batch` more, for those who compare what has data in common:
    batches are independent, runs of one are not.

    `keep`: what is not only averaged: any of `agents`, `classes` and `runs`; the first and the last
    together keep everybody's answers.
    """
    if not isinstance(scenario, Scenario):
        expected = "a Scenario, such as Scenario.build(agents=100) or Scenario.load(path)"
        raise ConfigError("scenario", scenario, expected)
    kept = kinds_to_keep(keep)
    if by_batch and kept:
        raise ConfigError("keep", sorted(kept), "nothing, where results are by batch")
    number_format = precision(scenario) if dtype is None else dtype
    studies = [Study(scenario, degree, kept) for degree in scenario.graph.degrees]
    require_room(
        kept,
        cells=sum(len(study.cells) for study in studies),
        rows=len(studies[0].recorded),
        agents=scenario.agents,
        classes=len(scenario.class_means),
        runs=scenario.runs,
    )
    batches = [
        (number, first)
        for number, study in enumerate(studies)
        for first in range(0, scenario.runs, study.lanes)
    ]
    if report is None and in_notebook():
        report = bar("simulating", work(scenario))
    stop = threading.Event()
    lock = threading.Lock()

    def tell(run_rounds: int) -> None:
        if report is not None:
            with lock:
                report(run_rounds)

    def run(place: tuple[int, int]) -> Sums:
        study, first = place
        runs = min(studies[study].lanes, scenario.runs - first)
        # All that a batch depends on besides the scenario: another is not to be taken for it.
        rows = len(studies[study].recorded)
        parts = (studies[study].degree, first, runs, rows, np.dtype(number_format), *sorted(kept))
        name = "-".join(map(str, parts))
        found = checkpoint.load(name) if checkpoint else None
        if found is not None:
            tell(scenario.rounds * runs)
            return found
        batch = Batch(studies[study], first, runs, number_format)
        stride = max(1, SEGMENT // batch.work_per_round)
        for start in range(1, scenario.rounds + 1, stride):
            if stop.is_set():
                raise Stopped
            last = min(start + stride - 1, scenario.rounds)
            batch.advance(start, last)
            tell((last - start + 1) * runs)
        sums = batch.sums()
        if checkpoint:
            checkpoint.save(name, sums)
        return sums

    sums = on_threads(run, batches, threads=threads, stop=stop)
    per_study = [
        [s for (study, _), s in zip(batches, sums, strict=True) if study == number]
        for number in range(len(studies))
    ]
    if by_batch:
        each = zip(*per_study, strict=True)
        parts = [_combined(scenario, studies, [[one] for one in parts]) for parts in each]
        joined = xr.concat(parts, "batch", data_vars="all", combine_attrs="override")
        return Results(joined.data_vars, joined.coords, joined.attrs)
    return _combined(scenario, studies, per_study)


def _combined(scenario: Scenario, studies: list[Study], sums: list[list[Sums]]) -> Results:
    """Means over all runs, in the order of the batches, so that their sum is always the same."""
    setting, keep = studies[0].setting, studies[0].keep
    all_runs = AllRuns(
        sums,
        sum(int(part["runs"]) for part in sums[0]),
        setting.recorded.astype(np.float64),
        (len(scenario.algorithms), len(setting.profiles), len(setting.recorded)),
    )
    degrees = [study.mean_degree for study in studies]
    return results.as_dataset(scenario, setting.recorded, degrees, all_runs, keep)
