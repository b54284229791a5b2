"""The style that all figures share: Local, Ideal, lines and colours, bands, epsilons, titles."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan
from textwrap import fill
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike

from colme.experiment.statistics import factor_band, student_factor
from colme.rules.release import level

FEWEST_BATCHES = 8
"""Batches of a result that does not say how many: earlier versions made at least so many."""

_LETTERS = 11
"""Of a title, that an inch has room for."""

_LEGEND = 10.5
"""Points: to be read from the back of a room."""


@dataclass(frozen=True, slots=True)
class Pen:
    """How a curve looks: its colour and, for those who can't tell colours apart, its line."""

    colour: Any
    line: Any
    width: float = 1.6
    label: str = ""

    def handle(self, label: str | None = None) -> Line2D:
        """For a legend."""
        named = self.label if label is None else label
        return Line2D(
            [], [], color=self.colour, linestyle=self.line, lw=min(self.width, 2.6), label=named
        )


# Grey and green are nobody else's; both are broad, and lie below what is compared with them.
LOCAL = Pen("#5f5f5f", (0, (7, 2.5)), 2.4, "Local: everybody alone")
IDEAL = Pen("#009E73", (0, (1, 1)), 2.8, "Ideal (Proposition 3)")
CLASS_IDEAL = Pen("#7a9a01", (0, (1, 2.5)), 2.8, "Ideal of the whole class")

_KNOWN = {
    "relay": Pen("#0072B2", "-", 2.6),
    "tracking": Pen("#D55E00", (0, (4, 1.5))),
    "paper": Pen("#CC79A7", (0, (4, 1.5, 1, 1.5))),
}
_OTHERS = (
    *("#E69F00", "#56B4E9", "#882255", "#332288", "#543005", "#000000", "#a65628", "#e7298a"),
    *("#b19cff", "#d73027", "#6a51a3", "#80b1d3", "#b8860b"),
)


def pens(algorithms: Sequence[str]) -> dict[str, Pen]:
    """One for each algorithm, no two alike; those that are known first, in their order."""
    ordered = sorted(algorithms, key=lambda name: [*_KNOWN, *algorithms].index(name))
    unknown = [name for name in ordered if name not in _KNOWN]
    # The first lines are much like those of the known.
    later = list(lines([*map(str, range(6)), *unknown]).values())[6:]
    others = {
        name: Pen(_OTHERS[number % len(_OTHERS)], line)
        for number, (name, line) in enumerate(zip(unknown, later, strict=True))
    }
    return {name: _KNOWN[name] if name in _KNOWN else others[name] for name in ordered}


_PAPER_COLOURS = {1.0: "black", 2.0: "blue", 4.0: "red", inf: "orange"}


def colours(epsilons: Sequence[float]) -> list[Any]:
    """Return a colour for each epsilon: the paper's own if all are of Figure 1.

    Else from strict privacy, dark, to none, light; grey and green are not among them.
    """
    if all(epsilon in _PAPER_COLOURS for epsilon in epsilons):
        return [_PAPER_COLOURS[epsilon] for epsilon in epsilons]
    places = np.linspace(0, 0.85, max(len(epsilons), 2))
    return [colormaps["plasma"](place) for place in places[: len(epsilons)]]


def draw(
    panel: Axes, x: ArrayLike, y: ArrayLike, pen: Pen, margin: ArrayLike | None = None
) -> None:
    """Draw a curve and, if half the width of its 95% interval is known, a band.

    The axis must have its scale already: on a log axis, where no value is below 0, the band is a
    factor to both sides.
    """
    values = np.asarray(y, dtype=np.float64)
    panel.plot(x, values, color=pen.colour, linestyle=pen.line, lw=pen.width)
    if margin is None:
        return
    half = np.nan_to_num(np.asarray(margin, dtype=np.float64))
    low, high = values - half, values + half
    if panel.get_yscale() == "log":
        low, high = factor_band(values, half)
    panel.fill_between(x, low, high, color=pen.colour, alpha=0.18, lw=0)


def margin_of(data: xr.Dataset, quantity: str) -> xr.DataArray | None:
    """Return half the width of a quantity's 95% interval; None if its error is not known.

    Intervals are Student's, over as many batches as the result has.
    """
    error = data.get(f"{quantity}_se")
    if error is None:
        return None
    batches = int(data.attrs.get("batches", FEWEST_BATCHES))
    return error * float(student_factor(min(batches, int(data.attrs.get("runs", batches)))))


def level_line(panel: Axes, pen: Pen) -> None:
    """At 1, over all samples: a multiple of oneself."""
    panel.axhline(1, color=pen.colour, linestyle=pen.line, lw=pen.width)


def grid(panel: Axes) -> None:
    """In the background."""
    panel.grid(True, color="gray", alpha=0.3, lw=0.6, linestyle=":")


def log_time(panel: Axes, x: ArrayLike) -> None:
    """The start matters as much as the end: 1, 10, 100, and not powers of ten."""
    ends = np.asarray(x, dtype=np.float64)
    panel.set_xscale("log")
    if ends[0] < ends[-1]:
        panel.set_xlim(ends[0], ends[-1])
    if ends[-1] < 300 * ends[0]:  # else there might be one number on the axis, or none
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    panel.xaxis.set_minor_formatter(NullFormatter())


def legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    """Beside the panels, so that it covers no curve."""
    figure.legend(handles=list(handles), loc="outside right center", fontsize=_LEGEND)


def legend_below(figure: Figure, handles: Sequence[Line2D], columns: int) -> None:
    """Below the panels, where there are many side by side."""
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=_LEGEND,
    )


def head(figure: Figure, *lines: str) -> None:
    """What is shown, and of what."""
    room = int(figure.get_figwidth() * _LETTERS)
    figure.suptitle("\n".join(fill(line, room) for line in lines if line), fontsize=12.5)


def epsilon_is(epsilon: float) -> str:
    """For a legend or a title."""
    return "ε: everybody's own" if isnan(epsilon) else f"ε = {level(epsilon)}"


def neighbours(degree: float) -> str:
    """For the title of a panel."""
    return f"{degree:.3g} neighbour{'' if degree == 1 else 's'} each (r = {degree:.3g})"


def setting(dataset: xr.Dataset, *, bands: bool = True) -> str:
    """How many agents and runs, as far as it is known."""
    told = []
    if "scenario" in dataset.attrs:
        told.append(f"{json.loads(dataset.attrs['scenario'])['agents']:,} agents")
    if "runs" in dataset.attrs:
        runs = int(dataset.attrs["runs"])
        told.append(f"{runs:,} run{'' if runs == 1 else 's'}")
        told += ["bands: 95%"] if bands and runs > 1 else []
    return ", ".join(told)


_PAPER_LINES = {"oracle": "-", "bernstein": ":", "optimistic": "-."}
_FIRST_LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))


def lines(names: Sequence[str]) -> dict[str, Any]:
    """Return a line style for each name, no two alike; the paper's own if all are of Figure 1."""
    if all(name in _PAPER_LINES for name in names):
        return {name: _PAPER_LINES[name] for name in names}
    return {name: _line(number) for number, name in enumerate(names)}


def _line(number: int) -> Any:
    if number < len(_FIRST_LINES):
        return _FIRST_LINES[number]
    # A long dash, and after it as many dots as tell it from those before.
    dots = number - len(_FIRST_LINES) + 3
    return 0, (6.0, 1.5, *(1.0, 1.5) * dots)
