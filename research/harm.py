"""What relay is worth and what it may cost, cell by cell, held against bars and goals."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.table import Table
from rich.text import Text

from colme.cli.printing import plain_console, show
from colme.cli.reproduce import Out
from colme.cli.running import Cluster, Force, Seed, Threads, Workers, run_shown
from colme.errors import ConfigError
from colme.experiment.run import require_writable
from colme.report import style
from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation
from research import cells
from research.readings import Verdict

MARKDOWN, DATA, PICTURE = "harm.md", "harm.json", "harm.png"
"""The files."""

WORST, LEAST = "worst MSE / Local", "least coverage"
"""How what is drawn begins in words; all else is for the table."""

_COLOURS = {"fails": "#D55E00", "passes": "#0072B2", "goal": "#009E73"}
_INCHES = 0.21
"""Height of a row."""

_COLUMNS = ("cell", "what", "measured", "bar", "goal", "verdict")


def harm(
    out: Out,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"A few cells, {cells.QUICK_RUNS} runs each.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Cells that have this in their name.", metavar="WORD")
    ] = None,
    seed: Seed = 1,
    threads: Threads = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Hold relay against its bars: gains, harm, coverage, liars, graphs and traffic.

    A cell passes if its 95% interval does. The same command goes on after an interruption, and a
    cell that was finished for another choice of cells is not computed again.
    """
    chosen = [row for row in cells.rows(seed=seed, quick=quick) if (only or "") in row.name]
    if not chosen:
        names = ", ".join(row.name for row in cells.rows(seed=seed, quick=quick))
        raise ConfigError("--only", only, f"a part of one of these: {names}")
    require_writable(out)
    console = plain_console()
    lines: list[Verdict] = []
    for number, row in enumerate(chosen, start=1):
        label = f"{number}/{len(chosen)} {row.name}"

        def simulated(scenario: Scenario, label: str = label) -> xr.Dataset:
            experiment = Simulation(scenario, by_batch=True)
            # Each cell has a folder of its own, named by its contents: it serves again.
            outcome = run_shown(
                experiment,
                label,
                out=out / "cells" / digest(experiment),
                force=force,
                threads=threads,
                workers=workers,
                cluster=cluster,
            )
            found: xr.Dataset = outcome.result.isel(degree=0, epsilon=0)
            return found

        data = simulated(row.scenario)
        beside = None if row.beside is None else simulated(row.beside)
        lines += [Verdict.of(row.name, one, one.read(data, beside)) for one in row.readings]
        if not console.is_terminal:
            console.print(label, "done", soft_wrap=True, highlight=False)
    show(console, _table(lines))
    paths = _write(lines, out)
    passed = sum(line.meets_bar for line in lines)
    typer.echo(f"{passed} of {len(lines)} pass. Saved {' '.join(map(str, paths))}")


def digest(experiment: Simulation) -> str:
    """Return a name that no other experiment has."""
    everything = json.dumps(experiment.identity(), sort_keys=True).encode()
    return hashlib.sha256(everything).hexdigest()[:16]


def _texts(one: Verdict) -> list[str]:
    """For a row of a table."""
    measured = f"{one.value:.3g} ± {one.error:.2g}"
    if one.where:
        measured += f" ({one.where})"
    return [one.cell, one.what, measured, f"{one.bar:g}", f"{one.goal:g}", one.word]


def _table(lines: Sequence[Verdict]) -> Table:
    table = Table(*_COLUMNS, title="Estimates with standard errors; 95% intervals decide")
    colours = {"fails": "bold red", "passes": "green", "goal": "bold green"}
    before = ""
    for line in lines:
        cell, *texts, verdict = _texts(line)
        colour = colours[line.word]
        table.add_row("" if cell == before else cell, *texts, Text(verdict, colour))
        before = cell
    return table


def _write(lines: Sequence[Verdict], out: Path) -> list[Path]:
    """As Markdown and a picture for people and JSON for programs."""
    rows = [list(_COLUMNS), ["---"] * len(_COLUMNS), *map(_texts, lines)]
    markdown, data, picture = out / MARKDOWN, out / DATA, out / PICTURE
    markdown.write_text("".join(f"| {' | '.join(row)} |\n" for row in rows))
    data.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")
    figure = worst_and_least(lines)
    if figure is None:
        return [markdown, data]
    figure.savefig(picture, dpi=120)
    return [markdown, data, picture]


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
        style.grid(panel)
    worst.set_xscale("log")
    worst.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
    worst.minorticks_off()
    worst.axvline(1, color=style.LOCAL.colour, linestyle=style.LOCAL.line, lw=1.2)
    worst.set_xlabel("Worst MSE / Local in any recorded round")
    least.set_xlabel("Least coverage of 95% intervals")
    worst.set_yticks(range(len(cells)), cells)
    worst.set_ylim(len(cells) - 0.5, -0.5)
    figure.legend(handles=_legend(), loc="outside lower center", ncols=5, fontsize=9)
    style.head(figure, "Where relay might do harm: estimates, 95% intervals, and bars", "")
    return figure


def _draw(panel: Axes, row: int, one: Verdict) -> None:
    colour = _COLOURS[one.word]
    panel.errorbar(one.value, row, xerr=one.margin, fmt="o", color=colour, ms=4.5, capsize=2)
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
