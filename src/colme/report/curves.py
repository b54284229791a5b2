"""Mean squared error over time, a panel for each degree: Figure 1 of the paper, and any study."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from colme.errors import ConfigError, one_of
from colme.report.lines import styles

FORMATS = ("png", "svg", "pdf")

_PAPER_COLOURS = {1.0: "black", 2.0: "blue", 4.0: "red", inf: "orange"}
_LOCAL, _IDEAL = "darkgreen", (0.61, 0.53, 0.05)
_BAND = 1.96  # standard errors on each side of a curve: 95%


def mse_over_time(dataset: xr.Dataset) -> Figure:
    """The curves of a study with 95% confidence bands, Local and Ideal."""
    degrees = dataset.degree.values
    figure = Figure(figsize=(5.2 * len(degrees) + 1.6, 4.8), layout="constrained")
    panels = figure.subplots(1, len(degrees), squeeze=False)[0]
    for panel, degree in zip(panels, degrees, strict=True):
        _draw(panel, dataset.sel(degree=degree))
        panel.set_title(f"r = {degree:g}")
    panels[0].set_ylabel("average MSE")
    figure.legend(handles=_legend(dataset), loc="outside right center", fontsize="small")
    return figure


def _draw(panel: Axes, data: xr.Dataset) -> None:
    t = data.t.values
    for epsilon in data.epsilon.values:
        for algorithm in data.algorithm.values:
            cell = data.sel(algorithm=algorithm, epsilon=epsilon)
            mse, error = cell.mse.values, np.nan_to_num(cell.mse_se.values)
            colour = _colour(epsilon, data.epsilon.values)
            panel.plot(
                t, mse, color=colour, linestyle=_style(algorithm, data.algorithm.values), lw=1.2
            )
            low = np.maximum(mse - _BAND * error, mse / 100)
            panel.fill_between(t, low, mse + _BAND * error, color=colour, alpha=0.15, lw=0)
    panel.plot(t, data.mse_local, color=_LOCAL, linestyle="--", lw=1.2)
    panel.plot(t, data.mse_ideal, color=_IDEAL, linestyle="--", lw=1.2)
    panel.set_yscale("log")
    panel.set_xlabel("time t")
    panel.set_xlim(0, t[-1])
    panel.set_ylim(_floor(data), _ceiling(data))
    panel.grid(True, which="both", color="gray", alpha=0.3, linestyle=":")


def _floor(data: xr.Dataset) -> float:
    # Where the truth drifts there is no Ideal: NaN.
    lowest = np.nanmin([float(data.mse_ideal.min()), float(data.mse.min())])
    return 10 ** float(np.floor(np.log10(lowest)))


def _ceiling(data: xr.Dataset) -> float:
    """As in the paper: the first instants, a thousand times as large as the end, are cut off."""
    settled = data.isel(t=data.t.values >= 0.002 * data.t.values[-1])
    return 10 ** float(np.ceil(np.log10(max(settled.mse_local.max(), data.mse.isel(t=-1).max()))))


def _colour(epsilon: float, epsilons: np.ndarray) -> Any:
    if all(float(e) in _PAPER_COLOURS for e in epsilons):
        return _PAPER_COLOURS[float(epsilon)]
    place = list(epsilons).index(epsilon) if epsilon == epsilon else 0
    return colormaps["viridis"](place / max(len(epsilons) - 1, 1) * 0.85)


def _style(algorithm: str, algorithms: np.ndarray) -> Any:
    return styles([str(name) for name in algorithms])[str(algorithm)]


def _legend(dataset: xr.Dataset) -> list[Line2D]:
    epsilons, algorithms = dataset.epsilon.values, dataset.algorithm.values
    return [
        Line2D([], [], color=_LOCAL, linestyle="--", label="Local"),
        Line2D([], [], color=_IDEAL, linestyle="--", label="Ideal"),
        *(
            Line2D([], [], color=_colour(epsilon, epsilons), label=_name_of(epsilon))
            for epsilon in epsilons[::-1]
        ),
        *(
            Line2D(
                [], [], color="gray", linestyle=_style(algorithm, algorithms), label=str(algorithm)
            )
            for algorithm in algorithms
        ),
    ]


def _name_of(epsilon: float) -> str:
    if np.isnan(epsilon):
        return r"own $\epsilon$ each"
    return r"$\epsilon = \infty$" if np.isinf(epsilon) else rf"$\epsilon = {epsilon:g}$"


def save(
    figure: Figure, folder: Path | str, name: str, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """In these formats, under one name."""
    known = figure.canvas.get_supported_filetypes()
    for ending in formats:
        if ending not in known:
            raise ConfigError("format", ending, one_of(ending, list(known)))
    paths = [Path(folder) / f"{name}.{ending}" for ending in formats]
    for path in paths:
        figure.savefig(path, dpi=160)
    return paths
