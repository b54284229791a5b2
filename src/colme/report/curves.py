"""Mean squared error over time, a panel for each degree: Figure 1 of the paper."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from colme.errors import ConfigError, one_of
from colme.report import looks
from colme.report.lines import styles
from colme.report.looks import IDEAL, LOCAL, Pen

FORMATS = ("png", "svg", "pdf")

_PAPER_COLOURS = {1.0: "black", 2.0: "blue", 4.0: "red", inf: "orange"}


def mse_over_time(dataset: xr.Dataset) -> Figure:
    """The curves of a study with 95% confidence bands, Local and Ideal. Time is the paper's."""
    degrees = dataset.degree.values
    figure = Figure(figsize=(5.0 * len(degrees) + 2.6, 5.2), layout="constrained")
    panels = figure.subplots(1, len(degrees), squeeze=False)[0]
    colours = _colours([float(epsilon) for epsilon in dataset.epsilon.values])
    lines = styles([str(name) for name in dataset.algorithm.values])
    for panel, degree in zip(panels, degrees, strict=True):
        _draw(panel, dataset.sel(degree=degree), colours, lines)
        panel.set_title(looks.neighbours(degree))
    panels[0].set_ylabel("Average MSE")
    handles = [LOCAL.handle(), IDEAL.handle()]
    levels = list(zip(dataset.epsilon.values, colours, strict=True))
    handles += [Pen(one, "-").handle(looks.epsilon_is(epsilon)) for epsilon, one in levels[::-1]]
    handles += [Pen("gray", line).handle(name) for name, line in lines.items()]
    looks.legend(figure, handles)
    looks.head(figure, "Average squared error of everybody's answer", looks.setting(dataset))
    return figure


def _draw(
    panel: Axes, data: xr.Dataset, colours: Sequence[object], lines: dict[str, object]
) -> None:
    t = data.t.values
    looks.draw(panel, t, data.mse_local, LOCAL, data.mse_local_se)
    looks.draw(panel, t, data.mse_ideal, IDEAL)
    for level, colour in enumerate(colours):
        for name, line in lines.items():
            cell = data.isel(epsilon=level).sel(algorithm=name)
            looks.draw(panel, t, cell.mse, Pen(colour, line, 1.4), cell.mse_se)
    panel.set_yscale("log")
    panel.set_xlabel("Time t (samples of each agent)")
    panel.set_xlim(0, t[-1])
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.set_ylim(_floor(data), _ceiling(data))
    looks.grid(panel)


def _floor(data: xr.Dataset) -> float:
    # Where the truth drifts there is no Ideal: NaN.
    lowest = np.nanmin([float(data.mse_ideal.min()), float(data.mse.min())])
    return 10 ** float(np.floor(np.log10(lowest)))


def _ceiling(data: xr.Dataset) -> float:
    """As in the paper: the first instants, a thousand times as large as the end, are cut off."""
    settled = data.isel(t=data.t.values >= 0.002 * data.t.values[-1])
    return 10 ** float(np.ceil(np.log10(max(settled.mse_local.max(), data.mse.isel(t=-1).max()))))


def _colours(epsilons: Sequence[float]) -> Sequence[object]:
    """The paper's, where there are no others."""
    if all(epsilon in _PAPER_COLOURS for epsilon in epsilons):
        return [_PAPER_COLOURS[epsilon] for epsilon in epsilons]
    return looks.colours(epsilons)


def save(
    figure: Figure, folder: Path | str, name: str, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """In these formats, under one name."""
    known = figure.canvas.get_supported_filetypes()
    for ending in formats:
        if ending not in known:
            raise ConfigError("format", ending, one_of(ending, list(known)))
    paths = [Path(folder) / f"{name}.{ending}" for ending in formats]
    layout = figure.get_layout_engine()
    for path in paths:
        figure.savefig(path, dpi=160)
        # All has its place now. To find it again for every format would be half of the time.
        figure.set_layout_engine(None)
    figure.set_layout_engine(layout)
    return paths
