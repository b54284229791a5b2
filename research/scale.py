"""What the algorithms do at scale: samples until the error is half of Local's, and what is sent.

The paper's setting at epsilon = 4 (pure epsilon-DP for each sample: event level, replace-one,
counts public). docs/scale.md has the result.
"""

import time
from itertools import product
from typing import Annotated, Any

import numpy as np
import typer
import xarray as xr

from colme.cli.running import words
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate

EPSILON = 4
ROUNDS = {"paper": 3_000, "relay": 300}
"""Enough for each to get there, as measured with few agents."""
AGENTS_IN_ALL = 2_000
"""In all runs together, at least."""
ASKED = 24


def table(algorithm: str) -> dict[str, Any]:
    """As a scenario names it; of relay some answers are computed."""
    return {"algorithm": algorithm} | ({"measured": ASKED} if algorithm == "relay" else {})


def played(algorithm: str, agents: int, degree: int) -> xr.Dataset:
    """So many agents, in runs enough to see something."""
    scenario = Scenario.build(
        agents=agents,
        graph={"degree": degree},
        epsilon=EPSILON,
        rounds=ROUNDS[algorithm],
        recorded=40,
        eventful=False,
        runs=max(2, AGENTS_IN_ALL // agents) if agents < 100_000 else 1,
        seed=17,
        algorithms=[table(algorithm)],
    )
    return simulate(scenario, threads=1)


def half_of_local(result: xr.Dataset) -> tuple[str, float]:
    """The samples from which on the error is at most that; and the ratio at the end."""
    one = result.isel(algorithm=0, epsilon=0, degree=0)
    ratio = (one.mse / one.mse_alone).values
    above = np.flatnonzero(ratio > 0.5)
    rounds = one.t.values
    if above.size == 0:
        return f"{rounds[0]}", float(ratio[-1])
    last = int(above[-1])
    if last + 1 == rounds.size:
        return f"more than {rounds[-1]}", float(ratio[-1])
    # Where the line between the two recorded rounds crosses a half, on log scales.
    steps = np.log(ratio[last : last + 2])
    share = (np.log(0.5) - steps[0]) / (steps[1] - steps[0])
    crossing = np.exp(np.log(rounds[last]) + share * np.log(rounds[last + 1] / rounds[last]))
    return f"{crossing:.0f}", float(ratio[-1])


def scale(
    agents: Annotated[list[int], typer.Argument(help="Agents of a run, one or several numbers.")],
    degree: Annotated[str, typer.Option(help="Neighbours of each, with commas.")] = "5,20",
    algorithm: Annotated[str, typer.Option(help="With commas.")] = ",".join(ROUNDS),
) -> None:
    """Count the samples until the error is half of Local's, and what is sent until then."""
    print(
        "| algorithm | agents | degree | samples until half of Local | MSE / Local at the end |"
        " messages a round | bytes a round | seconds |\n|---|---|---|---|---|---|---|---|"
    )
    for name, neighbours, many in product(words(algorithm), map(int, words(degree)), agents):
        start = time.process_time()
        result = played(name, many, neighbours)
        until, end = half_of_local(result)
        messages, payload = float(result.messages.mean()), float(result.payload.mean())
        seconds = time.process_time() - start
        print(
            f"| {name} | {many:,} | {neighbours} | {until} | {end:.3f} at {ROUNDS[name]} |"
            f" {messages:.1f} | {payload:.0f} | {seconds:.0f} |",
            flush=True,
        )
