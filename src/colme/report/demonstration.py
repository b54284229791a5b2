"""The demonstration as a picture: everybody's answers, and errors over time."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from colme.sim.demonstration import Demonstration

_ALONE, _TOGETHER, _IDEAL = "#888888", "#0072B2", "#009E73"


def demonstration(result: Demonstration, *, epsilon: float) -> Figure:
    """Everybody's error at the end on the left, over time on the right, root mean squared."""
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    answers, errors = figure.subplots(1, 2)
    _draw_answers(answers, result)
    _draw_errors(errors, result)
    figure.suptitle(
        f"{result.truth.size} agents, three true means, epsilon = {epsilon:g} for each sample"
        " (event level, replace-one)"
    )
    return figure


def _draw_answers(panel: Axes, result: Demonstration) -> None:
    alone, together = result.local[-1] - result.truth, result.together[-1] - result.truth
    places = range(len(alone))
    panel.axhline(0, color="black", lw=0.8, ls=":")
    panel.vlines(places, alone, together, color=_ALONE, lw=0.7)
    panel.plot(places, alone, "x", color=_ALONE, ms=6, label="alone (Local)")
    panel.plot(places, together, "o", color=_TOGETHER, ms=4.5, label="together (relay)")
    panel.set_title(f"How far off each is after {int(result.rounds[-1]):,} samples")
    panel.set_xlabel("agent")
    panel.set_ylabel("answer - true mean")
    panel.legend()


def _draw_errors(panel: Axes, result: Demonstration) -> None:
    for values, colour, line, label in (
        (result.local, _ALONE, "--", "Local: everybody alone"),
        (result.together, _TOGETHER, "-", "together (relay)"),
        (result.ideal, _IDEAL, ":", "Ideal: all raw data of a class"),
    ):
        panel.plot(result.rounds, result.errors(values), color=colour, ls=line, lw=2, label=label)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_title("How far off they are, root mean squared")
    panel.set_xlabel("samples of each")
    panel.legend()
    panel.grid(True, which="both", alpha=0.3, ls=":")
