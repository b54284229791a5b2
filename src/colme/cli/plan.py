"""`colme plan`: forecast, before joining, what collaboration would be worth."""

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite, isinf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console

from colme.cli.printing import plain_console, print_json, show, table_of
from colme.cli.running import Epsilon, Json, Seed, numbers, words
from colme.errors import ConfigError
from colme.rules.release import level

if TYPE_CHECKING:  # `--help` waits for nothing that computes
    from colme.plan.forecast import Forecast
    from colme.plan.question import Point, Question
    from colme.theory import Prospect

GRAPHS = 400
"""Random graphs and placements for the paper's formulas: enough for three digits."""


def plan(
    agents: Annotated[int, typer.Option(help="Number of agents.", min=2)] = 200,
    degree: Annotated[int, typer.Option(help="Neighbours of each agent on a random graph.")] = 5,
    means: Annotated[str, typer.Option(help="Means of the classes.")] = "0.2,0.4,0.8",
    spread: Annotated[
        float,
        typer.Option(help="Standard deviation of the agents' means around that of their class."),
    ] = 0.0,
    sigma: Annotated[float, typer.Option(help="Standard deviation of a sample.")] = 0.5,
    epsilon: Epsilon = 1.0,
    bounds: Annotated[
        str | None,
        typer.Option(
            help="Public lower and upper limit of a sample.  As wide as those of uniform data with"
            " this sigma if not given.",
            metavar="LO,HI",
        ),
    ] = None,
    algorithm: Annotated[str, typer.Option(help="relay or paper; several with commas.")] = "relay",
    samples: Annotated[int, typer.Option(help="Samples of each agent at the end.", min=2)] = 30_000,
    seed: Seed = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for a figure.")] = None,
    as_json: Json = False,
) -> None:
    """Forecast whether collaboration pays, from how many samples on, and at which epsilon.

    Also forecasts what wider bounds, fewer agents, fewer neighbours or a smaller epsilon would
    cost. For relay, the releases of all agents are drawn and the library answers from them
    (variances known). For the paper's algorithm, formulas apply once classes are told apart; its
    Theorem 1, Corollary 1 and Propositions 1 and 3 are printed too.
    """
    import numpy as np

    from colme.algorithms import resolved
    from colme.config import validated
    from colme.experiment.run import require_writable
    from colme.plan.forecast import forecast
    from colme.plan.question import AlgorithmName, Question
    from colme.sim.graphs import random_component_sizes
    from colme.theory import Prospect

    fields = {
        "agents": agents,
        "degree": degree,
        "means": numbers("--means", means),
        "spread": spread,
        "sigma": sigma,
        "half_range": None if bounds is None else _half_range(bounds),
        "epsilon": epsilon,
    }
    question = validated(Question, fields)
    prospect = Prospect.over(
        random_component_sizes(
            agents, degree, question.classes, GRAPHS, np.random.default_rng(seed)
        ),
        sigma2=question.sigma2,
        half_range=question.bound,
        epsilon=epsilon,
    )
    if out is not None:
        require_writable(out)
    forecasts = [
        forecast(question, cast(AlgorithmName, name), samples=samples, seed=seed)
        for name in map(resolved, words(algorithm))
    ]
    paths: list[Path] = []
    # Without a figure, matplotlib is not imported.
    if out is not None:
        from colme.report import curves

        paths = curves.save(curves.over_samples(forecasts), out, "plan")
    if as_json:
        values = asdict(prospect) | {"collaboration_pays": prospect.collaboration_pays}
        asked = question.model_dump()
        told = [asdict(one) | {"question": asked, "pays": one.pays} for one in forecasts]
        print_json(values | {"forecasts": told})
        return
    console = plain_console()
    for one in forecasts:
        _print_verdict(console, one)
    _print_forecasts(console, forecasts)
    _print_paper(console, prospect, question)
    if paths:
        console.print("Saved", *map(str, paths))


def _half_range(bounds: str) -> float:
    limits = numbers("--bounds", bounds)
    if len(limits) != 2 or not limits[0] < limits[1]:
        raise ConfigError("--bounds", bounds, "two numbers, the lower one first, such as 0,10")
    return (limits[1] - limits[0]) / 2


def _print_verdict(console: Console, one: "Forecast") -> None:
    question, end = one.question, one.curve[-1]
    if one.pays_from is None:
        verdict = f"does not pay within {end.samples:,} samples"
    else:
        verdict = f"pays from about {one.pays_from:,} samples on"
    console.print(
        f"At epsilon = {level(question.epsilon)} {one.algorithm} [bold]{verdict}[/bold];"
        f" at {end.samples:,} the expected error is {_ratio(end)} times that of staying alone.",
        markup=True,
    )
    if one.smallest_epsilon is None:
        least = "No epsilon makes it pay"
    elif isinf(one.smallest_epsilon):
        least = "It would pay without privacy alone"
    else:
        least = f"It pays from epsilon = {one.smallest_epsilon:.2g} on"
    console.print(f"{least}, with {end.samples:,} samples each.")


def _print_forecasts(console: Console, forecasts: Sequence["Forecast"]) -> None:
    names = [one.algorithm for one in forecasts]
    points = zip(*(one.curve for one in forecasts), strict=True)
    rows = ((f"{row[0].samples:,}", *map(_ratio, row)) for row in points)
    show(console, table_of(("samples of each", *names), rows, title="Expected error / alone"))
    for one in forecasts:
        first = one.changes[0]
        headings = (
            f"{one.algorithm}, if it were",
            f"at {first.early.samples:,} samples",
            f"at {first.late.samples:,}",
        )
        changes = ((each.what, _ratio(each.early), _ratio(each.late)) for each in one.changes)
        show(console, table_of(headings, changes))


def _ratio(point: "Point") -> str:
    if isnan(point.ratio):
        return "1 or more"
    error = point.standard_error
    return f"{point.ratio:.3g}" + (f" ± {error:.1g}" if isfinite(error) and error else "")


def _print_paper(console: Console, prospect: "Prospect", question: "Question") -> None:
    if question.spread > 0:
        return  # no two agents have the same mean, which is what the paper is about
    rows = (
        (name, f"{value:.4g}", f"x {value / prospect.local:.3g}")
        for name, value in (
            ("alone (Proposition 1)", prospect.local),
            ("together, the paper's algorithm (Theorem 1)", prospect.theorem1),
            ("all raw data shared within a class (Proposition 3)", prospect.ideal),
        )
    )
    title = "The paper's formulas, for large t"
    show(console, table_of(("", "t x MSE", "against alone"), rows, title=title))
    verdict = "pays" if prospect.collaboration_pays else "does not pay"
    relation = "below" if prospect.collaboration_pays else "not below"
    console.print(
        f"At epsilon = {level(question.epsilon)} the paper's algorithm {verdict} in the end: the"
        f" noise variance {prospect.sigma2_dp:.4g} is {relation} the bound of Corollary 1,"
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
