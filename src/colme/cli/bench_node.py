"""`colme bench --node`: what a node costs on this machine."""

import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from rich.console import Console

from colme.node.trial import measure


def bench_node(*, rounds: int, as_json: bool) -> None:
    """Measure and print."""
    console = Console(stderr=True)
    with TemporaryDirectory(prefix="colme-bench-") as folder, console.status("") as status:
        speed = measure(Path(folder), rounds=rounds, progress=status.update)
    if as_json:
        ratios = {"message_ratio": speed.message_ratio, "commit_ratio": speed.commit_ratio}
        typer.echo(json.dumps(asdict(speed) | ratios))
        return
    typer.echo(
        f"processor time for a message: {speed.message_us:.0f} us, for a bare gRPC call with the "
        f"same TLS and size: {speed.echo_us:.0f} us; ratio {speed.message_ratio:.2f} (at most 1.5)"
    )
    typer.echo(
        f"durable commits: {speed.commits_per_second:,.0f} per second, bare SQLite: "
        f"{speed.bare_commits_per_second:,.0f}; ratio {speed.commit_ratio:.2f} (at least 0.5)"
    )
    typer.echo(
        f"12 nodes with 4 neighbours each: {speed.rounds_per_second:.1f} rounds per second, on "
        f"{speed.cores_used:.2f} of {speed.cores} cores"
    )
    for whose, taken, goal in (
        ("an idle node", speed.idle, " (at most 80)"),
        ("one that has answered", speed.answered, ""),
    ):
        typer.echo(
            f"memory of {whose}: {taken.resident:.0f} MB resident{goal}; "
            f"{taken.proportional:.0f} with a share of what it shares, {taken.own:.0f} its own"
        )
