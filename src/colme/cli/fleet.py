"""`colme fleet`: real nodes on this machine."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from colme.cli.explore import open_page
from colme.cli.printing import plain_console, print_json, show, table_of
from colme.cli.running import Epsilon, Json, Seed, numbers
from colme.rules.release import level

if TYPE_CHECKING:  # `--help` waits for nothing that computes
    from colme.node.fleet import Fleet, Outcome, Plan, Sight


def fleet(
    agents: Annotated[int, typer.Option(help="Number of nodes.", min=2, max=200)] = 12,
    degree: Annotated[int, typer.Option(help="Neighbours of each node.", min=1)] = 4,
    rounds: Annotated[
        int, typer.Option(help="Rounds, ten samples of each node a round.", min=1)
    ] = 200,
    means: Annotated[str, typer.Option(help="Means of the classes.")] = "0.2,0.4,0.8",
    epsilon: Epsilon = 4.0,
    algorithm: Annotated[
        str, typer.Option(help="relay, which is recommended, or paper.")
    ] = "recommended",
    seed: Seed = 1,
    as_json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="New folder for identities, configurations, states and logs.  They are deleted"
            " at the end if not given."
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Serve a page over all nodes on loopback until Ctrl-C."),
    ] = False,
) -> None:
    """Run real nodes on this machine with made-up data: a process each, TLS on loopback.

    No node knows its class or its mean. At the end a table shows each node's true mean, and its
    error alone and together.
    """
    from colme.algorithms import resolved
    from colme.node.fleet import Fleet, Plan, outcome, prepare

    # Without a page no HTTP server is imported.
    if watch:
        from colme.node.fleet_page import FleetPage

    plan = Plan(
        agents=agents,
        degree=degree,
        rounds=rounds,
        means=tuple(numbers("--means", means)),
        epsilon=epsilon,
        algorithm=resolved(algorithm),
        seed=seed,
    )
    console = plain_console(stderr=as_json)
    with TemporaryDirectory(prefix="colme-fleet-") if out is None else nullcontext(out) as folder:
        members = prepare(plan, Path(folder))
        with (
            Fleet(members) as running,
            FleetPage(plan, members) if watch else nullcontext() as page,
        ):
            if page is not None:
                console.print(f"a page over all nodes: {page.address}")
                if sys.stderr.isatty():
                    open_page(page.address)
            sights = _watched(running, plan, console)
            result = outcome(sights, plan.rounds)
            if as_json:
                print_json(asdict(result))
            else:
                show(console, _table(sights, plan))
                _print_sums(console, result)
            if watch:
                console.print("the nodes and their page stay until Ctrl-C")
                with suppress(KeyboardInterrupt):
                    Event().wait()
    if out is not None and not as_json:
        console.print(f"identities, configurations, states and logs are in {out}")


def _watched(running: "Fleet", plan: "Plan", console: Console) -> Sequence["Sight"]:
    """Show all nodes until the fleet is done; return the last sight of them."""
    sights: Sequence[Sight] = ()
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for sights in running.watch():
            if console.is_terminal:
                live.update(_table(sights, plan), refresh=True)
    return sights


def _table(sights: Sequence["Sight"], plan: "Plan") -> Table:
    headings = ("node", "round", "truth", "alone: error", "together: error", "records")
    title = (
        f"{plan.agents} nodes, {plan.degree} neighbours each, {plan.algorithm}, epsilon = "
        f"{level(plan.epsilon)} for each sample (event level, replace-one)"
    )
    return table_of(headings, map(_cells, sights), title=title, text=())


def _cells(sight: "Sight") -> tuple[object, ...]:
    answer, truth = sight.estimate, sight.member.truth
    return (
        sight.member.name,
        sight.round if sight.status else "starting",
        f"{truth:g}",
        f"{answer['alone'] - truth:+.5f}" if answer else "-",
        f"{answer['value'] - truth:+.5f}" if answer else "-",
        answer["records"] if answer else "-",
    )


def _print_sums(console: Console, result: "Outcome") -> None:
    share = result.mse_estimate / result.mse_local
    console.print(
        f"mean squared error: alone {result.mse_local:.3g}, together {result.mse_estimate:.3g}: "
        f"{share:.2f} of it\n{result.rounds_per_second:.1f} rounds per second"
    )
