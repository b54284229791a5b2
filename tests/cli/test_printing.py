"""At any width, what a row is about can be read in full."""

import io
import re

import pytest
from rich.console import Console
from rich.table import Table

from colme.cli.printing import show

NAMES = ("private-c-colme, epsilon = 4", "private-c-colme, epsilon = inf", "c-colme, global reset")
NUMBERS = ("1.23e-05", "0.123", "0.999", "20.0", "1,234", "123")


def shown(width: int) -> list[str]:
    table = Table(title="paper: after 10,000 rounds")
    table.add_column("system")
    for heading in ("MSE", "MSE / Local", "within tolerance", "messages", "bytes", "memory"):
        table.add_column(heading, justify="right")
    for name in NAMES:
        table.add_row(name, *NUMBERS)
    out = io.StringIO()
    show(Console(file=out, width=width), table)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [30, 50, 60, 80, 100, 140])
def test_no_name_and_no_number_is_cut(width: int) -> None:
    lines = shown(width)
    assert "…" not in "".join(lines)
    cells = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in lines]
    rows = [row for row in cells if row]
    assert " ".join(row[0] for row in rows).split() == " ".join(("system", *NAMES)).split()
    assert [tuple(row[1:]) for row in rows].count(NUMBERS) == len(NAMES)


def test_at_80_columns_it_fits() -> None:
    assert max(map(len, shown(80))) <= 80


def test_where_there_is_room_headings_stay_whole() -> None:
    assert any("MSE / Local" in line for line in shown(140))


@pytest.mark.parametrize("text", ["ward [north]", "[/x]", "[bold]b[/bold]"])
def test_text_of_users_is_never_taken_for_markup(text: str) -> None:
    table = Table("site", title=text)
    table.add_row(text)
    out = io.StringIO()
    show(Console(file=out, width=140), table)
    assert out.getvalue().count(text) == 2
