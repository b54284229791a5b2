"""Tables on narrow terminals: names are folded between words, and nothing is ever cut off."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def show(console: Console, table: Table) -> None:
    """Columns to the right hold numbers, which stay in one piece; their headings may break.

    Where even that is too wide, lines are longer than the terminal: two rows that differ in what
    was cut off would look the same.
    """
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
    console.print(table)
    console.width = real


def _width(console: Console, table: Table) -> Measurement:
    unlimited = console.options.update(width=10_000)
    return Measurement.get(console, unlimited, table)
