"""`colme plot`: a result as a figure."""

from pathlib import Path
from typing import Annotated, Any

import typer

from colme.cli.values import numbers, whole_numbers, words
from colme.errors import ConfigError
from colme.experiment import folder as folders
from colme.report import curves
from colme.report.drawing import Drawing, Scale, draw
from colme.sim.results import load


def plot(
    result: Annotated[Path, typer.Argument(help="A result of colme simulate, or its folder.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figure.  Beside the result if not given.")
    ] = None,
    quantity: Annotated[
        str,
        typer.Option(
            help="mse, type_one, coverage, ...; if kept: class_mse, agent_mse, run_mse, answer."
        ),
    ] = "mse",
    over_local: Annotated[
        bool, typer.Option("--over-local", help="As a multiple of what the same agents have alone.")
    ] = False,
    x: Annotated[Scale, typer.Option(help="Axis of time.")] = "log",
    y: Annotated[
        Scale | None, typer.Option(help="The other axis.  Log for errors, else linear.")
    ] = None,
    algorithm: Annotated[
        list[str] | None, typer.Option(help="Only these: with commas, or given several times.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Only these: 1,4.")] = None,
    run: Annotated[
        str | None, typer.Option(help="Of what was kept of runs, only these; of answers, 0.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Of what was kept of agents, only these.")
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", help="png, svg, pdf, ...: with commas.")
    ] = ",".join(curves.FORMATS),
    size: Annotated[str | None, typer.Option(help="Width x height in inches: 8x5.")] = None,
) -> None:
    """Draw a result over time with 95% confidence bands: errors, or any other quantity.

    class_mse --over-local shows who is harmed: above 1, a class had better stayed alone.
    """
    if result.is_dir():
        folders.refuse_unfinished(result)
    dataset = load(result)
    drawing = Drawing(
        quantity=quantity,
        over_local=over_local,
        x=x,
        y=y,
        algorithms=_names(algorithm, dataset.algorithm.values.tolist()),
        epsilons=None if epsilon is None else numbers("--epsilon", epsilon),
        runs=None if run is None else whole_numbers("--run", run),
        agents=None if agent is None else _agents(agent, dataset),
        size=None if size is None else _size(size),
    )
    folder = out or (result if result.is_dir() else result.parent)
    folders.require_writable(folder)
    paths = curves.save(draw(dataset, drawing), folder, drawing.name, words(formats))
    folders.add_files(folder, paths)
    for path in paths:
        typer.echo(path)


def _names(given: list[str] | None, known: list[str]) -> list[str] | None:
    """A name may have a comma in it."""
    if given is None:
        return None
    return [name for text in given for name in ([text] if text in known else words(text))]


def _agents(text: str, dataset: Any) -> list[Any]:
    """By number, or as the nodes of the graph are called."""
    numbered = "agent" in dataset.coords and dataset.agent.dtype.kind == "i"
    return list(whole_numbers("--agent", text)) if numbered else list(words(text))


def _size(text: str) -> tuple[float, float]:
    width, _, height = text.partition("x")
    try:
        inches = float(width), float(height)
    except ValueError:
        inches = 0.0, 0.0
    if not all(0.5 <= one <= 100 for one in inches):
        raise ConfigError("--size", text, "width x height in inches, such as 8x5")
    return inches
