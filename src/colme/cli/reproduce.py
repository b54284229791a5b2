"""`colme reproduce`: the paper's figure and its claims, and the comparison with earlier systems."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
import xarray as xr
from rich.console import Console
from rich.table import Table

from colme.cli import running
from colme.cli.folder import Folder, Force
from colme.cli.running import Out, Seed, Threads
from colme.cli.tables import show
from colme.cli.workers import Cluster
from colme.report import curves
from colme.report.comparison import distinct_levels, label_of, systems_over_time
from colme.sim.figures import PAPER
from colme.sim.figures import comparison as systems
from colme.sim.figures import figure1 as paper

_COLUMNS = ("system", "MSE", "MSE / Local", "within tolerance", "messages", "bytes", "memory")

CLAIMS = "claims.txt"
"""All of them, one a line."""

reproduce = typer.Typer(
    help="Reproduce the paper's figure and its claims, or the comparison with earlier systems."
)


@reproduce.callback()
def _group() -> None:
    pass


@reproduce.command()
def figure1(
    out: Out,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{paper.QUICK_RUNS} runs: under 90 seconds.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option(help=f"Runs.  The paper's {PAPER.runs} if not given.", min=2)
    ] = None,
    seed: Seed = 1,
    threads: Threads = None,
    cluster: Cluster = None,
    force: Force = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="All claims, not only those that fail.")
    ] = False,
) -> None:
    """Figure 1: three decision rules at four privacy levels on two graphs, 30,000 rounds.

    The same command resumes after an interruption.
    """
    runs = runs or (paper.QUICK_RUNS if quick else PAPER.runs)
    running.require_one(threads, cluster)
    folder = _claimed("figure1", out, runs, seed, force, also=["theorem1.nc"])
    figure = running.run(
        paper.study(runs, seed),
        out=out,
        threads=threads,
        cluster=cluster,
        label="figure 1",
        name="figure1",
    )
    theorem = running.run(
        paper.theorem_study(runs, seed),
        out=out,
        threads=threads,
        cluster=cluster,
        label="theorem 1",
        name="theorem1",
    )
    paths = curves.save(curves.mse_over_time(figure), out, "figure1")
    console = Console(soft_wrap=True, highlight=False)
    claims = list(paper.claims(figure, theorem))
    holding = sum(claim.holds for claim in claims)
    console.print(
        f"{holding} of {len(claims)} claims of Sec. V hold, measured over {runs} runs"
        f" (r: neighbours of each; oracle: classes are known; Local: alone; Ideal: all raw data of"
        f" a class shared along its paths)."
    )
    for claim in claims:
        if verbose or not claim.holds:
            colour = "green" if claim.holds else "bold red"
            console.print(f"[{colour}]{claim.verdict}[/{colour}]  {claim.told}")
    written = out / CLAIMS
    written.write_text("".join(f"{one.verdict}  {one.told}\n" for one in claims))
    paths.append(written)
    folder.finish([out / "figure1.nc", out / "theorem1.nc", *paths])
    console.print(folder.said, *map(str, paths), markup=False)


@reproduce.command()
def comparison(
    out: Out,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs: about a minute.")] = False,
    seed: Seed = 1,
    threads: Threads = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Compare relay and the paper's with ColME, C-ColME, B-ColME, Private-ColME.

    Two settings: this paper's (200 agents, three classes) and Galante's (10,000 agents, no
    privacy), with Local and Ideal. Messages, bytes and memory (numbers kept) are per agent, the
    first two per round, averaged; relay's bytes are with framing and signatures, the others'
    without.
    """
    settings = systems.settings(quick=quick, seed=seed)
    files = [f"{name}.nc" for name in settings]
    asked = {"command": "reproduce comparison", "quick": quick, "seed": seed}
    running.require_one(threads, cluster)
    folder = Folder.claim(out, asked, results=files, force=force)
    results = {
        name: running.run(
            scenario, out=out, threads=threads, cluster=cluster, label=name, name=name
        )
        for name, scenario in settings.items()
    }
    paths = curves.save(systems_over_time(results), out, "comparison")
    console = running.wide_console()
    lines = []
    for name, dataset in results.items():
        rows = _rows(dataset)
        table = Table(title=f"{name}: after {int(dataset.t[-1]):,} rounds")
        for heading in _COLUMNS:
            table.add_column(heading, justify="left" if heading == "system" else "right")
        for row in rows:
            table.add_row(*row)
        show(console, table)
        lines += [f"## {name}", "", _line(_COLUMNS), _line(["---"] * len(_COLUMNS))]
        lines += [*map(_line, rows), ""]
    written = out / "comparison.md"
    written.write_text("\n".join(lines))
    folder.finish([*(out / name for name in files), *paths, written])
    console.print(folder.said, *map(str, [*paths, written]), soft_wrap=True, markup=False)


def _claimed(
    name: str,
    out: Path,
    runs: int,
    seed: int,
    force: bool,
    *,
    also: Sequence[str] = (),
    rounds: int | None = None,
) -> Folder:
    asked = {"command": f"reproduce {name}", "runs": runs, "seed": seed, "rounds": rounds}
    return Folder.claim(out, asked, results=[f"{name}.nc", *also], force=force)


def _rows(dataset: xr.Dataset) -> list[list[str]]:
    end = dataset.isel(t=-1, degree=0)
    rows = []
    for algorithm in map(str, end.algorithm.values):
        for epsilon in distinct_levels(dataset.isel(degree=0), algorithm):
            all_rounds = dataset.isel(degree=0).sel(algorithm=algorithm, epsilon=epsilon)
            cell = all_rounds.isel(t=-1)
            rows.append(
                [
                    label_of(algorithm, epsilon, dataset.isel(degree=0)),
                    f"{float(cell.mse):.3g}",
                    f"{float(cell.mse / cell.mse_alone):.3g}",
                    f"{float(cell.within_tolerance):.3f}",
                    f"{float(systems.over_all_rounds(all_rounds.messages)):.1f}",
                    f"{float(systems.over_all_rounds(all_rounds.payload)):.0f}",
                    f"{float(cell.memory):.0f}",
                ]
            )
    return rows


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
