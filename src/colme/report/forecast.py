"""What to expect before joining, as a figure: error as a multiple of staying alone over samples."""

from collections.abc import Sequence
from math import sqrt

from matplotlib.figure import Figure

from colme.experiment.statistics import student_factor
from colme.plan.forecast import BOARDS, PAYS, Forecast
from colme.report import style
from colme.report.style import LOCAL


def over_samples(forecasts: Sequence[Forecast]) -> Figure:
    """A curve for each algorithm, but where it is worse than alone by an unknown factor."""
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
