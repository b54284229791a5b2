"""The demonstration as a picture: everybody's answers, and errors over time."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from colme.report import looks
from colme.report.looks import CLASS_IDEAL, LOCAL
from colme.sim.demonstration import Demonstration

_TOGETHER = looks.pens(["relay"])["relay"]


def demonstration(result: Demonstration, *, epsilon: float) -> Figure:
    """Everybody's error at the end on the left, over time on the right, root mean squared."""
    figure = Figure(figsize=(12.5, 5.0), layout="constrained")
    answers, errors = figure.subplots(1, 2)
    _draw_answers(answers, result)
    _draw_errors(errors, result)
    handles = [LOCAL.handle(), _TOGETHER.handle("Together (relay)"), CLASS_IDEAL.handle()]
    looks.legend_below(figure, handles, columns=3)
    looks.head(
        figure,
        f"{result.truth.size} agents learn their own means, of which there are three, together:"
        f" {looks.epsilon_is(epsilon)} for each sample (event level, replace-one)",
    )
    return figure


def _draw_answers(panel: Axes, result: Demonstration) -> None:
    alone, together = result.local[-1] - result.truth, result.together[-1] - result.truth
    places = range(len(alone))
    panel.axhline(0, color="black", lw=0.8, ls=":")
    panel.vlines(places, alone, together, color=LOCAL.colour, lw=0.7)
    panel.plot(places, alone, "x", color=LOCAL.colour, ms=6)
    panel.plot(places, together, "o", color=_TOGETHER.colour, ms=4.5)
    panel.set_title(f"How far off each is after {int(result.rounds[-1]):,} samples")
    panel.set_xlabel("Agent")
    panel.set_ylabel("Answer - true mean (x: alone, ●: together)")


def _draw_errors(panel: Axes, result: Demonstration) -> None:
    drawn = ((LOCAL, result.local), (CLASS_IDEAL, result.ideal), (_TOGETHER, result.together))
    for pen, values in drawn:
        looks.draw(panel, result.rounds, result.errors(values), pen)
    panel.set_yscale("log")
    looks.log_time(panel, result.rounds)
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set_title("How far off they are, root mean squared")
    panel.set_xlabel("Samples of each agent")
    panel.set_ylabel("Error")
    looks.grid(panel)
