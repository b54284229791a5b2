"""Figure 3: a panel for each degree and epsilon, a page for each of error, gain and traffic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from colme.sim.figures.traffic import bytes_per_edge

_BAND = 1.96  # standard errors on each side of a curve: 95%


@dataclass(frozen=True, slots=True)
class Pen:
    """How a curve looks. Colours of Okabe and Ito; each has a line of its own, too."""

    colour: str
    line: Any
    width: float = 1.6
    label: str = ""


_KNOWN: Mapping[str, Pen] = {
    "relay": Pen("#0072B2", "-", 2.6),
    "tracking": Pen("#D55E00", (0, (6, 2))),
    "paper": Pen("#CC79A7", (0, (4, 1.5, 1, 1.5))),
}
_OTHERS = (
    Pen("#56B4E9", (0, (8, 2, 1, 2, 1, 2))),
    Pen("#E69F00", (0, (2, 1))),
    Pen("#999999", (0, (10, 3))),
)
_LOCAL = Pen("#222222", (0, (1, 1)), label="Local: everybody alone")
_IDEAL = Pen("#009E73", (0, (3, 1, 1, 1)), label="Ideal of Proposition 3")
_CLASS_IDEAL = Pen("#8a8a00", (0, (1, 3)), 2.2, label="Ideal of the whole class")
PENS = (*_KNOWN.values(), *_OTHERS, _LOCAL, _IDEAL, _CLASS_IDEAL)
"""All there are: no two of them look alike, in colour or without."""


@dataclass(frozen=True, slots=True)
class View:
    """What it shows of an algorithm (with its standard error), and of the references."""

    axis: str
    of: Callable[[xr.Dataset], tuple[xr.DataArray, xr.DataArray]]
    references: Callable[[xr.Dataset], Mapping[Pen, xr.DataArray]]
    top: float | None = None
    """Where the axis ends, if curves may leave the picture."""
    powers: bool = False
    """Whether its numbers are better told as powers of ten."""


def _error(cell: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    return cell.mse, cell.mse_se


def _gain(cell: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Against the same agents alone, where only some of them answered."""
    return cell.mse / cell.mse_alone, cell.mse_se / cell.mse_alone


def _traffic(cell: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Of both ends. What nobody sent has no place on a log axis."""
    sent = bytes_per_edge(cell)
    return sent.where(sent > 0), xr.zeros_like(sent)


def _bounds(data: xr.Dataset) -> dict[Pen, xr.DataArray]:
    return {_LOCAL: data.mse_local, _IDEAL: data.mse_ideal, _CLASS_IDEAL: data.mse_class_ideal}


PAGES: Mapping[str, View] = {
    "gain": View(
        "MSE / Local",
        _gain,
        lambda data: {pen: curve / data.mse_local for pen, curve in _bounds(data).items()},
        top=10.0,
    ),
    "error": View("average MSE", _error, _bounds, powers=True),
    "traffic": View("bytes per edge and round", _traffic, lambda data: {}),
}


def page(dataset: xr.Dataset, name: str) -> Figure:
    """A row for each degree, a column for each epsilon."""
    shown = PAGES[name]
    degrees, epsilons = dataset.degree.values, dataset.epsilon.values
    pens = _pens([str(algorithm) for algorithm in dataset.algorithm.values])
    size = (3.1 * len(epsilons) + 0.6, 2.9 * len(degrees) + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(degrees), len(epsilons), squeeze=False, sharex=True, sharey=True)
    for row, degree in zip(panels, degrees, strict=True):
        for panel, epsilon in zip(row, epsilons, strict=True):
            _draw(panel, dataset.sel(degree=degree, epsilon=epsilon), shown, pens)
            panel.set_title(f"{_privacy(epsilon)},  r = {degree:g}", fontsize="medium")
        row[0].set_ylabel(shown.axis)
    for panel in panels[-1]:
        panel.set_xlabel("samples of each agent, t")
    references = shown.references(dataset.isel(degree=0, epsilon=0))
    handles = [_handle(pen, str(name)) for name, pen in pens.items()]
    handles += [_handle(pen, pen.label) for pen in references]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    return figure


def _draw(panel: Axes, data: xr.Dataset, shown: View, pens: Mapping[str, Pen]) -> None:
    t = data.t.values
    for pen, curve in shown.references(data).items():
        panel.plot(t, curve, color=pen.colour, linestyle=pen.line, lw=pen.width)
    # The last one drawn lies on top: the first that is named is the one to look at.
    for algorithm, pen in reversed(list(pens.items())):
        values, error = shown.of(data.sel(algorithm=algorithm))
        margin = _BAND * np.nan_to_num(error.values)
        low = np.maximum(values - margin, values / 3)  # a log axis has no room for less
        panel.fill_between(t, low, values + margin, color=pen.colour, alpha=0.15, lw=0)
        panel.plot(t, values, color=pen.colour, linestyle=pen.line, lw=pen.width)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlim(t[0], t[-1])
    if shown.top is not None:
        panel.set_ylim(top=shown.top)
    if not shown.powers:
        panel.yaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.grid(True, color="gray", alpha=0.25, lw=0.5)
    panel.spines[["top", "right"]].set_visible(False)


def _pens(algorithms: list[str]) -> dict[str, Pen]:
    """Of each algorithm its own; those that are known first, in their order."""
    ordered = sorted(algorithms, key=lambda name: [*_KNOWN, *algorithms].index(name))
    others = iter(_OTHERS)
    return {name: _KNOWN[name] if name in _KNOWN else next(others) for name in ordered}


def _privacy(epsilon: float) -> str:
    return r"$\epsilon = \infty$" if np.isinf(epsilon) else rf"$\epsilon = {epsilon:g}$"


def _handle(pen: Pen, label: str) -> Line2D:
    return Line2D([], [], color=pen.colour, linestyle=pen.line, lw=pen.width, label=label)
