"""The figures of a study: error over samples, and who gained and lost."""

from collections.abc import Sequence
from io import StringIO

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from colme.report import style
from colme.report.style import LOCAL, Pen
from colme.studies.findings import Curve

HIGHEST = 2.0
"""Error ratio at which the picture ends. The label of a curve says how far it goes beyond."""

_COLOURS = ("#0072B2", "#D55E00", "#882255", "#E69F00", "#332288", "#56B4E9", "#a65628", "#000000")


def error_over_samples(curves: Sequence[Curve]) -> Figure:
    """Draw the error ratio over samples: below 1 is a gain. Bands are 95%."""
    figure = Figure(figsize=(9.4, 4.9), layout="constrained")
    panel = figure.subplots()
    shown = [curve for curve in curves if curve.algorithm != "local"] or list(curves)
    lines = style.lines(list(dict.fromkeys(curve.algorithm for curve in shown)))
    epsilons = list(dict.fromkeys(curve.epsilon for curve in shown))
    style.level_line(panel, LOCAL)
    handles = [LOCAL.handle()]
    for curve in shown:
        colour = _COLOURS[epsilons.index(curve.epsilon) % len(_COLOURS)]
        most = max(curve.mse_over_local)
        name = _named(curve)
        if most > HIGHEST:
            name += f" (up to {most:.3g})"
        pen = Pen(colour, lines[curve.algorithm], 1.8, name)
        style.draw(panel, curve.samples, curve.mse_over_local, pen, curve.standard_error)
        handles.append(pen.handle())
    highest = max(max(curve.mse_over_local) for curve in shown)
    panel.set_ylim(0, min(max(1.2, 1.05 * highest), HIGHEST))
    panel.set_ylabel("Squared error / alone")
    _over_samples(panel, shown[0])
    style.legend(figure, handles)
    style.head(figure, "Error ratio: squared error together / alone (bands: 95%)")
    return figure


def gained_and_lost(curves: Sequence[Curve], sites: int) -> Figure:
    """Draw how many sites clearly gained, upwards, and clearly lost, downwards."""
    figure = Figure(figsize=(9.4, 1.7 + 1.7 * len(curves)), layout="constrained")
    panels = figure.subplots(len(curves), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    for panel, curve in zip(panels, curves, strict=True):
        panel.fill_between(curve.samples, 0, curve.gained, color="tab:green", alpha=0.6, lw=0)
        lost = [-count for count in curve.lost]
        panel.fill_between(curve.samples, 0, lost, color="tab:red", alpha=0.6, lw=0)
        panel.axhline(0, color="black", lw=0.8)
        panel.set_ylim(-sites, sites)
        panel.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{abs(y):g}"))
        panel.set_title(_named(curve), fontsize="medium", loc="left")
        panel.set_ylabel("Lost | Gained")
        style.grid(panel)
    _over_samples(panels[-1], curves[0])
    style.head(figure, f"Sites that clearly gained and clearly lost, of {sites}")
    return figure


def _named(curve: Curve) -> str:
    return f"{curve.algorithm}, {style.epsilon_is(curve.epsilon)}"


def _over_samples(panel: Axes, curve: Curve) -> None:
    style.log_time(panel, curve.samples)
    panel.set_xlabel("Samples per site")
    style.grid(panel)


def as_svg(figure: Figure) -> str:
    """Return the figure for use inside a page: the same figure is the same text."""
    text = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "colme"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
