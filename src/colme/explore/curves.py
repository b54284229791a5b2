"""Errors over time for the page: a simulation whose curves are shown after every run."""

import threading
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from colme.experiment.folder import Arrays
from colme.experiment.run import run
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


def draw_growing(
    scenario: Scenario, stop: threading.Event, show: Callable[[dict[str, Any]], None]
) -> None:
    """Show the curves of all runs so far, after each; raise `Stopped` soon after `stop` is set.

    They are errors, and errors as multiples of Local's, as plain data for the page. A number that
    is not finite is None.
    """
    simulation = Simulation(scenario)

    def report(_: int) -> None:
        if stop.is_set():
            raise Stopped

    def finished(parts: Sequence[Arrays]) -> None:
        report(0)
        show(_curves(simulation, parts))

    run(simulation, threads=1, report=report, finished=finished)


def _curves(simulation: Simulation, parts: Sequence[Arrays]) -> dict[str, Any]:
    recorded = simulation.prepared(0).recorded
    sums = {name: np.array([part[name] for part in parts]) for name in parts[0]}
    sums["ideal"] = sums["ideal"][:, None] / recorded
    runs, local = sums["runs"], sums["local_mse"]
    labels = [table.label for table in simulation.scenario.algorithms]
    errors = {name: (sums["mse"][:, number], name) for number, name in enumerate(labels)}
    errors |= {name: (sums[of], label) for name, (of, label) in REFERENCES.items()}

    def drawn(name: str, below: FloatArray) -> dict[str, Any]:
        above, label = errors[name]
        values = _values_shown(BatchMean(above, below))
        return {"name": name, "label": label, "at": recorded.tolist(), **values}

    return {
        "type": "curves",
        "runs": int(runs.sum()),
        "of": simulation.scenario.runs,
        "errors": [drawn(name, runs) for name in errors],
        "harms": [drawn(name, local) for name in errors if name != "local"],
    }


def _values_shown(mean: BatchMean) -> dict[str, list[float | None]]:
    """Return a curve and, from `FEWEST` batches on, its band."""
    shown = {"value": mean.value}
    if len(mean.above) >= FEWEST:
        shown["low"], shown["high"] = band(mean.value, mean.margin)
    return {
        name: [value if isfinite(value) else None for value in values.tolist()]
        for name, values in shown.items()
    }


def band(value: FloatArray, margin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an interval as a factor to both sides, for a log axis: no error is below 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.exp(margin / value)
    return value / factor, value * factor
