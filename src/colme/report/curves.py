"""Errors over time: Figure 1 of the paper, a panel for each degree; demonstration; forecast."""

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from colme.experiment.statistics import student_factor
from colme.report import style
from colme.report.drawing import Drawing, draw
from colme.report.style import CLASS_IDEAL, LOCAL

if TYPE_CHECKING:  # What agents in memory need is not what a figure needs.
    from colme.plan.forecast import Forecast
    from colme.sim.demonstration import Demonstration

FORMATS = ("png", "svg", "pdf")


def mse_over_time(dataset: xr.Dataset) -> Figure:
    """Draw Figure 1: the MSE over linear time, cut off where the paper's is."""
    figure = draw(dataset, Drawing(x="linear"))
    figure.axes[0].set_ylim(_floor(dataset), _ceiling(dataset))  # all panels share it
    return figure


def _floor(data: xr.Dataset) -> float:
    # Where the truth drifts there is no Ideal: NaN.
    lowest = np.nanmin([float(data.mse_ideal.min()), float(data.mse.min())])
    return 10 ** float(np.floor(np.log10(lowest)))


def _ceiling(data: xr.Dataset) -> float:
    """As in the paper: the first instants, a thousand times as large as the end, are cut off."""
    settled = data.isel(t=data.t.values >= 0.002 * data.t.values[-1])
    return 10 ** float(np.ceil(np.log10(max(settled.mse_local.max(), data.mse.isel(t=-1).max()))))


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
