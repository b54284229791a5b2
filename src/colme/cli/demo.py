"""`colme demo`: thirty real agents in memory."""

from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from colme.sim.demonstration import AGENTS, DEGREE, MEANS, Demonstration, demonstrate


def demo(
    rounds: Annotated[int, typer.Option(help="Rounds, one sample per agent each.", min=1)] = 300,
    epsilon: Annotated[
        float, typer.Option(help="Privacy of each sample (event level, replace-one); inf for none.")
    ] = 4.0,
    seed: Annotated[int, typer.Option(help="Seed of graph, classes, data and noise.", min=0)] = 1,
) -> None:
    """Watch thirty agents find their classes and learn their means together.

    Real agents exchange real messages in memory: each has ten neighbours and one of three means,
    and sees nothing but its own samples and what its neighbours release.
    """
    console = Console()
    steps = track(
        range(rounds), "rounds", console=console, transient=True, disable=not console.is_terminal
    )
    result = demonstrate(steps, epsilon=epsilon, seed=seed)
    console.print(
        f"{AGENTS} agents with {DEGREE} neighbours each, {rounds} rounds of one sample,"
        f" epsilon = {epsilon:g} for each sample (event level, replace-one)"
    )
    console.print(_errors(result))
    console.print(_groups(result))


def _errors(result: Demonstration) -> Table:
    table = Table(title="Root mean squared error")
    for heading in ("class", "agents", "alone", "together", "all raw data shared"):
        table.add_column(heading, justify="right")
    rows = [(f"mean {mean:g}", result.truth == mean) for mean in MEANS]
    for name, members in [*rows, ("all", np.full(AGENTS, True))]:
        errors = (
            f"{np.sqrt(np.mean((answer - result.truth)[members] ** 2)):.5f}"
            if members.any()
            else "-"
            for answer in (result.local, result.estimate, result.ideal)
        )
        table.add_row(name, str(members.sum()), *errors)
    return table


def _groups(result: Demonstration) -> Table:
    table = Table(title="The class structure they found")
    for heading in ("group", "members", "true means"):
        table.add_column(heading)
    for number, group in enumerate(np.unique(result.group), start=1):
        members = np.flatnonzero(result.group == group)
        means = ", ".join(f"{mean:g}" for mean in np.unique(result.truth[members]))
        table.add_row(str(number), " ".join(map(str, members)), means)
    return table
