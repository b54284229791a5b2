"""`colme bench`: how fast the simulator, or a node, is on this machine."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from colme.cli.tables import show


def bench(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else.")] = False,
    node: Annotated[bool, typer.Option("--node", help="Measure a node instead.")] = False,
    scale: Annotated[
        bool, typer.Option("--scale", help="Measure one run of 1,000, 10,000, ... agents instead.")
    ] = False,
    largest: Annotated[
        int,
        typer.Option(help="Agents of the largest, with --scale: 10 million take 4 GiB.", min=1_000),
    ] = 10_000_000,
    picture: Annotated[
        Path | None, typer.Option(help="With --scale, a file to draw it in: scale.svg.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of the fleet, with --node.", min=40)] = 300,
) -> None:
    """Measure the simulator: one thread, processor time, median of three.

    With --node: processor time for a message and durable commits, as ratios to a bare gRPC call and
    to bare SQLite measured in the same run; a fleet's rounds per second; an idle node's memory.

    With --scale: time and memory of an agent in one run at degree 10, against the bandwidth of the
    memory, which is measured too; each size in a process of its own.

    A run-round is one run of 200 agents by one round; an agent-round one agent by one round. Of
    the baselines, C-ColME and B-ColME are measured in Galante's setting (10,000 agents, degree 10,
    2,000 rounds), the others with 200 agents.
    """
    if node:
        from colme.cli.bench_node import bench_node

        bench_node(rounds=rounds, as_json=as_json)
        return
    if scale:
        from colme.cli.bench_scale import bench_scale

        bench_scale(largest=largest, picture=picture, as_json=as_json)
        return
    from colme.sim import speed

    first_use = speed.seconds_to_compile()
    costs = {
        degree: {rule: speed.microseconds_per_run_round(rule, degree) for rule in speed.RULES}
        for degree in speed.DEGREES
    }
    rates = {agents: speed.agent_rounds_per_second(agents) for agents in speed.LARGE_GRAPHS}
    baselines, growth = speed.baseline_rates(), speed.baseline_growth()
    if as_json:
        answer = {
            "us_per_run_round": {str(degree): row for degree, row in costs.items()},
            "agent_rounds_per_second": {str(agents): rate for agents, rate in rates.items()},
            "seconds_to_first_round": first_use,
            "baseline_agent_rounds_per_second": baselines,
            "baseline_ns_per_agent_round": growth,
        }
        typer.echo(json.dumps(answer))
        return
    console = Console()
    table = Table("rule", *(f"r = {degree}" for degree in costs), title="us per run-round")
    for rule in speed.RULES:
        table.add_row(rule, *(f"{row[rule]:.3f}" for row in costs.values()))
    show(console, table)
    for agents, rate in rates.items():
        console.print(f"one graph of {agents:,}: {rate:,.0f} agent-rounds per second")
    for rule, rate in baselines.items():
        console.print(f"{rule}: {rate:,.0f} agent-rounds per second")
    for name, costs_by in growth.items():
        listed = ", ".join(f"{parameter}: {cost:.0f}" for parameter, cost in costs_by.items())
        console.print(f"{name}, ns per agent-round: {listed}")
    console.print(f"first round after {first_use:.1f} s (compiled, or from the cache)")
