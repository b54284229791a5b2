"""`colme reproduce`: the paper's figure with its claims one by one, and those beyond it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
import xarray as xr
from rich.console import Console
from rich.table import Table

from colme.cli import running
from colme.cli.folder import Folder, Force
from colme.cli.harm import harm
from colme.cli.running import Out, Seed, Threads, ThreadsIfAsked
from colme.cli.study import schools, wards
from colme.cli.tables import show
from colme.cli.workers import Cluster, processes
from colme.privacy.words import level
from colme.report import curves, gain
from colme.report.harm import error_and_harm
from colme.sim.figures import PAPER
from colme.sim.figures import figure1 as paper
from colme.sim.figures import figure2 as beyond
from colme.sim.figures import figure3 as relayed
from colme.sim.figures.traffic import average_bytes
from colme.sim.study import work

CLAIMS = "claims.txt"
"""All of them, one a line."""

reproduce = typer.Typer(
    help="Reproduce a figure of the paper, one beyond it, or a study of real data."
)
reproduce.command()(harm)
reproduce.command()(schools)
reproduce.command()(wards)


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
def figure2(
    out: Out,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{beyond.QUICK_RUNS} runs: about a minute.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option(help=f"Runs.  {beyond.RUNS} if not given.", min=2)
    ] = None,
    seed: Seed = 1,
    threads: Threads = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Figure 2, beyond the paper: tracking beside the paper's own.

    Same setting, same privacy, same graphs: error over time, and as a multiple of Local.
    """
    runs = runs or (beyond.QUICK_RUNS if quick else beyond.RUNS)
    running.require_one(threads, cluster)
    folder = _claimed("figure2", out, runs, seed, force)
    dataset = running.run(
        beyond.study(runs, seed),
        out=out,
        threads=threads,
        cluster=cluster,
        label="figure 2",
        name="figure2",
    )
    paths = curves.save(error_and_harm(dataset), out, "figure2")
    console = Console(soft_wrap=True, highlight=False)
    end = dataset.isel(t=-1)
    console.print(f"After {int(end.t):,} rounds, and at the worst time, {runs} runs:")
    for degree in dataset.degree.values:
        for epsilon in dataset.epsilon.values:
            for algorithm in dataset.algorithm.values:
                cell = {"algorithm": algorithm, "epsilon": epsilon, "degree": degree}
                ideal = float(end.mse.sel(cell) / end.mse_ideal.sel(degree=degree))
                harm = dataset.mse.sel(cell) / dataset.mse_local.sel(degree=degree)
                worst = int(harm.idxmax("t"))
                console.print(
                    f"r = {degree:g}, epsilon = {level(epsilon)}, {algorithm}:"
                    f" MSE / Ideal = {ideal:.3f}, worst MSE / Local = {float(harm.max()):.3g}"
                    f" at t = {worst}"
                )
    folder.finish([out / "figure2.nc", *paths])
    console.print(folder.said, *map(str, paths), markup=False)


@reproduce.command()
def figure3(
    context: typer.Context,
    out: Out,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help=f"{relayed.QUICK_RUNS} runs of {relayed.QUICK_ROUNDS:,} rounds: about a minute.",
        ),
    ] = False,
    runs: Annotated[
        int | None, typer.Option(help=f"Runs.  {relayed.RUNS} if not given.", min=2)
    ] = None,
    seed: Seed = 1,
    threads: ThreadsIfAsked = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Figure 3, beyond the paper: relay beside tracking and the paper's own.

    Same setting, same privacy, same graphs: error as a multiple of Local (figure3), error itself
    (figure3-error) and bytes per edge and round (figure3-traffic).
    """
    runs = runs or (relayed.QUICK_RUNS if quick else relayed.RUNS)
    scenario = relayed.study(runs, seed, quick=quick)
    running.require_one(threads, cluster)
    folder = _claimed("figure3", out, runs, seed, force, rounds=scenario.rounds)
    if threads is None and cluster is None:
        cluster = processes(context, work(scenario))
    dataset = running.run(
        scenario, out=out, threads=threads, cluster=cluster, label="figure 3", name="figure3"
    )
    names = {page: "figure3" if page == "gain" else f"figure3-{page}" for page in gain.PAGES}
    paths = [
        path
        for page, name in names.items()
        for path in curves.save(gain.page(dataset, page), out, name)
    ]
    console = running.wide_console()
    show(console, _gains(dataset))
    folder.finish([out / "figure3.nc", *paths])
    console.print(folder.said, *map(str, paths), soft_wrap=True, markup=False)


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


def _gains(dataset: xr.Dataset) -> Table:
    """MSE / Local at some rounds, how near to Ideal the end is, and what was sent for it."""
    rounds = [t for t in relayed.MARKS if t in dataset.t] + [int(dataset.t[-1])]
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
                    f"{float(average_bytes(cell)):.3g}",
                )
    return table
