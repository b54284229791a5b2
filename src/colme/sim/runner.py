"""Runs a scenario in batches, on several threads, and survives being stopped."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from colme.sim import results
from colme.sim.batch import Batch
from colme.sim.checkpoint import Checkpoint
from colme.sim.kernel.batch import BATCH
from colme.sim.scenario import Scenario
from colme.sim.study import Study, Sums

FloatArray = NDArray[np.float64]
Report = Callable[[int], None]

SEGMENT = 150_000_000
"""Agent-rounds computed between two reports of progress: a fraction of a second."""


BATCHES_ENOUGH = 16
"""From so many batches on, standard errors are those of batches."""


class Stopped(Exception):  # noqa: N818 (not an error)
    """Ends a batch that nobody wants any more."""


def work(scenario: Scenario) -> int:
    """How many run-rounds a scenario has: one run by one round, with all its algorithms."""
    return scenario.runs * scenario.rounds * len(scenario.graph.degrees)


def simulate(
    scenario: Scenario,
    *,
    threads: int | None = None,
    checkpoint: Checkpoint | None = None,
    report: Report = lambda _: None,
    dtype: type = np.float32,
) -> xr.Dataset:
    """The scenario's results. They are the same, bit for bit, for any number of threads.

    Batches found in `checkpoint` are not computed again, and finished ones are kept there.
    `report` hears how many run-rounds have been done since it was called last.
    """
    studies = [Study(scenario, degree) for degree in scenario.graph.degrees]
    batches = [
        (study, first) for study in range(len(studies)) for first in range(0, scenario.runs, BATCH)
    ]
    stop = threading.Event()
    lock = threading.Lock()

    def tell(run_rounds: int) -> None:
        with lock:
            report(run_rounds)

    def run(study: int, first: int) -> Sums:
        runs = min(BATCH, scenario.runs - first)
        name = f"{studies[study].degree}-{first}"
        found = checkpoint.load(name) if checkpoint else None
        if found is not None:
            tell(scenario.rounds * runs)
            return found
        batch = Batch(studies[study], first, runs, dtype)
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

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        futures = [pool.submit(run, *batch) for batch in batches]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()  # raises what went wrong
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    sums = [future.result() for future in futures]
    per_study = [
        [s for (study, _), s in zip(batches, sums, strict=True) if study == number]
        for number in range(len(studies))
    ]
    return _combine(scenario, studies, per_study)


def _combine(scenario: Scenario, studies: list[Study], sums: list[list[Sums]]) -> xr.Dataset:
    """Means over all runs, in the order of the batches, so that their sum is always the same."""
    recorded = studies[0].recorded
    shape = (len(scenario.algorithms), len(studies[0].profiles), len(recorded))

    def total(study: int, name: str) -> FloatArray:
        return np.asarray(np.sum([part[name] for part in sums[study]], axis=0))

    def by_cell(values: Callable[[int], FloatArray]) -> FloatArray:
        return np.stack([values(s).reshape(shape) for s in range(len(studies))], axis=2)

    def by_degree(values: Callable[[int], FloatArray]) -> FloatArray:
        return np.stack([values(s) for s in range(len(studies))])

    def per_run(name: str) -> Callable[[int], FloatArray]:
        return lambda s: total(s, name) / scenario.runs

    cell, degree = ("rule", "epsilon", "degree", "t"), ("degree", "t")
    over_t = np.asarray(recorded, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # a graph may have no edge within a class, or between two
        errors = {
            "type_one": by_cell(lambda s: total(s, "missed") / total(s, "within")),
            "type_two": by_cell(lambda s: total(s, "mixed_up") / total(s, "between")),
        }
    theorem1 = by_degree(per_run("theorem1")).T
    return results.as_dataset(
        scenario,
        recorded,
        [study.mean_degree for study in studies],
        {
            "mse": (cell, by_cell(per_run("mse"))),
            "mse_se": (cell, by_cell(lambda s: _standard_error(sums[s], "mse"))),
            "mse_local": (degree, by_degree(per_run("local_mse"))),
            "mse_local_se": (degree, by_degree(lambda s: _standard_error(sums[s], "local_mse"))),
            "mse_ideal": (degree, by_degree(per_run("ideal"))[:, None] / over_t),
            "mse_theorem1": (("epsilon", *degree), theorem1[..., None] / over_t),
            "corollary1_bound": (("degree",), by_degree(per_run("bound"))),
            "accepted_size": (cell, by_cell(per_run("size"))),
            "answering_locally": (cell, by_cell(per_run("local"))),
            "within_tolerance": (cell, by_cell(per_run("close"))),
            "messages": (cell, by_cell(per_run("messages"))),
            "payload": (cell, by_cell(per_run("payload"))),
            "memory": (cell, by_cell(per_run("memory"))),
            **{name: (cell, values) for name, values in errors.items()},
        },
    )


def _standard_error(parts: list[Sums], name: str) -> FloatArray:
    """Runs of a batch share a graph, so batches, not runs, are what is independent.

    But the spread of a few batches says little, and a shared graph correlates runs little, since
    each has its own classes: below `BATCHES_ENOUGH` batches the spread of the runs is used.
    """
    runs = np.array([part["runs"] for part in parts])
    values = np.array([part[name] for part in parts])
    total = runs.sum()
    mean = values.sum(axis=0) / total
    if len(parts) >= BATCHES_ENOUGH:
        deviations = values - runs.reshape(-1, *(1,) * mean.ndim) * mean
        spread = (deviations**2).sum(axis=0) * len(parts) / (len(parts) - 1)
        return np.asarray(np.sqrt(spread) / total)
    if total == 1:
        return np.full_like(mean, np.nan)
    variance = sum(part[f"{name}_squared"] for part in parts) / total - mean**2
    return np.asarray(np.sqrt(np.maximum(variance, 0) / (total - 1)))
