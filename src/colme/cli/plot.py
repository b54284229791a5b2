"""`colme plot`: a result as a figure."""

from pathlib import Path
from typing import Annotated

import typer

from colme.cli import folder as folders
from colme.report import curves
from colme.sim.study import load


def plot(
    result: Annotated[Path, typer.Argument(help="A result of colme simulate, or its folder.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figure.  Beside the result if not given.")
    ] = None,
) -> None:
    """Draw a result: error over time with confidence bands, as PNG, SVG and PDF."""
    if result.is_dir():
        folders.refuse_unfinished(result)
    dataset = load(result)
    folder = out or (result if result.is_dir() else result.parent)
    folders.prepare(folder)
    paths = curves.save(curves.mse_over_time(dataset), folder, "mse")
    folders.add(folder, paths)
    for path in paths:
        typer.echo(path)
