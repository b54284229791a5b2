"""`colme bench --scale`: what an agent costs in a run of a thousand, and in one of ten million."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from colme.cli.tables import show
from colme.report.scale import cost_by_size
from colme.sim import scale


def bench_scale(*, largest: int, picture: Path | None, as_json: bool) -> None:
    """Measure, size by size, and show."""
    console = Console(stderr=True)
    measured = []
    for size in scale.sizes(largest, os.cpu_count() or 1):
        measured.append(size)
        console.print(f"{size.agents:,} agents: measured", highlight=False)
    # Last: a process begins with the peak of the one that started it.
    bandwidth = scale.bandwidth()
    if picture is not None:
        alone = [size for size in measured if size.threads == 1]
        cost_by_size(alone, bandwidth).savefig(picture)
    if as_json:
        answer = {"bandwidth": bandwidth, "sizes": [asdict(size) for size in measured]}
        typer.echo(json.dumps(answer))
        return
    show(Console(), _table(measured, bandwidth))
    typer.echo(f"memory: {bandwidth / 1e9:.1f} GB/s, read and written by one thread")


_COLUMNS = (
    "agents",
    "threads",
    "ns",
    "million/s",
    "of bandwidth",
    "built s",
    "graph B",
    "beyond B",
    "peak B",
)


def _table(measured: list[scale.Size], bandwidth: float) -> Table:
    run = f"one run, degree {scale.DEGREE}, Bernstein's rule"
    table = Table(title=f"{run}: agent-rounds, and bytes of an agent")
    for heading in _COLUMNS:
        table.add_column(heading, justify="right")
    for size in measured:
        table.add_row(
            f"{size.agents:,}",
            str(size.threads),
            f"{size.nanoseconds:.0f}",
            f"{size.agent_rounds_per_second / 1e6:.1f}",
            f"{size.share_of(bandwidth):.2f}",
            f"{size.built_seconds:.2f}",
            f"{size.graph_bytes:.0f}",
            f"{size.held_bytes:.0f}",
            f"{size.peak_bytes:.0f}",
        )
    return table
