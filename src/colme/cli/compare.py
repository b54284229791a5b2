"""`colme compare`: relay, tracking and Private-C-ColME beside the systems that came before."""

from typing import Annotated

import typer
import xarray as xr
from rich.table import Table

from colme.cli import running
from colme.cli.folder import Folder, Force
from colme.cli.running import Out, Seed, Threads
from colme.cli.tables import show
from colme.cli.workers import Cluster
from colme.report import curves
from colme.report.comparison import distinct_levels, label_of, systems_over_time
from colme.sim.figures import comparison
from colme.sim.figures.traffic import over_all_rounds

_COLUMNS = ("system", "MSE", "MSE / Local", "within tolerance", "messages", "bytes", "memory")


def compare(
    out: Out,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs: about a minute.")] = False,
    seed: Seed = 1,
    threads: Threads = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Compare relay, tracking and the paper's with ColME, C-ColME, B-ColME, Private-ColME.

    Two settings: this paper's (200 agents, three classes) and Galante's (10,000 agents, no
    privacy), with Local and Ideal. Messages, bytes and memory (numbers kept) are per agent, the
    first two per round, averaged; relay's bytes are with framing and signatures, the others'
    without.
    """
    settings = comparison.settings(quick=quick, seed=seed)
    files = [f"{name}.nc" for name in settings]
    asked = {"command": "compare", "quick": quick, "seed": seed}
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
                    f"{float(over_all_rounds(all_rounds.messages)):.1f}",
                    f"{float(over_all_rounds(all_rounds.payload)):.0f}",
                    f"{float(cell.memory):.0f}",
                ]
            )
    return rows


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
