"""`colme reproduce harm`: what relay is worth and what it may cost, cell by cell, against bars."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
import xarray as xr
from rich.table import Table
from rich.text import Text

from colme.cli import running
from colme.cli.folder import Folder, Force
from colme.cli.running import Out, Seed, ThreadsIfAsked
from colme.cli.tables import show
from colme.cli.workers import Cluster, Workers, processes
from colme.errors import ConfigError
from colme.report.verdicts import worst_and_least
from colme.sim.figures import harm as cells
from colme.sim.figures.verdict import Verdict
from colme.sim.scenario import Scenario
from colme.sim.study import Checkpoint, work

MARKDOWN, DATA, PICTURE = "harm.md", "harm.json", "harm.png"
"""The files."""

_COLUMNS = ("cell", "what", "measured", "bar", "goal", "verdict")


def harm(
    context: typer.Context,
    out: Out,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"A few cells, {cells.QUICK_RUNS} runs each.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Cells that have this in their name.", metavar="WORD")
    ] = None,
    seed: Seed = 1,
    threads: ThreadsIfAsked = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Hold relay against its bars: gains, harm, coverage, liars, graphs and traffic.

    A cell passes at its estimate plus two standard errors. The same command goes on after an
    interruption; finished cells are kept and not computed again.
    """
    chosen = [row for row in cells.rows(seed=seed, quick=quick) if (only or "") in row.name]
    if not chosen:
        names = ", ".join(row.name for row in cells.rows(seed=seed, quick=quick))
        raise ConfigError("--only", only, f"a part of one of these: {names}")
    asked = {"command": "reproduce harm", "quick": quick, "only": only, "seed": seed}
    running.require_one(threads, cluster)
    folder = Folder.claim(out, asked, results=[MARKDOWN, DATA, PICTURE], force=force)
    if threads is None and cluster is None:
        cluster = processes(context, sum(work(row.scenario) for row in chosen))
    console = running.wide_console()
    lines: list[Verdict] = []
    for number, row in enumerate(chosen, start=1):
        label = f"{number}/{len(chosen)} {row.name}"
        study = partial(_studied, out=out, threads=threads, cluster=cluster, label=label)
        data = study(row.scenario)
        beside = None if row.beside is None else study(row.beside)
        lines += [Verdict.of(row.name, one, one.read(data, beside)) for one in row.readings]
        if not console.is_terminal:
            console.print(label, "done", soft_wrap=True, highlight=False)
    show(console, _table(lines))
    paths = _write(lines, out)
    folder.finish(paths)
    passed = sum(line.meets_bar for line in lines)
    saved = [folder.said, *map(str, paths)]
    console.print(f"{passed} of {len(lines)} pass. ", *saved, soft_wrap=True, markup=False)


def _studied(
    scenario: Scenario, *, out: Path, threads: int | None, cluster: Workers | None, label: str
) -> xr.Dataset:
    """Of one degree and epsilon, batch by batch."""
    # Under a name that no other study has: whatever was asked before, a cell serves again.
    name = Checkpoint.identity(scenario)
    dataset = running.run(
        scenario,
        out=out / "cells",
        threads=threads,
        cluster=cluster,
        label=label,
        name=name,
        by_batch=True,
    )
    return dataset.isel(degree=0, epsilon=0)


def _texts(one: Verdict) -> list[str]:
    """For a row of a table."""
    measured = f"{one.value:.3g} ± {one.error:.2g}"
    if one.where:
        measured += f" ({one.where})"
    return [one.cell, one.what, measured, f"{one.bar:g}", f"{one.goal:g}", one.word]


def _table(lines: Sequence[Verdict]) -> Table:
    table = Table(*_COLUMNS, title="Estimates with standard errors; two of them decide")
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
