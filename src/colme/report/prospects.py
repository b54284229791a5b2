"""What to expect before joining, as a figure: error as a multiple of staying alone over samples."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from colme.planner import PAYS, Forecast
from colme.report.lines import styles

_BAND = 1.96  # standard errors on each side of a curve: 95%


def over_samples(forecasts: Sequence[Forecast]) -> Figure:
    """A curve for each algorithm, but where it is worse than alone by an unknown factor."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    panel = figure.subplots()
    drawn = styles([one.algorithm for one in forecasts])
    for number, one in enumerate(forecasts):
        samples = [point.samples for point in one.curve]
        ratio = np.array([point.ratio for point in one.curve])
        margin = _BAND * np.nan_to_num([point.standard_error for point in one.curve])
        colour = f"C{number}"
        panel.plot(
            samples,
            ratio,
            color=colour,
            linestyle=drawn[one.algorithm],
            marker="o",
            markersize=3,
            label=one.algorithm,
        )
        low = np.maximum(ratio - margin, ratio / 3)  # a log axis has no room for less
        panel.fill_between(samples, low, ratio + margin, color=colour, alpha=0.15, lw=0)
        if one.pays_from is not None:
            panel.plot([one.pays_from], [PAYS], color=colour, marker="v", markersize=8)
    panel.axhline(1, color="darkgreen", linestyle="--", lw=1.2, label="alone")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set_xlabel("samples of each agent")
    panel.set_ylabel("expected error / alone")
    question = forecasts[0].question
    panel.set_title(
        f"{question.agents:,} agents, {question.degree} neighbours each,"
        rf" $\epsilon$ = {question.epsilon:g}",
        fontsize="medium",
    )
    panel.grid(True, color="gray", alpha=0.3, linestyle=":")
    panel.legend(fontsize="small")
    return figure
