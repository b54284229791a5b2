"""Any quantity of a result over time: what `colme plot` draws.

A panel for each degree and, of what was kept of classes, for each class. Colours are epsilons,
lines are algorithms; of runs and agents that were kept every one has a thin line.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from colme.errors import ConfigError, one_of
from colme.report.lines import styles

Scale = Literal["log", "linear"]

_ALONE = {name: f"{name}_alone" for name in ("mse", "class_mse", "agent_mse", "run_mse")}
"""What Local's is called, of each quantity that it has."""
_BAND = 1.96  # standard errors on each side of a curve: 95%
_LOCAL, _IDEAL, _TRUTH = "darkgreen", (0.61, 0.53, 0.05), "black"
_EACH = ("run", "agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What is to be seen."""

    quantity: str = "mse"
    over_local: bool = False
    """As a multiple of what the same agents have alone."""
    x: Scale = "linear"
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
    look = _Look(data)
    for panel, (degree, one) in zip(panels.flat, facets, strict=True):
        _draw(panel, _facet(data, degree, one), drawing, look)
        panel.set_title(_title(data, degree, one), fontsize="medium")
    for row in panels:
        row[0].set_ylabel(f"{drawing.quantity} / Local" if drawing.over_local else drawing.quantity)
    for panel in panels[-1]:
        panel.set_xlabel("time t")
    figure.legend(handles=look.legend(drawing), loc="outside right center", fontsize="small")
    return figure


class _Look:
    """Colours and lines: the same in every panel."""

    def __init__(self, data: xr.Dataset) -> None:
        self.epsilons = [float(one) for one in data.epsilon.values]
        self.algorithms = [str(one) for one in data.algorithm.values]
        self._styles = styles(self.algorithms)
        places = np.linspace(0, 0.85, max(len(self.epsilons), 2))
        self._colours = [colormaps["viridis"](place) for place in places]

    def of(self, algorithm: str, level: int) -> dict[str, Any]:
        """Of one curve."""
        if len(self.epsilons) > 1:
            colour = self._colours[level]
        else:
            colour = colormaps["tab10"](self.algorithms.index(algorithm) % 10)
        return {"color": colour, "linestyle": self._styles[algorithm]}

    def legend(self, drawing: Drawing) -> list[Line2D]:
        """What colours and lines stand for."""
        handles = []
        if drawing.quantity in _ALONE:
            handles.append(Line2D([], [], color=_LOCAL, linestyle="--", label="Local"))
        if drawing.quantity == "mse":
            handles.append(Line2D([], [], color=_IDEAL, linestyle="--", label="Ideal"))
        if drawing.quantity == "answer":
            handles.append(Line2D([], [], color=_TRUTH, linestyle=":", label="truth"))
        if len(self.epsilons) > 1:
            handles += [
                Line2D([], [], color=colour, label=_privacy(epsilon))
                for epsilon, colour in zip(self.epsilons, self._colours, strict=True)
            ]
        for name in self.algorithms:
            shown = {**self.of(name, 0), **({"color": "gray"} if len(self.epsilons) > 1 else {})}
            handles.append(Line2D([], [], label=name, **shown))
        return handles


def _part(result: xr.Dataset, drawing: Drawing) -> xr.Dataset:
    """What is asked for; errors name what is there."""
    over_time = [str(name) for name, one in result.data_vars.items() if _drawable(one)]
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


def _drawable(one: xr.DataArray) -> bool:
    return {"algorithm", "epsilon", "degree", "t"} <= {*one.dims}


def _facet(data: xr.Dataset, degree: float, one: int | None) -> xr.Dataset:
    part = data.sel(degree=degree)
    return part if one is None else part.sel(class_number=one)


def _title(data: xr.Dataset, degree: float, one: int | None) -> str:
    of_degree = f"r = {degree:g}"
    if one is None:
        return of_degree
    return f"{of_degree}, class of mean {float(data.class_mean.sel(class_number=one)):g}"


def _draw(panel: Axes, data: xr.Dataset, drawing: Drawing, look: _Look) -> None:
    t, quantity = data.t.values, drawing.quantity
    alone = data[_ALONE[quantity]] if quantity in _ALONE else None
    _draw_references(panel, data, drawing)
    for level in range(len(look.epsilons)):
        for algorithm in look.algorithms:
            place = {"algorithm": look.algorithms.index(algorithm), "epsilon": level}
            cell, shown = data[quantity].isel(place), look.of(algorithm, level)
            unit = alone.isel(place) if alone is not None and drawing.over_local else None
            each = [dim for dim in _EACH if dim in cell.dims]
            if each:
                _draw_each(panel, cell, unit, each, shown)
            if not {*_EACH} <= {*each}:
                # Of many, errors are averaged before they are compared, as everywhere.
                middle = cell.mean(each)
                middle = middle if unit is None else middle / unit.mean(each)
                panel.plot(t, middle, lw=1.4, **shown)
            if f"{quantity}_se" in data:
                margin = _BAND * np.nan_to_num(data[f"{quantity}_se"].isel(place).values)
                margin = margin if unit is None else margin / unit.values
                low = np.maximum(middle - margin, middle / 3)  # a log axis has no room for less
                colour = shown["color"]
                panel.fill_between(t, low, middle + margin, color=colour, alpha=0.15, lw=0)
    panel.set_xscale(drawing.x)
    panel.set_yscale(drawing.y or ("log" if quantity in _ALONE else "linear"))
    panel.set_xlim(t[0] if drawing.x == "log" else 0, t[-1])
    panel.grid(True, which="both", color="gray", alpha=0.3, linestyle=":")


def _draw_each(
    panel: Axes,
    cell: xr.DataArray,
    unit: xr.DataArray | None,
    each: Sequence[str],
    shown: dict[str, Any],
) -> None:
    curves = cell if unit is None else cell / unit
    lines = curves.transpose("t", *each).values.reshape(cell.sizes["t"], -1)
    alpha = float(np.clip(8 / lines.shape[1], 0.1, 0.7))
    panel.plot(cell.t, lines, lw=0.7, alpha=alpha, **shown)


def _draw_references(panel: Axes, data: xr.Dataset, drawing: Drawing) -> None:
    """Local and, of everybody's average, Ideal; of answers the truth."""
    t, quantity = data.t.values, drawing.quantity
    if quantity == "answer":
        truth = data.truth.transpose("t", ...).values.reshape(len(t), -1)
        for mean in np.unique(truth, axis=1).T:
            panel.plot(t, mean, color=_TRUTH, linestyle=":", lw=1.2)
    if quantity not in _ALONE:
        return
    if drawing.over_local:
        panel.axhline(1, color=_LOCAL, linestyle="--", lw=1.2)
        if quantity == "mse":
            panel.plot(t, data.mse_ideal / data.mse_local, color=_IDEAL, linestyle="--", lw=1.2)
        return
    alone = data[_ALONE[quantity]].isel(algorithm=-1, epsilon=0)
    local = data.mse_local if quantity == "mse" else alone.mean([*{*_EACH} & {*alone.dims}])
    panel.plot(t, local, color=_LOCAL, linestyle="--", lw=1.2)
    if quantity == "mse":
        panel.plot(t, data.mse_ideal, color=_IDEAL, linestyle="--", lw=1.2)


def _privacy(epsilon: float) -> str:
    if np.isnan(epsilon):
        return r"own $\epsilon$ each"
    return r"$\epsilon = \infty$" if np.isinf(epsilon) else rf"$\epsilon = {epsilon:g}$"
