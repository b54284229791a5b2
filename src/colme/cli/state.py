"""`colme state`: look at a node's stored state, copy it, bring a copy back, change its promise."""

import json
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from colme.cli import tables
from colme.node import state as room
from colme.privacy.words import level
from colme.protocol.snapshot import OF_ROUNDS

state = typer.Typer(help="A node's stored state: show it, back it up, restore it, change it.")

Folder = Annotated[Path, typer.Argument(help="The node's state folder.")]


@state.command()
def show(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else.")] = False,
) -> None:
    """How far a node has come and what it has released; beside a running node, too.

    Counts, and the noised mean that the neighbours have: no sample, exact mean or estimate.
    """
    overview = room.Overview.of(folder)
    if as_json:
        typer.echo(json.dumps(_as_plain(asdict(overview)), allow_nan=False))
    else:
        _print(overview)


@state.command()
def backup(
    folder: Folder, file: Annotated[Path, typer.Argument(help="A file that does not exist yet.")]
) -> None:
    """Copy a node's state to a file, while it runs or not."""
    room.backup(folder, file)
    typer.echo(f"{file}: a backup of {folder}")


@state.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `colme state backup` wrote.")],
    folder: Folder,
) -> None:
    """Put a backup in the place of a stopped node's state.

    The node then waits until all that it has told have confirmed that nothing newer was sent.
    """
    kept = room.restore(file, folder)
    before = f"what was there is {kept}" if kept else "nothing was there"
    typer.echo(f"{folder}: restored from {file}; {before}")


@state.command()
def change(
    config: Annotated[Path, typer.Option(help="The node's configuration, as it is to be (TOML).")],
    drop_waiting: Annotated[
        bool,
        typer.Option(
            "--drop-waiting", help="Samples that wait for their noise are never to be released."
        ),
    ] = False,
) -> None:
    """Bring a stopped node's state under other bounds, another epsilon or algorithm.

    The ledger, the place in each file and what neighbours remember are carried over, so that no
    sample is noised twice; samples begin to count anew.
    """
    # They bring large packages, which no other of these commands needs.
    from colme.node.config import NodeConfig
    from colme.node.samples.feeds import make_noise
    from colme.node.trust.identity import Identity
    from colme.node.trust.tls import Trust, signing_settings

    wanted = NodeConfig.load(config)
    pins = {one.name: one.certificate for one in wanted.neighbours}
    identity = Identity.load(wanted.identity)
    settings = signing_settings(wanted, Trust(identity, wanted.identity, pins))
    make_noise(wanted.source, settings)  # An epsilon that no node could start with is no promise.
    done = room.change(wanted.state, settings, drop_waiting=drop_waiting)
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


def _as_plain(value: Any) -> Any:
    """JSON has no infinity: null for an epsilon that promises nothing."""
    if isinstance(value, dict):
        return {name: _as_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _print(overview: room.Overview) -> None:
    console = Console(highlight=False, markup=False)
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
        table = Table("round", "samples", "blocks", "epsilon", title="Last releases, newest first")
        for entry in overview.last_entries:
            samples = f"{entry.first} to {entry.last}"
            table.add_row(str(entry.round), samples, str(entry.blocks), level(entry.epsilon))
        tables.show(console, table)
    for name, standing in overview.standings.items():
        console.print(f"neighbour {name}: epoch {standing.epoch}, round {standing.round}")
    for source, mark in overview.marks.items():
        console.print(f"source {source}: read up to {mark}")
    if overview.repeatable:
        console.print("a trial: its noise can be repeated")
