"""`colme fleet`: real nodes on this machine."""

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from colme.algorithms import ALGORITHMS, ALIASES, resolved
from colme.cli.tables import show
from colme.cli.values import numbers
from colme.node.trial import Fleet, Outcome, Plan, Sight, outcome, prepare
from colme.privacy.words import level

DEFAULT = Plan()


def fleet(
    agents: Annotated[int, typer.Option(help="Nodes.", min=2, max=200)] = DEFAULT.agents,
    degree: Annotated[int, typer.Option(help="Neighbours of each.", min=1)] = DEFAULT.degree,
    rounds: Annotated[int, typer.Option(help="Rounds.", min=1)] = DEFAULT.rounds,
    samples: Annotated[int, typer.Option(help="Samples a round.", min=1)] = DEFAULT.samples,
    means: Annotated[str, typer.Option(help="True means of the classes.")] = ",".join(
        map(str, DEFAULT.means)
    ),
    sigma: Annotated[float, typer.Option(help="Standard deviation.", min=0)] = DEFAULT.sigma,
    epsilon: Annotated[
        float, typer.Option(help="Privacy of each sample (event level, replace-one); inf for none.")
    ] = DEFAULT.epsilon,
    algorithm: Annotated[
        str, typer.Option(help=f"{', '.join([*ALIASES, *ALGORITHMS])}.")
    ] = "recommended",
    seed: Annotated[int, typer.Option(help="Seed of graph, classes and data.", min=0)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else.")] = False,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep identities, configurations, states and logs in this folder."),
    ] = None,
) -> None:
    """Start real nodes: a process each, certificates and TLS on loopback, made-up data.

    Nobody knows its class, its mean or who is like it. At the end stand each node's true mean, what
    it would have known alone, and what it knows.
    """
    plan = Plan(
        agents=agents,
        degree=degree,
        rounds=rounds,
        samples=samples,
        means=tuple(numbers("--means", means)),
        sigma=sigma,
        epsilon=epsilon,
        algorithm=resolved(algorithm),
        seed=seed,
    )
    console = Console(stderr=as_json)
    with TemporaryDirectory(prefix="colme-fleet-") if keep is None else nullcontext(keep) as folder:
        members = prepare(plan, Path(folder))
        with (
            Fleet(members) as running,
            Live(console=console, transient=True, auto_refresh=False) as live,
        ):
            sights: Sequence[Sight] = ()
            for sights in running.watch():
                if sys.stderr.isatty() if as_json else console.is_terminal:
                    live.update(_table(sights, plan), refresh=True)
            result = outcome(sights, plan.rounds)
    if as_json:
        typer.echo(json.dumps(asdict(result)))
    else:
        show(console, _table(sights, plan))
        _print_sums(console, result)
        if keep is not None:
            console.print(f"identities, configurations, states and logs are in {keep}")


def _table(sights: Sequence[Sight], plan: Plan) -> Table:
    table = Table(
        title=f"{plan.agents} nodes, {plan.degree} neighbours each, {plan.algorithm}, epsilon = "
        f"{level(plan.epsilon)} for each sample (event level, replace-one)"
    )
    for heading in ("node", "round", "truth", "alone: error", "together: error", "records"):
        table.add_column(heading, justify="right")
    for sight in sights:
        answer, truth = sight.estimate, sight.member.truth
        table.add_row(
            sight.member.name,
            str(sight.round) if sight.status else "starting",
            f"{truth:g}",
            f"{answer['alone'] - truth:+.5f}" if answer else "-",
            f"{answer['value'] - truth:+.5f}" if answer else "-",
            str(answer["records"]) if answer else "-",
        )
    return table


def _print_sums(console: Console, result: Outcome) -> None:
    share = result.mse_estimate / result.mse_local
    console.print(
        f"mean squared error: alone {result.mse_local:.3g}, together {result.mse_estimate:.3g}: "
        f"{share:.2f} of it"
    )
    console.print(f"{result.rounds_per_second:.1f} rounds per second")
