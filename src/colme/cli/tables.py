"""Print tables: nothing is cut off on a narrow terminal, and text is shown as it is."""

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table


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
    console.print(table, markup=False)
    console.width = real


def _width(console: Console, table: Table) -> Measurement:
    unlimited = console.options.update(width=10_000, markup=False)
    return Measurement.get(console, unlimited, table)
