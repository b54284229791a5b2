"""`colme plot`: a result as a figure."""

from pathlib import Path
from typing import Annotated

import typer

from colme.cli.running import prepare_folder
from colme.report import curves
from colme.sim.study import load


def plot(
    result: Annotated[Path, typer.Argument(help="A result of colme simulate, or its folder.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figure.  Beside the result if not given.")
    ] = None,
) -> None:
    """Draw a result: error over time with confidence bands, as PNG, SVG and PDF."""
    dataset = load(result)
    folder = out or (result if result.is_dir() else result.parent)
    prepare_folder(folder)
    for path in curves.save(curves.mse_over_time(dataset), folder, "mse"):
        typer.echo(path)
