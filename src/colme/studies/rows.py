"""Rows of a table as numbers of sites, and those that are none: counted, and named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import isfinite, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colme.errors import ConfigError
from colme.studies.columns import Columns

NAMED = 5
"""Rows that are named of each kind of fault."""


@dataclass(frozen=True, slots=True)
class BadRows:
    """One kind of fault, and the rows that have it."""

    fault: str
    rows: tuple[int, ...]
    seen: tuple[str, ...]
    """What stood in the first of them."""

    def __str__(self) -> str:
        count = len(self.rows)
        some = [
            f"row {row} ({text!r})" if text else f"row {row}"
            for row, text in zip(self.rows, self.seen, strict=False)
        ]
        more = ", ..." if count > len(some) else ""
        return f"{count:,} {'row' if count == 1 else 'rows'} {self.fault}: {', '.join(some)}{more}"


@dataclass(frozen=True, slots=True)
class Read:
    """What a table holds: of every site its values, in their order, and what was left out."""

    values: Mapping[str, NDArray[np.float64]]
    bad: tuple[BadRows, ...]
    rows: int


class Faults:
    """Collected while a table is read."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        self._seen: dict[str, list[str]] = {}

    def add(self, fault: str, row: int, seen: Any) -> None:
        """A row that can't be used."""
        self._rows.setdefault(fault, []).append(row)
        texts = self._seen.setdefault(fault, [])
        if len(texts) < NAMED:
            texts.append("" if seen is None else str(seen)[:40])

    def told(self) -> tuple[BadRows, ...]:
        """Kind by kind."""
        return tuple(
            BadRows(fault, tuple(rows), tuple(self._seen[fault]))
            for fault, rows in self._rows.items()
        )


def read_rows(columns: Columns, *, site: str, value: str, time: str | None) -> Read:
    """Every row that has a site, a finite number and, where asked for, a time."""
    faults = Faults()
    moments = None if time is None else _moments(columns[time], time)
    found: dict[str, list[tuple[float, float]]] = {}
    for place, (name, cell) in enumerate(zip(columns[site], columns[value], strict=True)):
        row = columns.first + place
        if _empty(name):
            faults.add(f"without a {site}", row, None)
            continue
        if _empty(cell):
            faults.add(f"without a {value}", row, None)
            continue
        number = as_number(cell, columns.decimal_comma)
        if number is None:
            faults.add(f"whose {value} is not a finite number", row, cell)
            continue
        moment = place if moments is None else moments[place]
        if moment is None:
            faults.add(f"without a {time}", row, None)
            continue
        found.setdefault(str(name), []).append((moment, number))
    values = {}
    for name, pairs in found.items():
        if time is not None:
            pairs.sort(key=lambda pair: pair[0])  # rows of one moment stay in their order
        values[name] = np.array([number for _, number in pairs])
    return Read(values, faults.told(), len(columns[site]))


def read_sites(sites: Mapping[Any, Any]) -> Read:
    """A mapping from sites to their values."""
    faults = Faults()
    values, rows = {}, 0
    for name, given in sites.items():
        numbers = []
        try:
            cells = list(given)
        except TypeError:
            raise ConfigError("data", {name: given}, "a list of values for each site") from None
        for place, cell in enumerate(cells):
            number = None if _empty(cell) else as_number(cell, False)
            if number is None:
                faults.add(f"of {name} without a finite number", place, cell)
            else:
                numbers.append(number)
        rows += len(cells)
        values[str(name)] = np.array(numbers, np.float64)
    return Read(values, faults.told(), rows)


def as_number(cell: Any, decimal_comma: bool) -> float | None:
    """None for what is none, or not finite. A comma may stand for the point alone."""
    if isinstance(cell, str):
        if decimal_comma and cell.count(",") == 1 and "." not in cell:
            cell = cell.replace(",", ".")
        if "_" in cell:  # Python would take it
            return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _empty(cell: Any) -> bool:
    """None, an empty text, or what dataframes have for a cell that is not there."""
    match cell:
        case None:
            return True
        case str():
            return not cell
        case int():
            return False
        case float():
            return isnan(cell)
        case _:
            return str(cell) in ("NaT", "<NA>", "nan")


def _moments(cells: Sequence[Any], time: str) -> list[float | None]:
    """All as numbers, or all as dates: what can be put in order. None where there is nothing."""
    present = [cell for cell in cells if not _empty(cell)]
    numbers = [as_number(cell, False) for cell in present]
    if all(number is not None for number in numbers):
        read = dict(zip(map(str, present), numbers, strict=True))
    else:
        read = {}
        for cell in present:
            moment = _date(cell)
            if moment is None:
                expected = "numbers alone, or dates such as 2026-01-31 or 2026-01-31T12:00 alone"
                raise ConfigError(time, cell, expected)
            read[str(cell)] = moment
    return [None if _empty(cell) else read[str(cell)] for cell in cells]


def _date(cell: Any) -> float | None:
    """In seconds; a moment without a time zone is taken as one of UTC."""
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = cell.isoformat()
    if isinstance(cell, str):
        try:
            cell = datetime.fromisoformat(cell)
        except ValueError:
            return None
    if not isinstance(cell, datetime):
        return None
    return (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp()
