"""Cell by cell: the worst error beside being alone, and the least coverage, with their bars."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from colme.report import looks
from colme.sim.figures.verdict import Verdict

ERRORS = 2
"""Standard errors on each side of an estimate: those that decide."""

WORST, LEAST = "worst MSE / Local", "least coverage"
"""How what is drawn begins in words; all else is for the table."""

_COLOURS = {"fails": "#D55E00", "passes": "#0072B2", "goal": "#009E73"}
_INCHES = 0.21
"""Of a row."""


def worst_and_least(verdicts: Sequence[Verdict]) -> Figure | None:
    """A row for each cell that has one of the two; None if no cell has."""
    drawn = [one for one in verdicts if one.what.startswith((WORST, LEAST))]
    if not drawn:
        return None
    cells = list(dict.fromkeys(one.cell for one in drawn))
    size = (11.5, 2.0 + _INCHES * len(cells))
    figure = Figure(figsize=size, layout="constrained")
    worst, least = figure.subplots(1, 2, sharey=True, squeeze=True)
    for panel, words in ((worst, WORST), (least, LEAST)):
        for one in drawn:
            if one.what.startswith(words):
                _draw(panel, cells.index(one.cell), one)
        looks.grid(panel)
    worst.set_xscale("log")
    worst.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
    worst.minorticks_off()
    worst.axvline(1, color=looks.LOCAL.colour, linestyle=looks.LOCAL.line, lw=1.2)
    worst.set_xlabel("Worst MSE / Local in any recorded round")
    least.set_xlabel("Least coverage of 95% intervals")
    worst.set_yticks(range(len(cells)), cells)
    worst.set_ylim(len(cells) - 0.5, -0.5)
    figure.legend(handles=_legend(), loc="outside lower center", ncols=5, fontsize=9)
    looks.head(figure, "Where relay might do harm: estimates, two standard errors, and bars", "")
    return figure


def _draw(panel: Axes, row: int, one: Verdict) -> None:
    colour = _COLOURS[one.word]
    panel.errorbar(
        one.value, row, xerr=ERRORS * one.error, fmt="o", color=colour, ms=4.5, capsize=2
    )
    panel.plot(one.bar, row, marker="|", color="black", ms=9, mew=1.8)
    panel.plot(one.goal, row, marker="|", color="gray", ms=6)


def _legend() -> list[Line2D]:
    def mark(marker: str, colour: str, label: str) -> Line2D:
        return Line2D([], [], ls="", marker=marker, color=colour, label=label, mew=1.8)

    words = {"goal": "meets its goal", "passes": "meets its bar", "fails": "beyond its bar"}
    return [
        *(mark("o", _COLOURS[word], told) for word, told in words.items()),
        mark("|", "black", "bar"),
        mark("|", "gray", "goal"),
    ]
