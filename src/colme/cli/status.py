"""`colme status`: what a running node knows, for its owner alone."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from colme.cli.printing import plain_console, print_json, printable, show, table_of
from colme.cli.running import Json

if TYPE_CHECKING:  # `--help` waits for nothing that computes
    from colme.node.owner.status import NeighbourStatus, Status

NOT_READY = 1


def status(
    config: Annotated[Path, typer.Option(help="Configuration of the node (TOML).")] = Path(
        "node.toml"
    ),
    as_json: Json = False,
) -> None:
    """Show a running node's estimate, round, privacy and neighbours.

    The exit code is 0 if the node is ready, 1 if it is not and 2 if it does not answer.
    """
    from colme.node.config import NodeConfig
    from colme.node.owner.client import OwnerClient

    client = OwnerClient(NodeConfig.load(config))
    seen = client.status()
    # The first answer since the node's start waits for numpy: on a crowded machine, in silence.
    with plain_console(stderr=True).status(f"{seen.name} computes its answer"):
        estimate = client.estimate()
    if as_json:
        print_json({"status": asdict(seen), "estimate": estimate})
    else:
        _print(seen, estimate)
    if seen.troubles:
        raise typer.Exit(NOT_READY)


def _print(status: "Status", estimate: dict[str, Any] | None) -> None:
    console = plain_console()
    ready = "not ready" if status.troubles else "ready"
    lines = [
        f"{status.name}: {ready}, {_progress(status)}",
        f"  algorithm: {status.algorithm}",
        f"  {_describe(estimate)}",
        f"  {_others(status)}",
        f"  samples: {', '.join(f'{name} {n}' for name, n in asdict(status.samples).items())}",
        f"  privacy: {status.privacy}",
        f"  fingerprint: {status.fingerprint}, epoch {status.epoch}",
    ]
    for line in lines:
        console.print(printable(line))
    if status.neighbours:
        show(console, _table_of(status.neighbours))
    for trouble in status.troubles:
        console.print(printable(f"trouble: {trouble}"), style="red")


def _progress(status: "Status") -> str:
    if status.phase is None:
        return f"tick {status.round}"
    return f"round {status.round} ({status.rounds}), exchange: {status.phase}"


def _others(status: "Status") -> str:
    if status.records is None:
        return f"class: {status.class_size} with this node"
    barred = f"; barred: {', '.join(status.barred)}" if status.barred else ""
    return f"board {status.board}: {status.records} records{barred}; own origin {status.origin}"


def _describe(estimate: dict[str, Any] | None) -> str:
    if estimate is None:
        return "estimate: none yet, for want of a sample"
    low, high = _number(estimate["low"]), _number(estimate["high"])
    return (
        f"estimate: {_number(estimate['value'])} (95%: {low} to {high}, {_how(estimate)});"
        f" alone it would be {_number(estimate['alone'])}"
    )


def _how(estimate: dict[str, Any]) -> str:
    if estimate["why"] is not None:
        return f"alone: {estimate['why']}"
    classes = f" in {estimate['classes']} classes" if estimate["classes"] is not None else ""
    age = f", the oldest {estimate['oldest']:.0f} s old" if estimate["oldest"] is not None else ""
    return f"with {estimate['records']} releases of others{classes}{age}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"


def _table_of(neighbours: Sequence["NeighbourStatus"]) -> Table:
    rounds = any(one.accepted is not None for one in neighbours)
    special = ("class", "round", "late") if rounds else ("vouched for",)
    rows = []
    for one in neighbours:
        link = "connected" if one.connected else "away"
        alike = "same" if one.accepted else "other"
        rows.append(
            (
                one.name,
                one.address,
                f"{link}, suspect" if one.suspect else link,
                *((alike, one.round, one.late) if rounds else (one.vouched_for,)),
                one.last_error or "",
            )
        )
    return table_of(("neighbour", "address", "link", *special, "last error"), rows)
