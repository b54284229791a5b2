"""Errors over time, from the simulator's engines: run after run, until nobody wants more."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from colme.sim import study as simulator  # its door has a function `precision`, and a file
from colme.sim.scenario import Scenario
from colme.sim.study import Batch, Stopped, Study

FloatArray = NDArray[np.float64]

STRETCHES = 20
"""Of a run: between two of them it looks whether it is still wanted."""
FEWEST = 3
"""Runs with a band: that of two would be thirteen standard errors wide."""
LEVEL = 0.975
"""Of Student's distribution: 95% bands, with as many runs as there are."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCurve:
    """Of one algorithm or reference: its error, or that as a multiple of Local's."""

    name: str
    label: str
    value: FloatArray
    margin: FloatArray | None
    """Half the width of its 95% interval; None while there are too few runs for one."""

    @property
    def band(self) -> tuple[FloatArray, FloatArray] | None:
        """As a factor to both sides, which is what a log axis shows: no error is below 0."""
        if self.margin is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.exp(self.margin / self.value)
        return self.value / factor, self.value * factor


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """After so many runs."""

    runs: int
    of: int
    rounds: NDArray[np.int64]
    errors: tuple[DrawnCurve, ...]
    harms: tuple[DrawnCurve, ...]


def growing(scenario: Scenario, stop: threading.Event) -> Iterator[Curves]:
    """Curves of all runs so far, after each; raises `Stopped` soon after `stop` is set."""
    study = Study(scenario, scenario.graph.degrees[0])
    names = [table.label for table in scenario.algorithms]
    parts: list[dict[str, FloatArray]] = []
    for first in range(0, scenario.runs, study.lanes):
        runs = min(study.lanes, scenario.runs - first)
        parts.append(_run(study, first, runs, stop))
        yield _summed_up(names, study.recorded, parts, scenario.runs // study.lanes)


def _run(study: Study, first: int, runs: int, stop: threading.Event) -> dict[str, FloatArray]:
    rounds = study.scenario.rounds
    batch = Batch(study, first, runs, simulator.precision(study.scenario))
    stride = max(1, rounds // STRETCHES)
    for start in range(1, rounds + 1, stride):
        if stop.is_set():
            raise Stopped
        batch.advance(start, min(start + stride - 1, rounds))
    sums = batch.sums()
    return {
        "mse": sums["mse"] / runs,
        "local": sums["local_mse"] / runs,
        "class ideal": sums["class_ideal_mse"] / runs,
        "ideal": sums["ideal"] / runs / study.recorded,
    }


def _summed_up(
    names: list[str], rounds: NDArray[np.int64], parts: list[dict[str, FloatArray]], of: int
) -> Curves:
    every = {name: np.array([part[name] for part in parts]) for name in parts[0]}
    local = every["local"]
    algorithms = {name: every["mse"][:, number] for number, name in enumerate(names)}
    references = {
        "local": (local, "Local: everybody alone"),
        "ideal": (every["ideal"], "Ideal of Proposition 3"),
        "class-ideal": (every["class ideal"], "Ideal of the whole class"),
    }
    errors = [_mean(name, name, values) for name, values in algorithms.items()]
    errors += [_mean(name, label, values) for name, (values, label) in references.items()]
    harms = [_ratio(name, name, values, local) for name, values in algorithms.items()]
    harms += [
        _ratio(name, label, values, local)
        for name, (values, label) in references.items()
        if name != "local"
    ]
    return Curves(len(parts), of, rounds, tuple(errors), tuple(harms))


def _mean(name: str, label: str, values: FloatArray) -> DrawnCurve:
    return DrawnCurve(name, label, values.mean(axis=0), _margin(values))


def _ratio(name: str, label: str, values: FloatArray, local: FloatArray) -> DrawnCurve:
    """Of totals. Both are of the same data, so what they have in common is no uncertainty."""
    ratio = values.sum(axis=0) / local.sum(axis=0)
    return DrawnCurve(name, label, ratio, _margin((values - ratio * local) / local.mean(axis=0)))


def _margin(values: FloatArray) -> FloatArray | None:
    """95%: every row is a run on a graph of its own, so rows are independent."""
    runs = len(values)
    if runs < FEWEST:
        return None
    spread = values.std(axis=0, ddof=1) / runs**0.5
    return np.asarray(stats.t.ppf(LEVEL, runs - 1) * spread)
