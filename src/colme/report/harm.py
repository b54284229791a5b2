"""Figure 2: error over time on log axes, and below it the same as a multiple of Local."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

_STYLES: tuple[Any, ...] = (":", "-", "--", "-.")


def error_and_harm(dataset: xr.Dataset) -> Figure:
    """A column for each degree. Above 1 in the lower row, an agent had better stayed alone."""
    degrees, epsilons, algorithms = (
        dataset.degree.values,
        dataset.epsilon.values,
        dataset.algorithm.values,
    )
    figure = Figure(figsize=(5.4 * len(degrees) + 2.4, 8.6), layout="constrained")
    panels = figure.subplots(2, len(degrees), squeeze=False, sharex=True)
    colours = [colormaps["viridis"](x) for x in np.linspace(0, 0.85, len(epsilons))]
    for column, degree in enumerate(degrees):
        error, harm = panels[:, column]
        data = dataset.sel(degree=degree)
        for epsilon, colour in zip(epsilons, colours, strict=True):
            for algorithm, style in zip(algorithms, _STYLES, strict=False):
                mse = data.mse.sel(algorithm=algorithm, epsilon=epsilon)
                error.plot(data.t, mse, style, color=colour, lw=1.2)
                harm.plot(data.t, mse / data.mse_local, style, color=colour, lw=1.2)
        error.plot(data.t, data.mse_local, color="darkgreen", lw=2, alpha=0.6)
        error.plot(data.t, data.mse_ideal, color="goldenrod", lw=2, alpha=0.6)
        harm.axhline(1, color="darkgreen", lw=2, alpha=0.6)
        harm.plot(data.t, data.mse_ideal / data.mse_local, color="goldenrod", lw=2, alpha=0.6)
        error.set_title(f"r = {degree:g}")
        harm.set_xlabel("time t")
        for panel in (error, harm):
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.grid(True, color="gray", alpha=0.3, linestyle=":")
    panels[0, 0].set_ylabel("average MSE")
    panels[1, 0].set_ylabel("average MSE / Local")
    handles = [
        Line2D([], [], color="darkgreen", lw=2, alpha=0.6, label="Local"),
        Line2D([], [], color="goldenrod", lw=2, alpha=0.6, label="Ideal"),
    ]
    handles += [
        Line2D([], [], color=colour, label=rf"$\epsilon$ = {epsilon:g}")
        for epsilon, colour in zip(epsilons, colours, strict=True)
    ]
    handles += [
        Line2D([], [], color="gray", linestyle=style, label=str(algorithm))
        for algorithm, style in zip(algorithms, _STYLES, strict=False)
    ]
    figure.legend(handles=handles, loc="outside right center", fontsize="small")
    return figure
