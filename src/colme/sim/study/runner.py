"""Runs a scenario in batches, here or elsewhere, and survives being stopped."""

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor

import numpy as np
import xarray as xr

from colme.errors import ConfigError
from colme.sim.scenario import Scenario
from colme.sim.study import results
from colme.sim.study.checkpoint import Checkpoint
from colme.sim.study.elsewhere import on_executor
from colme.sim.study.kept import kinds_to_keep, require_room
from colme.sim.study.notebook import bar, in_notebook
from colme.sim.study.precision import precision
from colme.sim.study.quantities import AllRuns, Sums
from colme.sim.study.results import Results
from colme.sim.study.sent import Order, fulfilled, orders
from colme.sim.study.study import Study
from colme.sim.study.sweep import Place, Sweep
from colme.sim.study.threads import Stopped, on_threads

Report = Callable[[int], None]


def work(scenario: Scenario) -> int:
    """How many run-rounds a scenario has: one run by one round, with all its algorithms."""
    return scenario.runs * scenario.rounds * len(scenario.graph.degrees)


def simulate(
    scenario: Scenario,
    *,
    threads: int | None = None,
    executor: Executor | None = None,
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

    `executor`: whoever computes the batches instead of threads, in other processes or on other
    machines, again to the same bits; rules and baselines of one's own go there by name. It is the
    caller's, and stays open.

    `keep`: what is not only averaged: any of `agents`, `classes` and `runs`; the first and the last
    together keep everybody's answers.
    """
    if not isinstance(scenario, Scenario):
        expected = "a Scenario, such as Scenario.build(agents=100) or Scenario.load(path)"
        raise ConfigError("scenario", scenario, expected)
    kept = kinds_to_keep(keep)
    if by_batch and kept:
        raise ConfigError("keep", sorted(kept), "nothing, where results are by batch")
    if executor is not None and threads is not None:
        raise ConfigError("threads", threads, "none with an executor: it has its own workers")
    sweep = Sweep(scenario, precision(scenario) if dtype is None else dtype, kept)
    require_room(
        kept,
        cells=sum(len(study.cells) for study in sweep.studies),
        rows=len(sweep.study(0).recorded),
        agents=scenario.agents,
        classes=len(scenario.class_means),
        runs=scenario.runs,
    )
    if report is None and in_notebook():
        report = bar("simulating", work(scenario))
    run = _Run(sweep, checkpoint, report or (lambda _: None))
    sums = run.on_threads(threads) if executor is None else run.elsewhere(executor)
    studies = sweep.studies
    per_study = [
        [s for place, s in zip(sweep.places, sums, strict=True) if place.number == number]
        for number in range(len(studies))
    ]
    if by_batch:
        each = zip(*per_study, strict=True)
        parts = [_combined(scenario, studies, [[one] for one in parts]) for parts in each]
        joined = xr.concat(parts, "batch", data_vars="all", combine_attrs="override")
        return Results(joined.data_vars, joined.coords, joined.attrs)
    return _combined(scenario, studies, per_study)


class _Run:
    """All batches: found or computed, kept as they are finished, in their order at the end."""

    def __init__(self, sweep: Sweep, checkpoint: Checkpoint | None, report: Report) -> None:
        self._sweep, self._checkpoint, self._report = sweep, checkpoint, report

    def on_threads(self, threads: int | None) -> list[Sums]:
        """Progress is told from within a batch, and where it is told a batch can be stopped."""
        stop, lock = threading.Event(), threading.Lock()
        places = self._sweep.places
        # Where there are fewer batches than threads, those are shared within a batch.
        each = max(1, (threads or os.cpu_count() or 1) // len(places))

        def tell(run_rounds: int) -> None:
            if stop.is_set():
                raise Stopped
            with lock:
                self._report(run_rounds)

        def run(place: Place) -> Sums:
            found = self._found(place)
            if found is not None:
                tell(self._sweep.run_rounds(place))
                return found
            sums = self._sweep.compute(place, tell, threads=each)
            self._keep(place, sums)
            return sums

        return on_threads(run, places, threads=threads, stop=stop)

    def elsewhere(self, executor: Executor) -> list[Sums]:
        """Progress is told by the batch; whoever asks is the one who keeps."""
        sweep, sums = self._sweep, dict[Place, Sums]()
        for place in sweep.places:
            found = self._found(place)
            if found is not None:
                sums[place] = found
                self._report(sweep.run_rounds(place))

        def take(order: Order, done: list[Sums]) -> None:
            for place, one in zip(order.places, done, strict=True):
                self._keep(place, one)
                sums[place] = one
                self._report(sweep.run_rounds(place))

        missing = [place for place in sweep.places if place not in sums]
        on_executor(executor, fulfilled, orders(sweep, missing), take)
        return [sums[place] for place in sweep.places]

    def _found(self, place: Place) -> Sums | None:
        return self._checkpoint.load(self._sweep.name(place)) if self._checkpoint else None

    def _keep(self, place: Place, sums: Sums) -> None:
        if self._checkpoint:
            self._checkpoint.save(self._sweep.name(place), sums)


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
