"""The figures of a study: error over samples, and who gained and lost."""

from collections.abc import Sequence
from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from colme.studies.findings import Curve
from colme.studies.words import label

BAND = 1.96
"""Standard errors on each side: 95%."""

HIGHEST = 2.0
"""Times the error alone, at which the picture ends; how far a curve goes beyond, its label says."""

_COLOURS = ("tab:blue", "tab:orange", "tab:purple", "tab:cyan", "tab:brown", "tab:pink")

_STYLES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))


def error_over_samples(curves: Sequence[Curve]) -> Figure:
    """Below 1 it pays to learn together. Bands are 95%."""
    figure = Figure(figsize=(8.2, 4.4), layout="constrained")
    panel = figure.subplots()
    shown = [curve for curve in curves if curve.algorithm != "local"] or list(curves)
    algorithms = list(dict.fromkeys(curve.algorithm for curve in shown))
    epsilons = list(dict.fromkeys(curve.epsilon for curve in shown))
    panel.axhline(1, color="darkgreen", lw=2, alpha=0.6, label="alone")
    for curve in shown:
        colour = _COLOURS[epsilons.index(curve.epsilon) % len(_COLOURS)]
        style = _STYLES[algorithms.index(curve.algorithm) % len(_STYLES)]
        error = [BAND * (one if one == one else 0.0) for one in curve.standard_error]
        both = list(zip(curve.mse_over_local, error, strict=True))
        low, high = [max(m - e, m / 100) for m, e in both], [m + e for m, e in both]
        most, name = max(curve.mse_over_local), label(curve)
        if most > HIGHEST:
            name += f" (up to {most:.3g})"
        panel.plot(curve.samples, curve.mse_over_local, linestyle=style, color=colour, label=name)
        panel.fill_between(curve.samples, low, high, color=colour, alpha=0.15, lw=0)
    highest = max(max(curve.mse_over_local) for curve in shown)
    panel.set_ylim(0, min(max(1.2, 1.05 * highest), HIGHEST))
    panel.set_ylabel("squared error / alone")
    _over_samples(panel)
    figure.legend(loc="outside right center", fontsize="small")
    return figure


def gained_and_lost(curves: Sequence[Curve], sites: int) -> Figure:
    """Of so many sites, those that are clearly better off, upwards, and clearly worse off."""
    figure = Figure(figsize=(8.2, 1.2 + 1.7 * len(curves)), layout="constrained")
    panels = figure.subplots(len(curves), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    for panel, curve in zip(panels, curves, strict=True):
        panel.fill_between(curve.samples, 0, curve.gained, color="tab:green", alpha=0.6, lw=0)
        lost = [-count for count in curve.lost]
        panel.fill_between(curve.samples, 0, lost, color="tab:red", alpha=0.6, lw=0)
        panel.axhline(0, color="black", lw=0.8)
        panel.set_ylim(-sites, sites)
        panel.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{abs(y):g}"))
        panel.set_title(label(curve), fontsize="small", loc="left")
        panel.set_ylabel("lost | gained", fontsize="small")
        panel.grid(True, color="gray", alpha=0.3, linestyle=":")
    _over_samples(panels[-1])
    return figure


def _over_samples(panel: Axes) -> None:
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("samples a site")
    panel.grid(True, color="gray", alpha=0.3, linestyle=":")


def as_svg(figure: Figure) -> str:
    """To stand inside a page: the same figure is the same text."""
    text = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "colme"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
