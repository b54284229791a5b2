"""`colme plot`: a result as a figure."""

from pathlib import Path
from typing import Annotated

import typer

from colme.cli.running import numbers, words


def plot(
    result: Annotated[Path, typer.Argument(help="Result of colme simulate, or its folder.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figure.  That of the result if not given.")
    ] = None,
    quantity: Annotated[
        str,
        typer.Option(
            help="mse, type_one, coverage, ...; if kept: class_mse, agent_mse, run_mse, answer."
        ),
    ] = "mse",
    over_local: Annotated[
        bool, typer.Option("--over-local", help="Divide by the error of the same agents alone.")
    ] = False,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            help="Algorithms to draw: with commas, or given several times.  All if not given."
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Epsilons to draw: 1,4.  All if not given.")
    ] = None,
) -> None:
    """Draw a result over time as PNG, SVG and PDF, with 95% confidence bands.

    `--quantity class_mse --over-local` shows who is harmed: above 1, a class has a smaller error
    alone. For other axes, a part of a result or another size use colme.report.drawing in Python.
    """
    from colme.experiment.run import add_files, refuse_unfinished, require_writable
    from colme.report import curves
    from colme.report.drawing import Drawing, draw
    from colme.sim.results import load

    if result.is_dir():
        refuse_unfinished(result)
    dataset = load(result)
    drawing = Drawing(
        quantity=quantity,
        over_local=over_local,
        algorithms=_names(algorithm, dataset.algorithm.values.tolist()),
        epsilons=None if epsilon is None else numbers("--epsilon", epsilon),
    )
    folder = out or (result if result.is_dir() else result.parent)
    require_writable(folder)
    paths = curves.save(draw(dataset, drawing), folder, drawing.name)
    add_files(folder, paths)
    for path in paths:
        typer.echo(path)


def _names(given: list[str] | None, known: list[str]) -> list[str] | None:
    """Split at commas, except in the name of an algorithm that has one."""
    if given is None:
        return None
    return [name for text in given for name in ([text] if text in known else words(text))]
