"""`colme simulate`: any scenario, from a file or from flags."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
import xarray as xr
from rich.console import Console
from rich.table import Table

from colme import plugins
from colme.cli import folder as folders
from colme.cli import running
from colme.cli.folder import Folder, Force
from colme.cli.memory import require_memory
from colme.cli.tables import show
from colme.cli.values import numbers, whole_numbers, words
from colme.cli.workers import Cluster
from colme.errors import ConfigError
from colme.sim.figures import PRESETS
from colme.sim.scenario import NAMES, Scenario
from colme.sim.study import RESULT, SummaryRow, kinds_to_keep, save_csv, summary, title


def simulate(
    scenario: Annotated[
        str | None,
        typer.Argument(
            help="A scenario in TOML, or the preset 'paper'; flags override its fields."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the result; the same command resumes in it.")
    ] = None,
    agents: Annotated[int | None, typer.Option(help="Number of agents.")] = None,
    degree: Annotated[str | None, typer.Option(help="Neighbours of each agent: 5 or 5,20.")] = None,
    means: Annotated[str | None, typer.Option(help="Means of the classes: 0.2,0.4,0.8.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of a sample.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="Privacy of each sample (event level, replace-one): 1,2,inf."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            help=f"{', '.join(NAMES)}, or module:attribute of your own; several with commas."
            " A rule's name stands for the paper's algorithm with that rule.",
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds, one sample each.")] = None,
    runs: Annotated[int | None, typer.Option(help="Independent runs.")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same numbers.")] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads.  All cores if not given.", min=1)
    ] = None,
    cluster: Cluster = None,
    keep: Annotated[
        str,
        typer.Option(
            help="Besides averages, results of agents, classes, runs (several with commas);"
            " agents,runs: everybody's answers."
        ),
    ] = "",
    csv: Annotated[
        Path | None,
        typer.Option(
            help="CSV file to write besides: a row for each algorithm, epsilon, degree and round."
        ),
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else.")] = False,
) -> None:
    """Simulate many runs of Private-C-ColME and measure the error over time.

    Without a scenario file, the paper's setting at a small scale: 200 agents in three classes on a
    random graph of degree 5, uniform data, 1,000 rounds, 32 runs.
    """
    fields: dict[str, Any] = {
        "agents": agents,
        "graph": None if degree is None else {"degree": whole_numbers("--degree", degree)},
        "means": None if means is None else numbers("--means", means),
        "data": None if sigma is None else {"sigma": sigma},
        "epsilon": None if epsilon is None else numbers("--epsilon", epsilon),
        "algorithms": None if algorithm is None else words(algorithm),
        "rounds": rounds,
        "runs": runs,
        "seed": seed,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    plugins.search_in(Path.cwd())
    if scenario is None:
        study = Scenario.build(**given)
    elif scenario in PRESETS:
        study = PRESETS[scenario].changed(**given)
    else:
        study = Scenario.load(Path(scenario), **given)
    kept = kinds_to_keep(keep)
    if out is None and not as_json:
        raise ConfigError("--out", None, "a folder for the result, or --json to print it")
    if csv is not None:
        folders.prepare(csv.parent)
    running.require_one(threads, cluster)
    if cluster is None or cluster.here is not None:
        at_once = threads if cluster is None else cluster.here
        require_memory(study, threads=at_once, force=force)
    folder = None
    if out is not None:
        asked = {"command": "simulate", "keep": sorted(kept), **study.identity_fields()}
        folder = Folder.claim(out, asked, results=[RESULT], force=force)
    dataset = running.run(
        study, out=out, threads=threads, cluster=cluster, label="simulating", keep=kept
    )
    if folder is not None and not folder.done:
        folder.finish([folder.out / RESULT])
    if csv is not None:
        save_csv(dataset, csv)
    if as_json:
        typer.echo(json.dumps(_as_plain(dataset), allow_nan=False))
        return
    assert folder is not None
    _print(dataset)
    told = f"{folder.said} {folder.out / RESULT}; colme plot {out} draws it."
    Console().print(told, markup=False)


def _as_plain(dataset: xr.Dataset) -> dict[str, Any]:
    """Coordinates, and every variable as nested lists over its dimensions; null where undefined."""

    def plain(values: Any) -> Any:
        if isinstance(values, list):
            return [plain(value) for value in values]
        if isinstance(values, float) and not np.isfinite(values):
            return "inf" if values > 0 else None
        return values

    return {
        "coordinates": {
            str(name): plain(values.values.tolist()) for name, values in dataset.coords.items()
        },
        "variables": {
            str(name): {
                "dimensions": list(map(str, values.dims)),
                "values": plain(values.values.tolist()),
            }
            for name, values in dataset.data_vars.items()
        },
        "attributes": {
            # Of a result that was read again, numbers are numpy's.
            str(name): json.loads(value) if name == "scenario" else np.asarray(value).item()
            for name, value in dataset.attrs.items()
        },
    }


def _print(dataset: xr.Dataset) -> None:
    table = Table(title=title(dataset))
    for heading in SummaryRow.HEADINGS:
        table.add_column(heading, justify="left" if heading == "algorithm" else "right")
    for row in summary(dataset):
        table.add_row(*row.words)
    show(Console(), table)
