"""Errors over time: Figure 1 of the paper, a panel for each degree; demonstration; forecast."""

from collections.abc import Sequence
from math import inf, sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from colme.experiment.statistics import student_factor
from colme.report import style
from colme.report.style import CLASS_IDEAL, IDEAL, LOCAL, Pen

if TYPE_CHECKING:  # What agents in memory need is not what a figure needs.
    from colme.plan.forecast import Forecast
    from colme.sim.demonstration import Demonstration

FORMATS = ("png", "svg", "pdf")

_PAPER_COLOURS = {1.0: "black", 2.0: "blue", 4.0: "red", inf: "orange"}


def mse_over_time(dataset: xr.Dataset) -> Figure:
    """The curves of a study with 95% confidence bands, Local and Ideal. Time is the paper's."""
    degrees = dataset.degree.values
    figure = Figure(figsize=(5.0 * len(degrees) + 2.6, 5.2), layout="constrained")
    panels = figure.subplots(1, len(degrees), squeeze=False)[0]
    colours = _colours([float(epsilon) for epsilon in dataset.epsilon.values])
    lines = style.lines([str(name) for name in dataset.algorithm.values])
    for panel, degree in zip(panels, degrees, strict=True):
        _draw(panel, dataset.sel(degree=degree), colours, lines)
        panel.set_title(style.neighbours(degree))
    panels[0].set_ylabel("Average MSE")
    handles = [LOCAL.handle(), IDEAL.handle()]
    levels = list(zip(dataset.epsilon.values, colours, strict=True))
    handles += [Pen(one, "-").handle(style.epsilon_is(epsilon)) for epsilon, one in levels[::-1]]
    handles += [Pen("gray", line).handle(name) for name, line in lines.items()]
    style.legend(figure, handles)
    style.head(figure, "Average squared error of everybody's answer", style.setting(dataset))
    return figure


def _draw(
    panel: Axes, data: xr.Dataset, colours: Sequence[object], lines: dict[str, object]
) -> None:
    t = data.t.values
    panel.set_yscale("log")
    style.draw(panel, t, data.mse_local, LOCAL, style.margin_of(data, "mse_local"))
    style.draw(panel, t, data.mse_ideal, IDEAL)
    for level, colour in enumerate(colours):
        for name, line in lines.items():
            cell = data.isel(epsilon=level).sel(algorithm=name)
            style.draw(panel, t, cell.mse, Pen(colour, line, 1.4), style.margin_of(cell, "mse"))
    panel.set_xlabel("Time t (samples of each agent)")
    panel.set_xlim(0, t[-1])
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.set_ylim(_floor(data), _ceiling(data))
    style.grid(panel)


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
    return style.colours(epsilons)


def save(figure: Figure, folder: Path | str, name: str) -> list[Path]:
    """Write a figure as PNG, SVG and PDF, under one name."""
    paths = [Path(folder) / f"{name}.{ending}" for ending in FORMATS]
    layout = figure.get_layout_engine()
    for path in paths:
        figure.savefig(path, dpi=160)
        # All has its place now. To find it again for every format would be half of the time.
        figure.set_layout_engine(None)
    figure.set_layout_engine(layout)
    return paths


_TOGETHER = style.pens(["relay"])["relay"]


def demonstration(result: "Demonstration", *, epsilon: float) -> Figure:
    """Everybody's error at the end on the left, over time on the right, root mean squared."""
    figure = Figure(figsize=(12.5, 5.0), layout="constrained")
    answers, errors = figure.subplots(1, 2)
    _draw_answers(answers, result)
    _draw_errors(errors, result)
    handles = [LOCAL.handle(), _TOGETHER.handle("Together (relay)"), CLASS_IDEAL.handle()]
    style.legend_below(figure, handles, columns=3)
    style.head(
        figure,
        f"{result.truth.size} agents learn their own means, of which there are three, together:"
        f" {style.epsilon_is(epsilon)} for each sample (event level, replace-one)",
    )
    return figure


def _draw_answers(panel: Axes, result: "Demonstration") -> None:
    alone, together = result.local[-1] - result.truth, result.together[-1] - result.truth
    places = range(len(alone))
    panel.axhline(0, color="black", lw=0.8, ls=":")
    panel.vlines(places, alone, together, color=LOCAL.colour, lw=0.7)
    panel.plot(places, alone, "x", color=LOCAL.colour, ms=6)
    panel.plot(places, together, "o", color=_TOGETHER.colour, ms=4.5)
    panel.set_title(f"How far off each is after {int(result.rounds[-1]):,} samples")
    panel.set_xlabel("Agent")
    panel.set_ylabel("Answer - true mean (x: alone, ●: together)")


def _draw_errors(panel: Axes, result: "Demonstration") -> None:
    drawn = ((LOCAL, result.local), (CLASS_IDEAL, result.ideal), (_TOGETHER, result.together))
    for pen, values in drawn:
        style.draw(panel, result.rounds, result.errors(values), pen)
    panel.set_yscale("log")
    style.log_time(panel, result.rounds)
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set_title("How far off they are, root mean squared")
    panel.set_xlabel("Samples of each agent")
    panel.set_ylabel("Error")
    style.grid(panel)


def over_samples(forecasts: Sequence["Forecast"]) -> Figure:
    """What to expect before joining: error as a multiple of staying alone, over samples.

    A curve for each algorithm, but where it is worse than alone by an unknown factor.
    """
    from colme.plan.forecast import BOARDS, PAYS  # other figures need no forecast

    figure = Figure(figsize=(9.4, 4.9), layout="constrained")
    panel = figure.subplots()
    panel.set_yscale("log")
    style.level_line(panel, LOCAL)
    pens = style.pens([one.algorithm for one in forecasts])
    for one in forecasts:
        pen = pens[one.algorithm]
        samples = [point.samples for point in one.curve]
        margins = [float(student_factor(BOARDS)) * point.standard_error for point in one.curve]
        ratio = [point.ratio for point in one.curve]
        style.draw(panel, samples, ratio, pen, margins)
        panel.plot(samples, ratio, "o", color=pen.colour, ms=4)  # one point alone is no line
        if one.pays_from is not None:
            panel.plot([one.pays_from], [PAYS], color=pen.colour, marker="v", ms=9, clip_on=False)
    style.log_time(panel, [point.samples for point in forecasts[0].curve])
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set_ylim(top=max(panel.get_ylim()[1], sqrt(2)))
    panel.set_xlabel("Samples of each agent")
    panel.set_ylabel("Expected MSE / Local")
    style.grid(panel)
    handles = [pens[one.algorithm].handle(one.algorithm) for one in forecasts]
    style.legend(figure, [LOCAL.handle(), *handles])
    question = forecasts[0].question
    style.head(
        figure,
        "Expected squared error as a multiple of staying alone (▼: it pays from here on)",
        f"{question.agents:,} agents, {style.neighbours(question.degree)},"
        f" {style.epsilon_is(question.epsilon)}",
    )
    return figure
