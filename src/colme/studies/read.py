"""Samples of every site, from a table or a mapping; unusable rows are counted and named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colme.columns import Columns, as_numbers, columns_of, is_empty
from colme.errors import ConfigError

NAMED = 5
"""Rows that are named for each kind of fault."""


@dataclass(frozen=True, slots=True)
class BadRows:
    """One kind of fault, and the rows that have it. No cell is quoted: reports are passed on."""

    fault: str
    rows: tuple[int, ...]

    def __str__(self) -> str:
        count = len(self.rows)
        some = ", ".join(f"row {row}" for row in self.rows[:NAMED])
        more = ", ..." if count > NAMED else ""
        return f"{count:,} {'row' if count == 1 else 'rows'} {self.fault}: {some}{more}"


@dataclass(frozen=True, slots=True)
class Read:
    """Values of every site, in their order, and the rows that were not used."""

    values: Mapping[str, NDArray[np.float64]]
    bad: tuple[BadRows, ...]
    rows: int


def read(data: Any, *, site: str | None, value: str | None, time: str | None) -> Read:
    """Read a table by its columns, or a mapping from sites to their values.

    Rows are in the order of the column `time`, if there is one.

    Raises
    ------
    ConfigError
        If a column is missing, or the file can't be read.
    """
    if site is None and value is None and isinstance(data, Mapping):
        if time is not None:
            raise ConfigError("time", time, "none: values of a mapping are in their order")
        return _from_mapping(data)
    for field, name in (("site", site), ("value", value)):
        if not isinstance(name, str):
            raise ConfigError(field, name, "the name of a column")
    assert site is not None
    assert value is not None
    if site == value:
        raise ConfigError("value", value, "a column other than that of the sites")
    names = {"site": site, "value": value} | ({} if time is None else {"time": time})
    return _from_columns(columns_of(data, names), site, value, time)


def _from_columns(columns: Columns, site: str, value: str, time: str | None) -> Read:
    faults: dict[str, list[int]] = {}
    numbers = as_numbers(columns["value"], "value", columns.first)
    moments: Sequence[float | None] = range(len(numbers))
    if time is not None:
        moments = _moments(columns["time"], time, columns.first)
    found: dict[str, list[tuple[float, float]]] = {}
    rows = zip(columns["site"], columns["value"], numbers, moments, strict=True)
    for row, (name, cell, number, moment) in enumerate(rows, start=columns.first):
        if is_empty(name):
            faults.setdefault(f"without a {site}", []).append(row)
        elif is_empty(cell):
            faults.setdefault(f"without a {value}", []).append(row)
        elif number is None:
            faults.setdefault(f"whose {value} is not a finite number", []).append(row)
        elif moment is None:
            faults.setdefault(f"without a {time}", []).append(row)
        else:
            found.setdefault(str(name), []).append((moment, number))
    values = {}
    for name, pairs in found.items():
        pairs.sort(key=lambda pair: pair[0])  # rows of one moment stay in their order
        values[name] = np.array([number for _, number in pairs])
    return Read(values, _bad(faults), len(numbers))


def _from_mapping(sites: Mapping[Any, Any]) -> Read:
    faults: dict[str, list[int]] = {}
    values, rows = {}, 0
    for name, given in sites.items():
        try:
            cells = list(given)
        except TypeError:
            raise ConfigError("data", {name: given}, "a list of values for each site") from None
        numbers = as_numbers(cells, "data", 0)
        missing = [row for row, number in enumerate(numbers) if number is None]
        if missing:
            faults[f"of {name} without a finite number"] = missing
        rows += len(cells)
        values[str(name)] = np.array([one for one in numbers if one is not None], np.float64)
    return Read(values, _bad(faults), rows)


def _bad(faults: Mapping[str, Sequence[int]]) -> tuple[BadRows, ...]:
    return tuple(BadRows(fault, tuple(rows)) for fault, rows in faults.items())


def _moments(cells: Sequence[Any], time: str, first: int) -> list[float | None]:
    """Return all cells as numbers, or all as dates in seconds; None for an empty cell."""
    numbers = as_numbers(cells, "time", first)
    empty = [is_empty(cell) for cell in cells]
    if numbers.count(None) == sum(empty):
        return numbers
    moments = [_date(cell) for cell in cells]
    for row, (cell, moment) in enumerate(zip(cells, moments, strict=True), start=first):
        if moment is None and not empty[row - first]:
            expected = f"only numbers in {time}, or only dates such as 2026-01-31T12:00"
            raise ConfigError("time", f"{cell} (row {row})", expected)
    return moments


def _date(cell: Any) -> float | None:
    """Return a date in seconds, or None if it is not one; without a time zone it is in UTC."""
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
