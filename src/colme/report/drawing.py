"""Any quantity of a result over time: what `colme plot` draws.

A panel for each degree and, of what was kept of classes, for each class. Colours are epsilons,
lines are algorithms; of runs and agents that were kept every one has a thin line.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from colme.errors import ConfigError, one_of
from colme.report import style
from colme.report.style import IDEAL, LOCAL, Pen

Scale = Literal["log", "linear"]

_ALONE = {name: f"{name}_alone" for name in ("mse", "class_mse", "agent_mse", "run_mse")}
"""What Local's is called, of each quantity that it has."""
_TRUTH = Pen("black", ":", 1.2, "The true means")
_EACH = ("run", "agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What is to be seen."""

    quantity: str = "mse"
    over_local: bool = False
    """As a multiple of what the same agents have alone."""
    x: Scale = "log"
    """Of time: what is to be gained is mostly gained at the start."""
    y: Scale | None = None
    """None: log for errors, linear for all else."""
    algorithms: Sequence[str] | None = None
    """By name; None: all."""
    epsilons: Sequence[float] | None = None
    runs: Sequence[int] | None = None
    """Of what is kept of runs; None: all, of answers the first."""
    agents: Sequence[Hashable] | None = None
    """Of what is kept of agents, by name."""
    size: tuple[float, float] | None = None
    """Width and height in inches."""

    @property
    def name(self) -> str:
        """For a file."""
        return f"{self.quantity}-over-local" if self.over_local else self.quantity


def draw(result: xr.Dataset, drawing: Drawing) -> Figure:
    """The figure."""
    data = _part(result, drawing)
    values = data[drawing.quantity]
    degrees = data.degree.values
    classes = data.class_number.values if "class_number" in values.dims else [None]
    # Degrees side by side, unless classes are.
    rows, columns = (1, len(degrees)) if len(classes) == 1 else (len(degrees), len(classes))
    size = drawing.size or (4.4 * columns + 2.2, 3.8 * rows + 0.8)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    facets = [(degree, one) for degree in degrees for one in classes]
    look = _Look(data, values)
    for panel, (degree, one) in zip(panels.flat, facets, strict=True):
        facet = {"degree": degree} | ({} if one is None else {"class_number": one})
        _draw(panel, data.sel(facet), drawing, look)
        panel.set_title(_title(data, degree, one))
    name = _spoken(drawing.quantity)
    for row in panels:
        row[0].set_ylabel(f"{name} / Local" if drawing.over_local else name)
    for panel in panels[-1]:
        panel.set_xlabel("Time t (rounds)")
    style.legend(figure, look.legend(drawing))
    told = style.setting(data, bands=f"{drawing.quantity}_se" in data)
    style.head(figure, _heading(values, drawing), ", ".join(filter(None, [look.privacy, told])))
    return figure


def _spoken(quantity: str) -> str:
    """Class MSE, Type one."""
    words = quantity.replace("_", " ").replace("mse", "MSE")
    return words[:1].upper() + words[1:]


def _heading(values: xr.DataArray, drawing: Drawing) -> str:
    """In the words of the result, if it has any."""
    told = str(values.attrs.get("description", _spoken(drawing.quantity)))
    if drawing.over_local:
        told += ", as a multiple of what the same agents have alone"
    return told[:1].upper() + told[1:]


class _Look:
    """Colours and lines: the same in every panel. One epsilon leaves colours to algorithms."""

    def __init__(self, data: xr.Dataset, values: xr.DataArray) -> None:
        self.epsilons = [float(one) for one in data.epsilon.values]
        self.algorithms = [str(one) for one in data.algorithm.values]
        self._silent = {
            name for name in self.algorithms if values.sel(algorithm=name).isnull().all()
        }
        """Those that do not have it: relay accepts no edges."""
        self._lines = style.lines(self.algorithms)
        self._colours = style.colours(self.epsilons)
        self._pens = style.pens(self.algorithms)

    def of(self, algorithm: str, level: int) -> Pen:
        """Of one curve."""
        if len(self.epsilons) == 1:
            return self._pens[algorithm]
        return Pen(self._colours[level], self._lines[algorithm], 1.4)

    @property
    def privacy(self) -> str:
        """Where the legend does not tell it."""
        return style.epsilon_is(self.epsilons[0]) if len(self.epsilons) == 1 else ""

    def legend(self, drawing: Drawing) -> list[Line2D]:
        """What colours and lines stand for."""
        handles = []
        if drawing.quantity in _ALONE:
            handles.append(LOCAL.handle())
        if drawing.quantity == "mse":
            handles.append(IDEAL.handle())
        if drawing.quantity == "answer":
            handles.append(_TRUTH.handle())
        if len(self.epsilons) == 1:
            return handles + [pen.handle(self._named(name)) for name, pen in self._pens.items()]
        levels = zip(self.epsilons, self._colours, strict=True)
        handles += [Pen(colour, "-").handle(style.epsilon_is(one)) for one, colour in levels]
        lines = self._lines.items()
        return handles + [Pen("gray", line).handle(self._named(name)) for name, line in lines]

    def _named(self, algorithm: str) -> str:
        return f"{algorithm} (has none)" if algorithm in self._silent else algorithm


def _part(result: xr.Dataset, drawing: Drawing) -> xr.Dataset:
    """What is asked for; errors name what is there."""
    drawn_over = {"algorithm", "epsilon", "degree", "t"}
    variables = result.data_vars.items()
    over_time = [str(name) for name, one in variables if drawn_over <= {*one.dims}]
    if drawing.quantity not in over_time:
        raise ConfigError("quantity", drawing.quantity, one_of(drawing.quantity, over_time))
    if drawing.over_local and drawing.quantity not in _ALONE:
        known = one_of(drawing.quantity, list(_ALONE))
        raise ConfigError("over_local", drawing.quantity, f"{known}: Local has no other")
    dims = result[drawing.quantity].dims
    runs = drawing.runs
    if runs is None and {"run", "agent"} <= {*dims}:
        runs = [0]  # all answers of all runs would be a carpet
    wanted: dict[str, Sequence[Any] | None] = {
        "algorithm": drawing.algorithms,
        "epsilon": drawing.epsilons,
        "run": runs,
        "agent": drawing.agents,
    }
    for dim, chosen in wanted.items():
        if chosen is None:
            continue
        if dim not in dims:
            raise ConfigError(dim, chosen, f"nothing: {drawing.quantity} is not kept by {dim}")
        known = result[dim].values.tolist()
        for one in chosen:
            if one not in known:
                raise ConfigError(dim, one, one_of(str(one), list(map(str, known))))
        result = result.sel({dim: list(chosen)})
    return result


def _title(data: xr.Dataset, degree: float, one: int | None) -> str:
    if one is None:
        return style.neighbours(degree)
    return f"r = {degree:.3g}, class of mean {float(data.class_mean.sel(class_number=one)):g}"


def _draw(panel: Axes, data: xr.Dataset, drawing: Drawing, look: _Look) -> None:
    t, quantity = data.t.values, drawing.quantity
    panel.set_yscale(drawing.y or ("log" if quantity in _ALONE else "linear"))
    alone = data[_ALONE[quantity]] if quantity in _ALONE else None
    _draw_references(panel, data, drawing)
    for level in range(len(look.epsilons)):
        for algorithm in look.algorithms:
            place = {"algorithm": look.algorithms.index(algorithm), "epsilon": level}
            cell, pen = data[quantity].isel(place), look.of(algorithm, level)
            unit = alone.isel(place) if alone is not None and drawing.over_local else None
            each = [dim for dim in _EACH if dim in cell.dims]
            if each:
                _draw_each(panel, cell, unit, each, pen)
            if {*_EACH} <= {*each}:
                continue
            # Of many, errors are averaged before they are compared, as everywhere.
            middle = cell.mean(each)
            middle = middle if unit is None else middle / unit.mean(each)
            margin = style.margin_of(data, quantity)
            margin = None if margin is None else margin.isel(place)
            margin = margin if margin is None or unit is None else margin / unit
            style.draw(panel, t, middle, pen, margin)
    if drawing.over_local:
        panel.yaxis.set_major_formatter("{x:,g}")
    if drawing.x == "log":
        style.log_time(panel, t)
    else:
        panel.set_xlim(0, t[-1])
        panel.xaxis.set_major_formatter("{x:,.0f}")
    style.grid(panel)


def _draw_each(
    panel: Axes, cell: xr.DataArray, unit: xr.DataArray | None, each: Sequence[str], pen: Pen
) -> None:
    curves = cell if unit is None else cell / unit
    lines = curves.transpose("t", *each).values.reshape(cell.sizes["t"], -1)
    alpha = float(np.clip(8 / lines.shape[1], 0.1, 0.7))
    panel.plot(cell.t, lines, lw=0.7, alpha=alpha, color=pen.colour, linestyle=pen.line)


def _draw_references(panel: Axes, data: xr.Dataset, drawing: Drawing) -> None:
    """Local and, of everybody's average, Ideal; of answers the truth."""
    t, quantity = data.t.values, drawing.quantity
    if quantity == "answer":
        truth = data.truth.transpose("t", ...).values.reshape(len(t), -1)
        for mean in np.unique(truth, axis=1).T:
            style.draw(panel, t, mean, _TRUTH)
    if quantity not in _ALONE:
        return
    if drawing.over_local:
        style.level_line(panel, LOCAL)
        if quantity == "mse":
            style.draw(panel, t, data.mse_ideal / data.mse_local, IDEAL)
        return
    if quantity == "mse":
        style.draw(panel, t, data.mse_local, LOCAL, style.margin_of(data, "mse_local"))
        style.draw(panel, t, data.mse_ideal, IDEAL)
        return
    alone = data[_ALONE[quantity]].isel(algorithm=-1, epsilon=0)
    style.draw(panel, t, alone.mean([*{*_EACH} & {*alone.dims}]), LOCAL)
