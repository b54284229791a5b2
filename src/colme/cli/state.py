"""`colme state`: show a node's stored state, back it up, restore it, change its parameters."""

from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colme.cli.printing import plain_console, print_json, table_of
from colme.cli.printing import show as show_table
from colme.cli.running import Json
from colme.rules.release import level

if TYPE_CHECKING:  # `--help` waits for nothing that computes
    from colme.node.state import Overview

state = typer.Typer(help="Show, back up, restore or change the stored state of a node.")

Folder = Annotated[Path, typer.Argument(help="Folder of the node's state.")]


@state.command()
def show(
    folder: Folder,
    as_json: Json = False,
) -> None:
    """Show the progress of a node and what it has released. The node may be running.

    Prints counts and the noisy mean that the neighbours have: no sample, exact mean or estimate.
    """
    from colme.node.state import Overview

    overview = Overview.of(folder)
    if as_json:
        print_json(asdict(overview))
    else:
        _print(overview)


@state.command()
def backup(
    folder: Folder, file: Annotated[Path, typer.Argument(help="New file for the backup.")]
) -> None:
    """Copy a node's state to a file. The node may be running."""
    from colme.node import state as stored

    stored.backup(folder, file)
    typer.echo(f"{file}: a backup of {folder}")


@state.command()
def restore(
    file: Annotated[Path, typer.Argument(help="Backup made by `colme state backup`.")],
    folder: Folder,
) -> None:
    """Replace a stopped node's state by a backup.

    After its start the node waits until every neighbour to which it ever sent anything has
    confirmed that it received nothing newer.
    """
    from colme.node import state as stored

    kept = stored.restore(file, folder)
    before = f"what was there is {kept}" if kept else "nothing was there"
    typer.echo(f"{folder}: restored from {file}; {before}")


@state.command()
def change(
    config: Annotated[Path, typer.Option(help="New configuration of the node (TOML).")],
    drop_waiting: Annotated[
        bool,
        typer.Option("--drop-waiting", help="Never release the samples of open blocks."),
    ] = False,
) -> None:
    """Change the bounds, epsilon or algorithm of a stopped node's state.

    Keeps the privacy ledger, the read position in each file and what neighbours remember, so that
    no sample gets noise twice. Samples are counted from zero again.
    """
    from colme.node import state as stored
    from colme.node.config import NodeConfig
    from colme.node.samples.feeds import make_noise
    from colme.node.trust.identity import Identity
    from colme.node.trust.tls import Trust, signing_settings

    wanted = NodeConfig.load(config)
    pins = {one.name: one.certificate for one in wanted.neighbours}
    identity = Identity.load(wanted.identity)
    settings = signing_settings(wanted, Trust(identity, wanted.identity, pins))
    make_noise(wanted.source, settings)  # An epsilon that no node could start with is no promise.
    done = stored.change(wanted.state, settings, drop_waiting=drop_waiting)
    for setting, seen, before in done.differences:
        typer.echo(f"{setting}: {seen}, before {before}")
    if done.goes_on:
        typer.echo(
            f"{wanted.state}: goes on, with all its samples, {done.released} of them released: "
            f"they are passed on as one block from now on. What was there is {done.kept}"
        )
        return
    typer.echo(
        f"{wanted.state}: samples released before: {done.released}, dropped: {done.dropped}; the "
        f"next ones are under the new promise. Whoever has samples under both adds up their "
        f"epsilons. What was there is {done.kept}"
    )
    if not isfinite(settings.profile.epsilon):
        typer.echo("epsilon = inf: no privacy. The next samples are released without noise")


def _print(overview: "Overview") -> None:
    from colme.protocol.snapshot import OF_ROUNDS

    console = plain_console()
    origin = ", restored from a backup" if overview.from_backup else ""
    console.print(f"{overview.name}: epoch {overview.epoch}, round {overview.round}{origin}")
    console.print(f"algorithm: {overview.algorithm or 'not named yet'}")
    if overview.floor and overview.algorithm not in (None, *OF_ROUNDS):
        console.print(f"ran in rounds, up to round {overview.floor}")
    elif overview.floor:
        why = (
            "the promise was changed then"
            if overview.past
            else "an earlier state was lost, or the promise was changed before the first sample"
        )
        console.print(f"begins after round {overview.floor}: {why}")
    ledger = overview.ledger
    console.print(
        f"samples taken in: {overview.taken}, released: {ledger.samples}, waiting: {ledger.waiting}"
    )
    console.print(ledger.describe(releases=overview.releases))
    for promise in reversed(overview.past):
        console.print(f"{promise.describe()} (until {promise.ended})")
    if overview.past:
        every = ledger.samples + sum(one.released for one in overview.past)
        console.print(
            f"in all {every} samples released, each noised once, under its own epsilon; "
            "for whoever has several, their epsilons add up"
        )
    if overview.sent is not None:
        console.print(
            f"last sent: a noised mean of {overview.sent.mean:g} over {overview.sent.count} samples"
        )
    if overview.last_entries:
        rows = (
            (one.round, f"{one.first} to {one.last}", one.blocks, level(one.epsilon))
            for one in overview.last_entries
        )
        headings = ("round", "samples", "blocks", "epsilon")
        show_table(console, table_of(headings, rows, title="Last releases, newest first"))
    for name, standing in overview.standings.items():
        console.print(f"neighbour {name}: epoch {standing.epoch}, round {standing.round}")
    for source, mark in overview.marks.items():
        console.print(f"source {source}: read up to {mark}")
    if overview.repeatable:
        console.print("a trial: its noise can be repeated")
