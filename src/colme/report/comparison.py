"""Several systems side by side: error, and share of agents that have their mean, over time."""

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.figure import Figure

_TITLES = {"paper": "200 agents in three classes", "galante": "10,000 agents in two classes"}


def systems_over_time(datasets: Mapping[str, xr.Dataset]) -> Figure:
    """A row for each setting; a curve for each system at each epsilon that it depends on."""
    figure = Figure(figsize=(13, 4.6 * len(datasets)), layout="constrained")
    panels = figure.subplots(len(datasets), 2, squeeze=False)
    names = list(
        dict.fromkeys(
            str(algorithm) for data in datasets.values() for algorithm in data.algorithm.values
        )
    )
    for (error, close), (name, data) in zip(panels, datasets.items(), strict=True):
        end = data.isel(degree=0)
        for algorithm in map(str, end.algorithm.values):
            colour = colormaps["tab20"](names.index(algorithm) % 20)
            for epsilon, style in zip(
                distinct_levels(end, algorithm), ("-", "--", ":"), strict=False
            ):
                cell = end.sel(algorithm=algorithm, epsilon=epsilon)
                label = label_of(algorithm, epsilon, end)
                error.plot(cell.t, cell.mse, style, color=colour, lw=1.2, label=label)
                close.plot(cell.t, cell.within_tolerance, style, color=colour, lw=1.2)
        error.set_yscale("log")
        error.set_xscale("log")
        error.set_ylabel("average MSE")
        error.set_title(_TITLES.get(name, name))
        close.set_title(f"within {_tolerance(data):g} of the true mean")
        close.set_ylabel("share of agents")
        for panel in (error, close):
            panel.set_xlabel("round")
            panel.grid(True, color="gray", alpha=0.3, linestyle=":")
        error.legend(fontsize="x-small", loc="lower left")
    return figure


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
    return f"{algorithm}, epsilon = {epsilon:g}"


def _tolerance(data: xr.Dataset) -> float:
    return float(json.loads(data.attrs["scenario"])["tolerance"])
