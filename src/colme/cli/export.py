"""`colme export`: a result as CSV."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from colme.cli import folder as folders
from colme.sim.study import load, save_csv, table


def export(
    result: Annotated[Path, typer.Argument(help="A result of colme simulate, or its folder.")],
    of: Annotated[
        str, typer.Option(help="averages; or agents, classes, runs, answers if they were kept.")
    ] = "averages",
    out: Annotated[Path | None, typer.Option(help="A file.  Standard output if not given.")] = None,
) -> None:
    """Write a result as CSV: a row for each algorithm, epsilon, degree and recorded round."""
    dataset = load(result)
    if out is None:
        table(dataset, of).to_csv(sys.stdout, index=False)
        return
    folders.prepare(out.parent)
    save_csv(dataset, out, of=of)
    typer.echo(out)
