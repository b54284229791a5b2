"""`colme simulate`: any scenario, from a file or from flags."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colme.cli.printing import plain_console, print_json, said, show, table_of
from colme.cli.running import (
    Cluster,
    Force,
    Json,
    Out,
    Threads,
    Workers,
    numbers,
    run_shown,
    words,
)

if TYPE_CHECKING:
    import xarray as xr


def simulate(
    scenario: Annotated[
        str | None,
        typer.Argument(
            help="A scenario in TOML, or the preset 'paper'. Flags override its fields."
        ),
    ] = None,
    out: Out = None,
    agents: Annotated[int | None, typer.Option(help="Number of agents.")] = None,
    degree: Annotated[str | None, typer.Option(help="Neighbours of each agent: 5 or 5,20.")] = None,
    means: Annotated[str | None, typer.Option(help="Means of the classes: 0.2,0.4,0.8.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of a sample.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="Privacy of each sample (replace-one, counts public): 1,2,inf."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="relay, paper or a rule of the paper (bernstein, tight, optimistic, oracle), a"
            " baseline (local, ideal, colme, c-colme, b-colme, private-colme), or module:attribute"
            " of your own. Several with commas."
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds, one sample each.")] = None,
    runs: Annotated[int | None, typer.Option(help="Independent runs.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed. Same seed, same numbers.", min=0)
    ] = None,
    threads: Threads = None,
    workers: Workers = None,
    cluster: Cluster = None,
    keep: Annotated[
        str,
        typer.Option(
            help="Store more than averages: agents, classes, runs (several with commas);"
            " agents,runs stores every answer."
        ),
    ] = "",
    csv: Annotated[
        Path | None,
        typer.Option(help="Also write the averages as CSV, a row for each recorded round."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Simulate a scenario and measure the error over time.

    Without a scenario file: the paper's setting at a small scale, 200 agents in three classes on a
    random graph of degree 5, uniform data, 1,000 rounds, 32 runs.
    """
    from colme import plugins
    from colme.experiment.run import require_writable
    from colme.sim.figures import PRESETS
    from colme.sim.results import RESULT, SummaryRow
    from colme.sim.scenario import Scenario
    from colme.sim.simulation import Simulation

    fields: dict[str, Any] = {
        "agents": agents,
        "graph": None if degree is None else {"degree": numbers("--degree", degree)},
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
        chosen = Scenario.build(**given)
    elif scenario in PRESETS:
        chosen = PRESETS[scenario].changed(**given)
    else:
        chosen = Scenario.load(Path(scenario), **given)
    if csv is not None:
        require_writable(csv.parent)
    outcome = run_shown(
        Simulation(chosen, keep=keep),
        "simulating",
        out=out,
        force=force,
        threads=threads,
        workers=workers,
        cluster=cluster,
    )
    if csv is not None:
        outcome.result.colme.to_csv(csv)
    if as_json:
        print_json(_as_plain(outcome.result), infinity="inf")
        return
    told = outcome.result.colme
    rows = (row.words for row in told.summary)
    summary = table_of(SummaryRow.HEADINGS, rows, title=told.title, text=("algorithm",))
    show(plain_console(), summary)
    if out is not None:
        typer.echo(f"{said(outcome)} {out / RESULT}; colme plot {out} draws it.")


def _as_plain(dataset: "xr.Dataset") -> dict[str, Any]:
    """Return coordinates, every variable as nested lists, and attributes."""
    # The content of xarray's own form, under names that programs have long relied on.
    found = dataset.to_dict()
    scenario = json.loads(found["attrs"]["scenario"])
    return {
        "coordinates": {name: one["data"] for name, one in found["coords"].items()},
        "variables": {
            name: {"dimensions": one["dims"], "values": one["data"]}
            for name, one in found["data_vars"].items()
        },
        "attributes": found["attrs"] | {"scenario": scenario},
    }
