"""`colme theory`: does collaboration pay at this privacy, by how much, from which epsilon on?"""

import json
from dataclasses import asdict
from math import inf, isfinite
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from colme.cli.values import numbers
from colme.errors import ConfigError
from colme.sim.graphs import random_component_sizes
from colme.theory import Prospect


def theory(
    agents: Annotated[int, typer.Option(help="Number of agents.", min=1)] = 200,
    degree: Annotated[int, typer.Option(help="Neighbours of each agent (random graph).")] = 5,
    means: Annotated[str, typer.Option(help="Means of the classes.")] = "0.2,0.4,0.8",
    sigma: Annotated[float, typer.Option(help="Standard deviation of a sample.")] = 0.5,
    epsilon: Annotated[
        float, typer.Option(help="Privacy of each sample (event level, replace-one); inf for none.")
    ] = 1.0,
    half_range: Annotated[
        float | None,
        typer.Option(
            help="Half the width of the data's bounds; sigma * sqrt(3) (uniform) if not given."
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(help="Samples after which to predict tracking.", min=1)
    ] = 30_000,
    draws: Annotated[
        int, typer.Option(help="Random graphs and placements to average.", min=1)
    ] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the random draws.", min=0)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else.")] = False,
) -> None:
    """Ask before joining: does collaboration pay, by how much, and from which epsilon on?

    The verdict is about the paper's algorithm: Theorem 1, Corollary 1 and Propositions 1 and 3.
    Beside it stands what to expect of tracking once classes are told apart. All of it is
    averaged over random regular graphs and random placements of the agents into classes.
    """
    classes = len(set(numbers("--means", means)))
    if not 0 < sigma < inf:
        raise ConfigError("--sigma", sigma, "a finite number greater than 0")
    prospect = Prospect.over(
        random_component_sizes(agents, degree, classes, draws, np.random.default_rng(seed)),
        sigma2=sigma * sigma,
        half_range=sigma * 3**0.5 if half_range is None else half_range,
        epsilon=epsilon,
        rounds=rounds,
    )
    if as_json:
        typer.echo(json.dumps(_as_plain(prospect), allow_nan=False))
    else:
        _print(prospect, epsilon, rounds)


def _as_plain(prospect: Prospect) -> dict[str, float | bool | None]:
    """JSON has no infinity: null for an epsilon that no finite value reaches."""
    values = asdict(prospect) | {"collaboration_pays": prospect.collaboration_pays}
    return {name: value if isfinite(value) else None for name, value in values.items()}


def _print(prospect: Prospect, epsilon: float, rounds: int) -> None:
    table = Table("", "t x MSE", "against alone", title="Average error per agent, for large t")
    for name, value in (
        ("alone (Proposition 1)", prospect.local),
        ("together, the paper's algorithm (Theorem 1)", prospect.theorem1),
        (f"together, tracking, at t = {rounds:,}", prospect.tracking),
        ("all raw data shared (Proposition 3)", prospect.ideal),
    ):
        table.add_row(name, f"{value:.4g}", f"x {value / prospect.local:.3g}")
    console = Console()
    console.print(table)
    verdict = "pays" if prospect.collaboration_pays else "does not pay"
    relation = "below" if prospect.collaboration_pays else "not below"
    console.print(
        f"At epsilon = {epsilon:g} the paper's algorithm [bold]{verdict}[/bold]: the noise variance"
        f" {prospect.sigma2_dp:.4g} is {relation} the bound of Corollary 1,"
        f" {prospect.corollary1_bound:.4g}."
    )
    if isfinite(prospect.smallest_epsilon):
        console.print(
            f"The paper's algorithm pays for every epsilon above {prospect.smallest_epsilon:.4g}."
        )
    else:
        console.print(
            "No epsilon makes the paper's algorithm pay: hardly anyone has two others of its class"
            " in reach."
        )
    console.print(
        "Of tracking no such verdict is known: it answers alone where it would be worse off"
        " together, and is predicted on random regular graphs only, late. Relay, which is"
        " recommended, learns from everybody whom a path connects: colme simulate tells."
    )
