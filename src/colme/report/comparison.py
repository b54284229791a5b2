"""Several systems side by side: error, and share of agents that have their mean, over time."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from colme.report import style
from colme.report.style import IDEAL, LOCAL, Pen
from colme.rules.release import level

_REFERENCES = {"local": LOCAL, "ideal": IDEAL}


def systems_over_time(datasets: Mapping[str, xr.Dataset]) -> Figure:
    """A row for each setting; a curve for each system at each epsilon that it depends on."""
    figure = Figure(figsize=(14.5, 5.0 * len(datasets)), layout="constrained")
    panels = figure.subplots(len(datasets), 2, squeeze=False)
    look = _Look(list(datasets.values()))
    told: dict[str, Line2D] = {}
    for (error, close), data in zip(panels, datasets.values(), strict=True):
        end = data.isel(degree=0)
        error.set_yscale("log")
        for algorithm in _references_first([str(name) for name in end.algorithm.values]):
            for epsilon in distinct_levels(end, algorithm):
                cell = end.sel(algorithm=algorithm, epsilon=epsilon)
                pen = look.of(algorithm, epsilon)
                style.draw(error, cell.t, cell.mse, pen, style.margin_of(cell, "mse"))
                style.draw(close, cell.t, cell.within_tolerance, pen)
                told.setdefault(pen.label, pen.handle())
        error.set_ylabel("Average MSE")
        scenario, degree = json.loads(data.attrs["scenario"]), float(data.degree[0])
        classes = f"{len(scenario['means'])} classes, r = {degree:g}"
        error.set_title(f"{style.setting(data)}; {classes}")
        close.set_title(f"Agents within {float(scenario['tolerance']):g} of their true mean")
        close.set_ylabel("Share of agents")
        for panel in (error, close):
            panel.set_xlabel("Time t (rounds)")
            style.log_time(panel, end.t)
            style.grid(panel)
    style.legend(figure, list(told.values()))
    style.head(figure, "Systems side by side: squared error, and who has its mean, over time")
    return figure


class _Look:
    """Colours are systems, lines are epsilons: the same in every setting."""

    def __init__(self, datasets: Sequence[xr.Dataset]) -> None:
        names = dict.fromkeys(str(one) for data in datasets for one in data.algorithm.values)
        self._pens = style.pens([name for name in names if name not in _REFERENCES])
        levels = sorted({float(epsilon) for data in datasets for epsilon in data.epsilon.values})
        self._lines = style.lines(list(map(level, levels)))
        self._private = {
            name
            for data in datasets
            for name in map(str, data.algorithm.values)
            if len(distinct_levels(data.isel(degree=0), name)) > 1
        }

    def of(self, algorithm: str, epsilon: float) -> Pen:
        """Of one curve."""
        if algorithm in _REFERENCES:
            return _REFERENCES[algorithm]
        colour = self._pens[algorithm].colour
        if algorithm not in self._private:
            return Pen(colour, "-", 1.7, algorithm)
        label = f"{algorithm}, {style.epsilon_is(epsilon)}"
        return Pen(colour, self._lines[level(epsilon)], 1.7, label)


def distinct_levels(data: xr.Dataset, algorithm: str) -> list[float]:
    """The epsilons at which a system's curves differ: one, if it knows no privacy."""
    levels = [float(epsilon) for epsilon in data.epsilon.values]
    curves = [data.mse.sel(algorithm=algorithm, epsilon=epsilon).values for epsilon in levels]
    same = all(np.array_equal(curve, curves[-1]) for curve in curves)
    return levels[-1:] if same else levels


def label_of(algorithm: str, epsilon: float, data: xr.Dataset) -> str:
    """The system's name, with epsilon where it matters."""
    if len(distinct_levels(data, algorithm)) == 1:
        return algorithm
    return f"{algorithm}, epsilon = {level(epsilon)}"


def _references_first(algorithms: list[str]) -> list[str]:
    """Below the others."""
    return sorted(algorithms, key=lambda name: name not in _REFERENCES)
