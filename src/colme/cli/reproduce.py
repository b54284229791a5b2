"""`colme reproduce`: the paper's figure, and its claims one by one."""

from typing import Annotated

import typer
from rich.console import Console

from colme.cli import running
from colme.cli.running import Out, Seed, Threads
from colme.report import curves
from colme.report.harm import error_and_harm
from colme.sim.figures import PAPER
from colme.sim.figures import figure1 as paper
from colme.sim.figures import figure2 as beyond

reproduce = typer.Typer(help="Reproduce a figure of the paper, with its claims measured.")


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
) -> None:
    """Figure 1: three decision rules at four privacy levels on two graphs, 30,000 rounds.

    The same command resumes after an interruption.
    """
    runs = runs or (paper.QUICK_RUNS if quick else PAPER.runs)
    figure = running.run(
        paper.study(runs, seed), out=out, threads=threads, label="figure 1", name="figure1"
    )
    theorem = running.run(
        paper.theorem_study(runs, seed),
        out=out,
        threads=threads,
        label="theorem 1",
        name="theorem1",
    )
    paths = curves.save(curves.mse_over_time(figure), out, "figure1")
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"The claims of Sec. V, measured over {runs} runs:")
    for claim in paper.claims(figure, theorem):
        verdict = "[green]holds[/green]" if claim.holds else "[bold red]fails[/bold red]"
        console.print(f"{verdict}  {claim.text}: {claim.measured}")
    console.print("Saved", *map(str, paths))


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
) -> None:
    """Figure 2, beyond the paper: tracking beside the paper's own.

    Same setting, same privacy, same graphs: error over time, and as a multiple of Local.
    """
    runs = runs or (beyond.QUICK_RUNS if quick else beyond.RUNS)
    dataset = running.run(
        beyond.study(runs, seed), out=out, threads=threads, label="figure 2", name="figure2"
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
                    f"r = {degree:g}, epsilon = {epsilon:g}, {algorithm}:"
                    f" MSE / Ideal = {ideal:.3f}, worst MSE / Local = {float(harm.max()):.3g}"
                    f" at t = {worst}"
                )
    console.print("Saved", *map(str, paths))
