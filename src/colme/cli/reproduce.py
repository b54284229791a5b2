"""`colme reproduce`: the paper's figure and its claims, and the comparison with earlier systems."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colme.cli.printing import plain_console, print_files, show, table_of
from colme.cli.running import Cluster, Force, Seed, Threads, Workers, run_shown

if TYPE_CHECKING:
    import xarray as xr

Out = Annotated[
    Path,
    typer.Option(help="Folder for figure and data. The same command resumes in it.", metavar="DIR"),
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer runs: about a minute.")]

_COLUMNS = ("system", "MSE", "MSE / Local", "within tolerance", "messages", "bytes", "memory")

CLAIMS, COMPARISON = "claims.txt", "comparison.md"
"""Files beside data and figures."""

reproduce = typer.Typer(
    help="Reproduce the paper's figure and its claims, or the comparison with earlier systems."
)


@reproduce.command()
def figure1(
    out: Out,
    quick: Quick = False,
    seed: Seed = 1,
    threads: Threads = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Reproduce Figure 1: three rules at four privacy levels on two graphs, 30,000 rounds."""
    from colme.report import curves
    from colme.sim.figures import PAPER
    from colme.sim.figures import figure1 as paper
    from colme.sim.simulation import simulations

    runs = paper.QUICK_RUNS if quick else PAPER.runs

    def draw(found: dict[str, "xr.Dataset"], out: Path) -> list[Path]:
        claims = paper.claims(found["figure1"], found["theorem1"])
        (out / CLAIMS).write_text("".join(f"{one}\n" for one in claims))
        figure = curves.mse_over_time(found["figure1"])
        return [*curves.save(figure, out, "figure1"), out / CLAIMS]

    scenarios = {"figure1": paper.study(runs, seed), "theorem1": paper.theorem_study(runs, seed)}
    outcome = run_shown(
        simulations(scenarios, draw),
        "figure 1",
        out=out,
        force=force,
        threads=threads,
        workers=workers,
        cluster=cluster,
    )
    console = plain_console()
    claims = list(paper.claims(outcome.result["figure1"], outcome.result["theorem1"]))
    holding = sum(claim.holds for claim in claims)
    console.print(
        f"{holding} of {len(claims)} claims of Sec. V hold, measured over {runs} runs"
        f" (r: neighbours of each; oracle: classes are known; Local: alone; Ideal: all raw data of"
        f" a class shared along its paths)."
    )
    for claim in claims:
        if not claim.holds:
            console.print(str(claim), style="red")
    print_files(outcome)


@reproduce.command()
def comparison(
    out: Out,
    quick: Quick = False,
    seed: Seed = 1,
    threads: Threads = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Compare relay and the paper's algorithm with ColME, C-ColME, B-ColME, Private-ColME.

    Two settings: this paper's (200 agents, three classes) and Galante's (10,000 agents, no
    privacy), with Local and Ideal. Messages, bytes and memory (stored numbers) are per agent, the
    first two per round, averaged. Relay's bytes include framing and signatures.
    """
    from colme.report import curves
    from colme.report.comparison import systems_over_time
    from colme.sim.figures import comparison as systems
    from colme.sim.simulation import simulations

    def draw(found: dict[str, "xr.Dataset"], out: Path) -> list[Path]:
        lines = []
        for name, dataset in found.items():
            lines += [f"## {name}", "", _line(_COLUMNS), _line(("---",) * len(_COLUMNS))]
            lines += [*map(_line, _rows(dataset)), ""]
        (out / COMPARISON).write_text("\n".join(lines))
        return [*curves.save(systems_over_time(found), out, "comparison"), out / COMPARISON]

    outcome = run_shown(
        simulations(systems.settings(quick=quick, seed=seed), draw),
        "comparison",
        out=out,
        force=force,
        threads=threads,
        workers=workers,
        cluster=cluster,
    )
    console = plain_console()
    for name, dataset in outcome.result.items():
        title = f"{name}: after {int(dataset.t[-1]):,} rounds"
        show(console, table_of(_COLUMNS, _rows(dataset), title=title, text=("system",)))
    print_files(outcome)


def _rows(dataset: "xr.Dataset") -> list[tuple[str, ...]]:
    from colme.report.comparison import distinct_levels, label_of
    from colme.sim.figures.comparison import over_all_rounds

    dataset = dataset.isel(degree=0)
    rows: list[tuple[str, ...]] = []
    for algorithm in map(str, dataset.algorithm.values):
        for epsilon in distinct_levels(dataset, algorithm):
            all_rounds = dataset.sel(algorithm=algorithm, epsilon=epsilon)
            cell = all_rounds.isel(t=-1)
            rows.append(
                (
                    label_of(algorithm, epsilon, dataset),
                    f"{float(cell.mse):.3g}",
                    f"{float(cell.mse / cell.mse_alone):.3g}",
                    f"{float(cell.within_tolerance):.3f}",
                    f"{float(over_all_rounds(all_rounds.messages)):.1f}",
                    f"{float(over_all_rounds(all_rounds.payload)):.0f}",
                    f"{float(cell.memory):.0f}",
                )
            )
    return rows


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
