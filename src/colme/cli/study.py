"""`colme study`: how much each site in a table would gain by collaborating.

What computes is imported when the command runs: its help takes no compiler.
"""

import warnings
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from colme.cli.printing import plain_console, print_files, print_json, show, table_of
from colme.cli.running import (
    Cluster,
    Force,
    Json,
    Out,
    Seed,
    Threads,
    Workers,
    numbers,
    run_shown,
    words,
)
from colme.rules.release import level
from colme.studies import MIN_SAMPLES, RUNS, SAMPLES

if TYPE_CHECKING:
    from colme.studies.findings import Curve, SiteResult
    from colme.studies.result import StudyResult

MOST_SITES = 12
"""Sites that are printed, of the first algorithm at each epsilon; all are in the files."""


def study(
    data: Annotated[
        Path,
        typer.Argument(help="CSV file (also .gz or .zip) or Parquet file.", show_default=False),
    ],
    site: Annotated[
        str, typer.Option(help="Column with the site of each row.", show_default=False)
    ],
    value: Annotated[str, typer.Option(help="Column with the numbers.", show_default=False)],
    bounds: Annotated[
        str,
        typer.Option(
            help="Public lower and upper limit, for example 0,10. Choose them without looking at"
            " the data. Values outside are clipped.",
            metavar="LO,HI",
            show_default=False,
        ),
    ],
    epsilon: Annotated[
        str,
        typer.Option(
            help="Privacy level (pure, per sample, replace-one, counts public); several with"
            " commas: 1,4.",
            show_default=False,
        ),
    ],
    out: Out = None,
    mode: Annotated[
        str,
        typer.Option(
            help="resample: draw rows of each site with replacement; the truth is the mean of all"
            " its rows. replay: feed half of its rows in their order; the truth is the mean of the"
            " other half. Or module:attribute of your own feed."
        ),
    ] = "resample",
    time: Annotated[
        str | None, typer.Option(help="Column that orders a replay.  The file's order by default.")
    ] = None,
    min_samples: Annotated[
        int, typer.Option(help="Leave out sites with fewer rows, and list them.")
    ] = MIN_SAMPLES,
    degree: Annotated[
        int | None,
        typer.Option(help="Neighbours of each site, at random.  All other sites by default."),
    ] = None,
    edges: Annotated[
        Path | None, typer.Option(help="File with a pair of neighbouring sites on each line.")
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(help="relay, paper or one of its rules, local; several with commas."),
    ] = "recommended",
    samples: Annotated[
        int | None,
        typer.Option(help=f"Samples at each site at the end.  {SAMPLES:,} by default."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help=f"Runs.  {RUNS} by default.")] = None,
    seed: Seed = 1,
    threads: Threads = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Estimate how much each site in a table would gain by collaborating.

    Without --out and --json, the result is printed and not stored. No algorithm knows a variance.
    Everything is computed on this machine, unless there is a --cluster: its workers receive all
    rows.
    """
    from colme import plugins
    from colme.studies.question import prepare
    from colme.studies.study import StudyExperiment

    plugins.search_in(Path.cwd())
    question = prepare(
        data,
        site=site,
        value=value,
        bounds=numbers("--bounds", bounds),
        epsilon=numbers("--epsilon", epsilon),
        mode=mode,
        time=time,
        min_samples=min_samples,
        degree=degree,
        edges=edges,
        algorithm=words(algorithm),
        samples=samples,
        runs=runs,
        seed=seed,
    )
    if cluster is not None and cluster.startswith("tcp://") and "//127." not in cluster:
        warnings.warn(f"all rows are sent to {cluster}, not encrypted", stacklevel=2)
    outcome = run_shown(
        StudyExperiment(question),
        data.name,
        out=out,
        force=force,
        threads=threads,
        workers=workers,
        cluster=cluster,
    )
    if as_json:
        print_json(outcome.result.as_plain())
        return
    _print(outcome.result)
    print_files(outcome)


def _print(result: "StudyResult") -> None:
    from colme.studies import result as told

    console = plain_console()
    console.print(told.asked(result.question))
    for text in told.left_out(result.question, MOST_SITES):
        console.print(text)
    for text in result.warnings:
        console.print("Warning:", text)
    show(console, _curves(result))
    for text in result.summary:
        console.print(text)
    for curve in result.curves:
        if curve.algorithm == result.curves[0].algorithm:
            show(console, _sites(result, curve, told.label(curve)))


def _curves(result: "StudyResult") -> Table:
    from colme.studies.result import SHOWN

    curves, samples = result.curves, result.curves[0].samples
    shown = [i for i, count in enumerate(samples) if count in SHOWN or i == len(samples) - 1]
    where = "at each site" if result.question.paces is None else "a site on average"
    rows = (
        [
            curve.algorithm,
            level(curve.epsilon),
            *(_ratio(curve.mse_over_local[i], curve.standard_error[i]) for i in shown),
        ]
        for curve in curves
    )
    return table_of(
        ("algorithm", "epsilon", *(f"{samples[i]:,}" for i in shown)),
        rows,
        title=f"Squared error / alone, after so many samples {where}",
        text=("algorithm",),
    )


def _sites(result: "StudyResult", curve: "Curve", label: str) -> Table:
    known = [site for site in result.sites_of(curve) if not isnan(site.gain)]
    own = sorted(known, key=lambda site: -site.gain)
    most = MOST_SITES // 2
    shown = own if len(own) <= MOST_SITES else [*own[:most], None, *own[-most:]]
    few = "" if len(own) <= MOST_SITES else ", those that gain most and least"
    return table_of(
        ("site", "rows", "samples", "mean", "alone", "together", "interval", "gain", "", "class"),
        (["..."] if site is None else _cells(site) for site in shown),
        title=f"{label}{few}",
        text=("site", ""),
    )


def _cells(site: "SiteResult") -> list[str]:
    from colme.studies.result import number, percent

    return [
        site.site,
        f"{site.rows:,}",
        f"{site.samples:,}",
        f"{site.truth:.4g}",
        number(site.alone),
        number(site.together),
        "" if site.interval != site.interval else f"± {site.interval:.3g}",
        percent(site.gain),
        "" if site.verdict == "even" else site.verdict,
        "" if site.class_found != site.class_found else f"{site.class_found:.1f}",
    ]


def _ratio(value: float, error: float) -> str:
    return "unknown" if isnan(value) else f"{value:.2f} ± {error:.2f}"
