"""Figure 3, which the paper does not have: relay beside the paper's own.

A panel for each degree and epsilon, a page for each of gain, error and traffic.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.table import Table

from colme.cli.printing import plain_console, print_files, show
from colme.cli.reproduce import Out, Quick
from colme.cli.running import (
    Cluster,
    Force,
    Seed,
    Threads,
    Workers,
    run_shown,
)
from colme.report import curves, style
from colme.report.style import CLASS_IDEAL, IDEAL, LOCAL, Pen
from colme.rules.release import level
from colme.sim.figures import PAPER
from colme.sim.figures.comparison import over_all_rounds
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulations
from research.readings import bytes_per_edge

RUNS = 128
LOG_SPACED = 40
MARKS = (30, 100, 300, 1_000)
"""Rounds that are recorded besides those that are evenly spaced on a log scale, to be told."""

MEASURED = 4
"""Agents of each run that are asked, with all who hold the same boards: late, nearly everybody."""

QUICK_RUNS, QUICK_ROUNDS = 32, 4_000

ALGORITHMS = [
    {"algorithm": "paper"},
    {"algorithm": "relay", "measured": MEASURED},
]


def figure3(
    out: Out,
    quick: Quick = False,
    runs: Annotated[
        int | None, typer.Option(help="Number of runs.", min=2, show_default=str(RUNS))
    ] = None,
    seed: Seed = 1,
    threads: Threads = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Figure 3, beyond the paper: relay compared with the paper's own algorithm.

    Same setting, same privacy, same graphs: error as a multiple of Local (figure3), error itself
    (figure3-error) and bytes per edge and round (figure3-traffic). Answers of relay are fastest
    with `--workers`, one process for each core.
    """
    scenario = study(runs or (QUICK_RUNS if quick else RUNS), seed, quick=quick)
    outcome = run_shown(
        simulations({"figure3": scenario}, _draw_pages),
        "figure 3",
        out=out,
        force=force,
        threads=threads,
        workers=workers,
        cluster=cluster,
    )
    show(plain_console(), _gains(outcome.result["figure3"]))
    print_files(outcome)


def _draw_pages(found: dict[str, xr.Dataset], out: Path) -> list[Path]:
    paths = []
    for name in PAGES:
        file = "figure3" if name == "gain" else f"figure3-{name}"
        paths += curves.save(page(found["figure3"], name), out, file)
    return paths


def study(runs: int = RUNS, seed: int = 1, *, quick: bool = False) -> Scenario:
    """The paper's setting, from strict privacy to none."""
    rounds = QUICK_ROUNDS if quick else PAPER.rounds
    return PAPER.changed(
        epsilon=[0.5, 1.0, 4.0, inf],
        rounds=rounds,
        runs=runs,
        seed=seed,
        recorded=_recorded(rounds),
        eventful=False,
        algorithms=ALGORITHMS,
    )


def _recorded(rounds: int) -> list[int]:
    """Few enough: an answer of relay costs a fit."""
    spaced = np.rint(np.geomspace(1, rounds, LOG_SPACED)).astype(np.int64)
    return sorted({*spaced.tolist(), *MARKS})


def _gains(dataset: xr.Dataset) -> Table:
    """MSE / Local at some rounds, how near to Ideal the end is, and what was sent for it."""
    rounds = [t for t in MARKS if t in dataset.t] + [int(dataset.t[-1])]
    table = Table(title=f"MSE / Local, {dataset.attrs['runs']} runs")
    headings = [f"t = {t:,}" for t in rounds]
    for heading in ("r", "epsilon", "algorithm", *headings, "MSE / class's Ideal", "bytes"):
        table.add_column(heading, justify="left" if heading == "algorithm" else "right")
    for degree in dataset.degree.values:
        for epsilon in dataset.epsilon.values:
            for algorithm in dataset.algorithm.values:
                cell = dataset.sel(algorithm=algorithm, epsilon=epsilon, degree=degree)
                end = cell.isel(t=-1)
                table.add_row(
                    f"{degree:g}",
                    level(epsilon),
                    str(algorithm),
                    *(f"{float(cell.mse.sel(t=t) / cell.mse_alone.sel(t=t)):.3g}" for t in rounds),
                    f"{float(end.mse / end.mse_class_ideal):.3g}",
                    f"{float(over_all_rounds(bytes_per_edge(cell))):.3g}",
                )
    return table


@dataclass(frozen=True, slots=True)
class View:
    """What it shows of an algorithm (with its standard error), and of the references."""

    title: str
    axis: str
    of: Callable[[xr.Dataset], tuple[xr.DataArray, xr.DataArray | None]]
    references: Callable[[xr.Dataset], Mapping[Pen, xr.DataArray]]
    top: float | None = None
    """Where the axis ends, if curves may leave the picture."""
    powers: bool = False
    """Whether its numbers are better told as powers of ten."""


def _error(cell: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray | None]:
    return cell.mse, style.margin_of(cell, "mse")


def _gain(cell: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray | None]:
    """Against the same agents alone, where only some of them answered."""
    margin = style.margin_of(cell, "mse")
    return cell.mse / cell.mse_alone, None if margin is None else margin / cell.mse_alone


def _traffic(cell: xr.Dataset) -> tuple[xr.DataArray, None]:
    """Of both ends. What nobody sent has no place on a log axis."""
    sent = bytes_per_edge(cell)
    return sent.where(sent > 0), None


def _bounds(data: xr.Dataset) -> dict[Pen, xr.DataArray]:
    return {LOCAL: data.mse_local, IDEAL: data.mse_ideal, CLASS_IDEAL: data.mse_class_ideal}


PAGES: Mapping[str, View] = {
    "gain": View(
        "Average squared error as a multiple of staying alone",
        "MSE / Local",
        _gain,
        lambda data: {pen: curve / data.mse_local for pen, curve in _bounds(data).items()},
        top=10.0,
    ),
    "error": View(
        "Average squared error of everybody's answer",
        "Average MSE",
        _error,
        _bounds,
        powers=True,
    ),
    "traffic": View(
        "What is sent over an edge, both ways",
        "Bytes per edge and round",
        _traffic,
        lambda data: {},
    ),
}


def page(dataset: xr.Dataset, name: str) -> Figure:
    """A row for each degree, a column for each epsilon."""
    shown = PAGES[name]
    degrees, epsilons = dataset.degree.values, dataset.epsilon.values
    pens = style.pens([str(algorithm) for algorithm in dataset.algorithm.values])
    size = (3.1 * len(epsilons) + 0.6, 2.9 * len(degrees) + 1.5)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(degrees), len(epsilons), squeeze=False, sharex=True, sharey=True)
    for row, degree in zip(panels, degrees, strict=True):
        for panel, epsilon in zip(row, epsilons, strict=True):
            _draw(panel, dataset.sel(degree=degree, epsilon=epsilon), shown, pens)
            panel.set_title(f"{style.epsilon_is(epsilon)},  r = {degree:g}")
        row[0].set_ylabel(shown.axis)
    for panel in panels[-1]:
        panel.set_xlabel("Samples of each agent, t")
    references = shown.references(dataset.isel(degree=0, epsilon=0))
    handles = [pen.handle(str(name)) for name, pen in pens.items()]
    handles += [pen.handle() for pen in references]
    style.legend_below(figure, handles, columns=max(3, int(size[0] // 2)))
    told = [style.setting(dataset, bands=name != "traffic"), "r: neighbours of each agent"]
    style.head(figure, shown.title, "; ".join(filter(None, told)))
    return figure


def _draw(panel: Axes, data: xr.Dataset, shown: View, pens: Mapping[str, Pen]) -> None:
    t = data.t.values
    panel.set_yscale("log")
    for pen, curve in shown.references(data).items():
        style.draw(panel, t, curve, pen)
    # The last one drawn lies on top: the first that is named is the one to look at.
    for algorithm, pen in reversed(list(pens.items())):
        values, error = shown.of(data.sel(algorithm=algorithm))
        style.draw(panel, t, values, pen, error)
    style.log_time(panel, t)
    if shown.top is not None:
        panel.set_ylim(top=shown.top)
    if not shown.powers:
        panel.yaxis.set_major_formatter("{x:,g}")
    style.grid(panel)
    panel.spines[["top", "right"]].set_visible(False)
