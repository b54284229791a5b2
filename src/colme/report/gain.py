"""Figure 3: a panel for each degree and epsilon, a page for each of error, gain and traffic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from colme.report import looks
from colme.report.looks import CLASS_IDEAL, IDEAL, LOCAL, Pen
from colme.sim.figures.traffic import bytes_per_edge


@dataclass(frozen=True, slots=True)
class View:
    """What it shows of an algorithm (with its standard error), and of the references."""

    title: str
    axis: str
    of: Callable[[xr.Dataset], tuple[xr.DataArray, xr.DataArray | None]]
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


def _traffic(cell: xr.Dataset) -> tuple[xr.DataArray, None]:
    """Of both ends. What nobody sent has no place on a log axis."""
    sent = bytes_per_edge(cell)
    return sent.where(sent > 0), None


def _bounds(data: xr.Dataset) -> dict[Pen, xr.DataArray]:
    return {LOCAL: data.mse_local, IDEAL: data.mse_ideal, CLASS_IDEAL: data.mse_class_ideal}


PAGES: Mapping[str, View] = {
    "gain": View(
        "Average squared error as a multiple of staying alone",
        "MSE / Local",
        _gain,
        lambda data: {pen: curve / data.mse_local for pen, curve in _bounds(data).items()},
        top=10.0,
    ),
    "error": View(
        "Average squared error of everybody's answer",
        "Average MSE",
        _error,
        _bounds,
        powers=True,
    ),
    "traffic": View(
        "What is sent over an edge, both ways",
        "Bytes per edge and round",
        _traffic,
        lambda data: {},
    ),
}


def page(dataset: xr.Dataset, name: str) -> Figure:
    """A row for each degree, a column for each epsilon."""
    shown = PAGES[name]
    degrees, epsilons = dataset.degree.values, dataset.epsilon.values
    pens = looks.pens([str(algorithm) for algorithm in dataset.algorithm.values])
    size = (3.1 * len(epsilons) + 0.6, 2.9 * len(degrees) + 1.5)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(degrees), len(epsilons), squeeze=False, sharex=True, sharey=True)
    for row, degree in zip(panels, degrees, strict=True):
        for panel, epsilon in zip(row, epsilons, strict=True):
            _draw(panel, dataset.sel(degree=degree, epsilon=epsilon), shown, pens)
            panel.set_title(f"{looks.epsilon_is(epsilon)},  r = {degree:g}")
        row[0].set_ylabel(shown.axis)
    for panel in panels[-1]:
        panel.set_xlabel("Samples of each agent, t")
    references = shown.references(dataset.isel(degree=0, epsilon=0))
    handles = [pen.handle(str(name)) for name, pen in pens.items()]
    handles += [pen.handle() for pen in references]
    looks.legend_below(figure, handles, columns=max(3, int(size[0] // 2)))
    told = [looks.setting(dataset, bands=name != "traffic"), "r: neighbours of each agent"]
    looks.head(figure, shown.title, "; ".join(filter(None, told)))
    return figure


def _draw(panel: Axes, data: xr.Dataset, shown: View, pens: Mapping[str, Pen]) -> None:
    t = data.t.values
    for pen, curve in shown.references(data).items():
        looks.draw(panel, t, curve, pen)
    # The last one drawn lies on top: the first that is named is the one to look at.
    for algorithm, pen in reversed(list(pens.items())):
        values, error = shown.of(data.sel(algorithm=algorithm))
        looks.draw(panel, t, values, pen, error)
    panel.set_yscale("log")
    looks.log_time(panel, t)
    if shown.top is not None:
        panel.set_ylim(top=shown.top)
    if not shown.powers:
        panel.yaxis.set_major_formatter("{x:,g}")
    looks.grid(panel)
    panel.spines[["top", "right"]].set_visible(False)
