"""Errors over time for the page: a simulation whose curves are shown after every run."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colme.experiment.run import Arrays, run
from colme.experiment.statistics import BatchMean, FloatArray
from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation

FEWEST = 3
"""Batches with a band: that of two would be thirteen standard errors wide."""

REFERENCES = {
    "local": ("local_mse", "Local: everybody alone"),
    "ideal": ("ideal", "Ideal of Proposition 3"),
    "class-ideal": ("class_ideal_mse", "Ideal of the whole class"),
}
"""Curves that no algorithm has: their sums, and what they are called."""


class Stopped(Exception):  # noqa: N818 (not an error)
    """Ends a simulation whose curves nobody looks at any more."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCurve:
    """Error of one algorithm or reference, or its ratio to the error alone."""

    name: str
    label: str
    value: FloatArray
    margin: FloatArray | None
    """Half the width of its 95% interval; None while there are too few batches for one."""

    @property
    def band(self) -> tuple[FloatArray, FloatArray] | None:
        """The interval as a factor to both sides, for a log axis: no error is below 0."""
        if self.margin is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.exp(self.margin / self.value)
        return self.value / factor, self.value * factor


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """All curves after so many runs."""

    runs: int
    of: int
    rounds: NDArray[np.int64]
    errors: tuple[DrawnCurve, ...]
    harms: tuple[DrawnCurve, ...]


def draw_growing(scenario: Scenario, stop: threading.Event, show: Callable[[Curves], None]) -> None:
    """Show the curves of all runs so far, after each; raise `Stopped` soon after `stop` is set."""
    simulation = Simulation(scenario)

    def report(_: int) -> None:
        if stop.is_set():
            raise Stopped

    def finished(parts: Sequence[Arrays]) -> None:
        report(0)
        show(_curves(simulation, parts))

    run(simulation, threads=1, report=report, finished=finished)


def _curves(simulation: Simulation, parts: Sequence[Arrays]) -> Curves:
    recorded = simulation.prepared(0).recorded
    sums = {name: np.array([part[name] for part in parts]) for name in parts[0]}
    sums["ideal"] = sums["ideal"][:, None] / recorded
    runs, local = sums["runs"], sums["local_mse"]
    labels = [table.label for table in simulation.scenario.algorithms]
    curves = {name: (sums["mse"][:, number], name) for number, name in enumerate(labels)}
    curves |= {name: (sums[of], label) for name, (of, label) in REFERENCES.items()}
    return Curves(
        runs=int(runs.sum()),
        of=simulation.scenario.runs,
        rounds=recorded,
        errors=tuple(
            _drawn(name, label, BatchMean(above, runs)) for name, (above, label) in curves.items()
        ),
        harms=tuple(
            _drawn(name, label, BatchMean(above, local))
            for name, (above, label) in curves.items()
            if name != "local"
        ),
    )


def _drawn(name: str, label: str, mean: BatchMean) -> DrawnCurve:
    enough = len(mean.above) >= FEWEST
    return DrawnCurve(name, label, mean.value, mean.margin if enough else None)
