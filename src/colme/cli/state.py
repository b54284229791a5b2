"""`colme state`: look at a node's stored state, copy it, bring a copy back."""

import json
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from colme.node import state as room

state = typer.Typer(help="A node's stored state: show it, back it up, restore it.")

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
    if overview.floor:
        console.print(f"begins after round {overview.floor}: an earlier state was lost")
    ledger = overview.ledger
    console.print(
        f"samples taken in: {overview.taken}, released: {ledger.samples}, waiting: {ledger.waiting}"
    )
    console.print(ledger.describe(releases=overview.releases))
    if overview.sent is not None:
        console.print(
            f"last sent: a noised mean of {overview.sent.mean:g} over {overview.sent.count} samples"
        )
    if overview.last_entries:
        table = Table("round", "samples", "blocks", "epsilon", title="Last releases, newest first")
        for entry in overview.last_entries:
            samples = f"{entry.first} to {entry.last}"
            table.add_row(str(entry.round), samples, str(entry.blocks), f"{entry.epsilon:g}")
        console.print(table)
    for name, standing in overview.standings.items():
        console.print(f"neighbour {name}: epoch {standing.epoch}, round {standing.round}")
    for source, mark in overview.marks.items():
        console.print(f"source {source}: read up to {mark}")
    if overview.repeatable:
        console.print("a trial: its noise can be repeated")
