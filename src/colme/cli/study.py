"""`colme study`: what each site of a table would gain by learning together."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from colme.cli import running
from colme.cli.folder import Folder, Force
from colme.cli.interruption import interruptible
from colme.cli.progress import progress
from colme.cli.running import Seed, Threads
from colme.cli.tables import show
from colme.cli.values import numbers, words
from colme.cli.workers import Cluster, Workers
from colme.errors import ConfigError
from colme.privacy.words import level
from colme.studies import (
    Curve,
    SiteResult,
    StudyResult,
    answer,
    kept_in,
    prepare,
    work,
)
from colme.studies import words as told
from colme.studies.inquiry import RUNS, SAMPLES
from colme.studies.page import SHOWN, percent
from colme.studies.result import FILES, OBJECT
from colme.studies.sites import MIN_SAMPLES

MOST_SITES = 12
"""That are printed, of the first algorithm at each epsilon; all are in the files."""

Out = Annotated[
    Path | None, typer.Option(help="Folder for page and tables; the same command resumes in it.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object, nothing else.")]


def study(
    data: Annotated[Path, typer.Argument(help="A table: CSV, or Parquet.", show_default=False)],
    site: Annotated[str, typer.Option(help="Column that says whose a row is.", show_default=False)],
    value: Annotated[str, typer.Option(help="Column of the numbers.", show_default=False)],
    bounds: Annotated[
        str,
        typer.Option(
            help="Between which all values lie, as everybody knows beforehand: 0,10. What lies"
            " beyond is clipped.",
            metavar="LO,HI",
            show_default=False,
        ),
    ],
    epsilon: Annotated[
        str,
        typer.Option(
            help="Privacy of each sample (pure, event level, replace-one, counts public): 1,4.",
            show_default=False,
        ),
    ],
    out: Out = None,
    mode: Annotated[
        str,
        typer.Option(
            help="resample: rows drawn again and again, the truth is a site's mean. replay: half of"
            " the rows in their order, the truth is the mean of the others."
        ),
    ] = "resample",
    time: Annotated[
        str | None,
        typer.Option(help="Column to order a replay by.  The file's order if not given."),
    ] = None,
    min_samples: Annotated[
        int, typer.Option(help="Rows below which a site is left out, and named.")
    ] = MIN_SAMPLES,
    degree: Annotated[
        int | None, typer.Option(help="Neighbours of each, at random.  All if not given.")
    ] = None,
    edges: Annotated[
        Path | None, typer.Option(help="File with two sites on each line: who talks to whom.")
    ] = None,
    algorithm: Annotated[
        str, typer.Option(help="relay, tracking, paper or one of its rules, local; with commas.")
    ] = "recommended",
    samples: Annotated[
        int | None, typer.Option(help=f"At each site, in the end.  {SAMPLES:,} if not given.")
    ] = None,
    runs: Annotated[int | None, typer.Option(help=f"Runs.  {RUNS} if not given.")] = None,
    seed: Seed = 1,
    threads: Threads = None,
    cluster: Cluster = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Whether it would have paid to learn together, with your own data: for each site, and when.

    Nobody is told a variance. Everything is computed here and nothing is sent anywhere, unless
    there is a --cluster: its workers are sent all rows.
    """
    options = {
        "site": site,
        "value": value,
        "bounds": numbers("--bounds", bounds),
        "epsilon": numbers("--epsilon", epsilon),
        "mode": mode,
        "time": time,
        "min_samples": min_samples,
        "degree": degree,
        "edges": edges,
        "algorithm": words(algorithm),
        "samples": samples,
        "runs": runs,
        "seed": seed,
    }
    _run(
        data,
        options,
        command="study",
        out=out,
        threads=threads,
        cluster=cluster,
        force=force,
        as_json=as_json,
        label=data.name,
    )


def _run(
    data: Any,
    options: dict[str, Any],
    *,
    command: str,
    out: Path | None,
    threads: int | None,
    cluster: Workers | None,
    force: bool,
    as_json: bool,
    label: str,
    title: str | None = None,
) -> None:
    if out is None and not as_json:
        raise ConfigError("--out", None, "a folder for page and tables, or --json to print")
    running.require_one(threads, cluster)
    question = prepare(data, **options)
    folder = None
    if out is not None:
        asked = {"command": command, **question.facts}
        folder = Folder.claim(out, asked, results=FILES, force=force)
        if folder.done:
            _show_again(folder, as_json=as_json)
            return
    if cluster is not None:
        cluster.warn_of_rows()
    kept = None if out is None else kept_in(question, out)
    with interruptible(kept), progress(label, work(question)) as report:
        executor = None if cluster is None else cluster.executor
        result = answer(
            question, out=out, threads=threads, executor=executor, report=report, title=title
        )
    paths = [] if out is None else result.save(out)
    if folder is not None:
        folder.finish(paths)
    if as_json:
        typer.echo(json.dumps(result.as_plain(), allow_nan=False))
        return
    _print(result)
    Console(soft_wrap=True).print("Saved", *map(str, paths))


def _show_again(folder: Folder, *, as_json: bool) -> None:
    """What a finished study came to, from its files."""
    found = (folder.out / OBJECT).read_text(encoding="utf-8")
    if as_json:
        typer.echo(found, nl=False)
        return
    plain = Console(soft_wrap=True, highlight=False, markup=False)
    told = json.loads(found)
    for text in told["warnings"]:
        plain.print("Warning:", text)
    for text in told["summary"]:
        plain.print(text)
    plain.print(folder.said, *(str(folder.out / name) for name in FILES))


def _print(result: StudyResult) -> None:
    console = running.wide_console()
    plain = Console(soft_wrap=True, highlight=False, markup=False)
    plain.print(told.asked(result.question))
    for text in told.left_out(result.question, MOST_SITES):
        plain.print(text)
    for text in result.warnings:
        plain.print("Warning:", text)
    show(console, _curves(result))
    for text in result.summary:
        plain.print(text)
    for curve in result.curves:
        if curve.algorithm == result.curves[0].algorithm:
            show(console, _sites(result, curve))


def _curves(result: StudyResult) -> Table:
    curves, samples = result.curves, result.curves[0].samples
    shown = [i for i, count in enumerate(samples) if count in SHOWN or i == len(samples) - 1]
    where = "at each site" if result.question.paces is None else "a site on average"
    table = Table(title=f"Squared error / alone, after so many samples {where}")
    for heading in ("algorithm", "epsilon", *(f"{samples[i]:,}" for i in shown)):
        table.add_column(heading, justify="left" if heading == "algorithm" else "right")
    for curve in curves:
        table.add_row(
            curve.algorithm,
            level(curve.epsilon),
            *(f"{curve.mse_over_local[i]:.2f} ± {curve.standard_error[i]:.2f}" for i in shown),
        )
    return table


def _sites(result: StudyResult, curve: Curve) -> Table:
    own = [
        site
        for site in result.sites
        if (site.algorithm, site.epsilon) == (curve.algorithm, curve.epsilon)
    ]
    own = sorted((site for site in own if site.gain == site.gain), key=lambda site: -site.gain)
    most = MOST_SITES // 2
    shown = own if len(own) <= MOST_SITES else [*own[:most], None, *own[-most:]]
    few = "" if len(own) <= MOST_SITES else ", those that gain most and least"
    table = Table(title=f"{told.label(curve)}{few}")
    heads = (
        "site",
        "rows",
        "samples",
        "mean",
        "alone",
        "together",
        "interval",
        "gain",
        "",
        "class",
    )
    for heading in heads:
        table.add_column(heading, justify="left" if heading in ("site", "") else "right")
    for site in shown:
        table.add_row(*(["..."] if site is None else _cells(site)))
    return table


def _cells(site: SiteResult) -> list[str]:
    return [
        site.site,
        f"{site.rows:,}",
        f"{site.samples:,}",
        f"{site.truth:.4g}",
        f"{site.alone:.3g}",
        f"{site.together:.3g}",
        "" if site.interval != site.interval else f"± {site.interval:.3g}",
        percent(site.gain),
        "" if site.verdict == "even" else site.verdict,
        "" if site.class_found != site.class_found else f"{site.class_found:.1f}",
    ]
