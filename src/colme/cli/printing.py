"""Print results: sentences and tables for people, JSON for programs, and all text as it is."""

import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

if TYPE_CHECKING:
    from colme.experiment.run import RunResult

WIDTH = 140
"""Characters of tables that go to a file."""


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console that shows text as it is and leaves the breaks of lines to the terminal."""
    console = Console(stderr=stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDTH
    return console


def table_of(
    headings: Iterable[str],
    rows: Iterable[Iterable[object]],
    *,
    title: str | None = None,
    text: Collection[str] | None = None,
) -> Table:
    """Return a table. Columns that `text` does not name hold numbers; without it, all are text."""
    table = Table(title=title)
    for heading in headings:
        left = text is None or heading in text
        table.add_column(heading, justify="left" if left else "right")
    for row in rows:
        table.add_row(*map(printable, row))
    return table


def printable(value: object) -> str:
    """Return a value as text. What others wrote must not command the terminal."""
    return "".join(mark if mark.isprintable() else "?" for mark in str(value))


def show(console: Console, table: Table) -> None:
    """Print a table whose right-justified columns hold numbers, which are never broken.

    Other cells fold between words, and headings of numbers may break. If that is still too wide,
    lines are longer than the terminal: two rows that differ in what was cut off would look the
    same. Brackets in a cell or the title are text, not rich's markup: they may be names of users.
    """
    if isinstance(table.title, str):
        table.title = escape(table.title)
    numbers = [column for column in table.columns if column.justify == "right"]
    for column in table.columns:
        column.overflow = "fold"
    for column in numbers:
        column.no_wrap = True
    if _width(console, table).maximum > console.width:
        for column in numbers:
            column.header = str(column.header).replace(" / ", " /\n").replace(" ", "\n")
            column.header = column.header.replace("\n/", " /")
    real = console.width
    console.width = max(real, _width(console, table).minimum)
    # A soft wrap would leave all breaks to the terminal: cells have to break within their column.
    console.print(table, markup=False, soft_wrap=False)
    console.width = real


def _width(console: Console, table: Table) -> Measurement:
    unlimited = console.options.update(width=10_000, markup=False)
    return Measurement.get(console, unlimited, table)


def print_json(value: Any, *, infinity: str | None = None) -> None:
    """Print one JSON object. JSON has neither NaN, which is null, nor infinity."""
    from colme.config import as_json

    typer.echo(json.dumps(as_json(value, infinity=infinity), allow_nan=False))


def print_files(outcome: "RunResult[Any]") -> None:
    """Print the names of the files that a run wrote, or had written before."""
    if outcome.files:
        typer.echo(f"{said(outcome)} {' '.join(map(str, outcome.files))}")


def said(outcome: "RunResult[Any]") -> str:
    """Return what stands before the names of the files."""
    return "Saved" if outcome.computed else "Already done, nothing was computed again:"
