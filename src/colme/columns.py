"""Tables as people have them: columns of a CSV or Parquet file, any dataframe, or a mapping.

`columns_of` returns cells as they were written, `as_numbers` what they mean, and `read` the samples
of every site. Unusable rows are counted and named.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812 (an exception like its neighbour)

import numpy as np
from numpy.typing import NDArray

from colme.errors import ConfigError, needs, one_of

PARQUET = (".parquet", ".pq")

WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""First bytes of a spreadsheet's own file: xlsx and ods are zip archives, xls is older."""

ENCODINGS = ("utf-8-sig", "utf-16", "cp1252")
"""Tried in this order. UTF-16 is rejected without its byte order mark. The last one, which western
European spreadsheets still write, reads anything."""

SEPARATORS = ",;\t|"

CHUNK = 100_000
"""Rows read at a time, so that unused columns of a wide file are never in memory together."""

FIRST_ROW = 2
"""Number of the first row below a header, as editors and spreadsheets count."""

NAMED = 5
"""Bad rows that are named for each kind of fault."""


Columns = tuple[Mapping[str, Sequence[Any]], int]
"""Columns of a table by the settings that need them, cell by cell as they were written, and the
number of the first row, for error messages."""


def columns_of(table: Any, names: Mapping[str, str | None], field: str = "data") -> Columns:
    """Read some columns of a table.

    Parameters
    ----------
    table
        A CSV or Parquet file, a dataframe, a structured array, or a mapping from names to columns.
    names
        For each setting that needs a column, the name of the column; None if it is the only one.
    field
        The setting that names the table.

    Raises
    ------
    ConfigError
        If the table can't be read, or a column is missing or there twice.
    """
    if isinstance(table, str | Path):
        path = Path(table)
        try:
            return (_parquet if path.suffix.lower() in PARQUET else _csv)(path, names, field)
        except ConfigError:
            raise
        # What pandas and pyarrow raise themselves are ValueErrors.
        except (OSError, EOFError, BadZipFile, ZlibError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error).rpartition("C error: ")[2]
            expected = f"a CSV or Parquet file to read ({reason.strip()})"
            raise ConfigError(field, str(path), expected) from None
    if not hasattr(table, "__getitem__"):
        expected = "a CSV or Parquet file, a dataframe or a mapping"
        raise ConfigError(field, type(table).__name__, expected)
    wanted = _chosen(names, _names_in(table), field)
    columns = {one: _listed(table[name]) for one, name in wanted.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ConfigError(field, lengths, "columns of one length")
    return columns, 0


def is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing: None, an empty text, or a dataframe's missing value."""
    if isinstance(cell, str):
        return not cell
    return str(cell) in ("None", "nan", "NaT", "<NA>")


def as_numbers(cells: Sequence[Any], field: str, first: int) -> list[float | None]:
    """Return every cell as a finite number, or None if it is not one.

    The decimal mark may be a point or a comma, and the other one may group thousands: 1,234.5 and
    1.234,5. The rest of the column decides how to read 1,234.

    Raises
    ------
    ConfigError
        If the rest of the column does not decide it. A wrong guess would be off by a factor of
        1,000, and nothing later would notice.
    """
    texts = {cell for cell in cells if isinstance(cell, str)}
    readings = {text: (_reading(text, ",", "."), _reading(text, ".", ",")) for text in texts}
    marks = {
        "," if point is None else "."
        for point, comma in readings.values()
        if (point is None) != (comma is None)
    }
    numbers = []
    for row, cell in enumerate(cells, start=first):
        point, comma = readings[cell] if isinstance(cell, str) else (_finite(cell),) * 2
        differ = point != comma and None not in (point, comma)
        if differ and len(marks) != 1 and (marks or "," in cell):
            raise ConfigError(
                field,
                f"{cell} (row {row})",
                "a number that can be read in one way: if this is a decimal comma, replace all such"
                " commas by points; if it separates thousands, delete it",
            )
        numbers.append(comma if point is None or marks == {","} else point)
    return numbers


def _reading(cell: str, group: str, mark: str) -> float | None:
    """Return the number that a text is if `group` separates thousands and `mark` is decimal."""
    if "_" in cell:  # Python would accept it
        return None
    if group in cell:
        if not re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}(\{group}\d{{3}})+(\{mark}\d*)?", cell):
            return None
        cell = cell.replace(group, "")
    return _finite(cell.replace(mark, "."))


def _finite(cell: Any) -> float | None:
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _csv(path: Path, names: Mapping[str, str | None], field: str) -> Columns:
    """Read a CSV file, compressed or not, in the first encoding that fits it."""
    with path.open("rb") as file:
        if file.read(4) in WORKBOOKS and path.suffix.lower() != ".zip":
            expected = "a CSV or Parquet file (save the workbook's sheet as CSV)"
            raise ConfigError(field, str(path), expected)
    *strict, lenient = ENCODINGS
    for encoding in strict:
        with suppress(UnicodeError):
            return _decoded(path, names, field, encoding, "strict")
    return _decoded(path, names, field, lenient, "replace")


def _decoded(
    path: Path, names: Mapping[str, str | None], field: str, encoding: str, errors: str
) -> Columns:
    import pandas as pd  # only here: it takes half a second

    options: dict[str, Any] = {
        "encoding": encoding,
        "encoding_errors": errors,
        "header": None,  # read as a row, so that two columns of one name are seen
        "index_col": False,
        "dtype": str,
        "na_filter": False,
        "skip_blank_lines": False,  # they count, so that row numbers stay right
    }
    # Split at a character that no text has, the first line stays whole.
    line = pd.read_csv(path, sep="\x1f", quoting=csv.QUOTE_NONE, nrows=1, **options).iat[0, 0]
    outside_quotes = "".join(line.split('"')[::2])
    options["sep"] = max(SEPARATORS, key=outside_quotes.count)
    options["skipinitialspace"] = True
    known = pd.read_csv(path, nrows=1, **options).iloc[0].str.strip().tolist()
    place = {one: known.index(name) for one, name in _chosen(names, known, field).items()}
    # One column more than the header has: some programs end every line with a separator.
    extra = len(known)
    with pd.read_csv(path, names=range(extra + 1), chunksize=CHUNK, **options) as chunks:
        rows = pd.concat([chunk[[*place.values(), extra]] for chunk in chunks])[1:]
    longer = rows.index[rows[extra] != ""]
    if len(longer):
        raise ConfigError(
            field,
            f"{path}, row {longer[0] + 1} with more cells than the header",
            "quotes around a cell that contains the separator",
        )
    filled = (rows != "").any(axis=1).to_numpy().nonzero()[0]
    rows = rows[: filled[-1] + 1 if len(filled) else 0]  # without empty lines at the end
    found = {one: [cell.strip() for cell in rows[i]] for one, i in place.items()}
    return found, FIRST_ROW


def _parquet(path: Path, names: Mapping[str, str | None], field: str) -> Columns:
    try:
        from pyarrow import parquet
    except ModuleNotFoundError:
        expected = f"a CSV file; {needs('pyarrow', 'parquet')}"
        raise ConfigError(field, str(path), expected) from None
    wanted = _chosen(names, parquet.read_schema(path).names, field)
    table = parquet.read_table(path, columns=list(wanted.values()))
    return {one: table[name].to_pylist() for one, name in wanted.items()}, 1


def _names_in(table: Any) -> list[str]:
    for attribute in ("column_names", "columns"):
        found = getattr(table, attribute, None)
        # `columns` of a pyarrow table are the columns themselves.
        if found is not None and all(isinstance(name, str) for name in found):
            return list(found)
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    return list(getattr(getattr(table, "dtype", None), "names", None) or ())  # structured array


def _listed(column: Any) -> Sequence[Any]:
    """Return a column as plain Python objects, whatever the library's own are."""
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, way):
            listed: list[Any] = getattr(column, way)()
            return listed
    return list(column)


def _chosen(names: Mapping[str, str | None], known: Sequence[str], field: str) -> Mapping[str, str]:
    """Return the name of the column for each setting; a ConfigError if it is not one of `known`."""
    if not any(known):
        raise ConfigError(field, "no columns", "a header that names them")
    only = known[0] if len(known) == 1 else None
    for setting, name in names.items():
        if (name or only) not in known:
            expected = f"a column of the data: {one_of(name or '', list(known))}"
            raise ConfigError(setting, name, expected)
        if list(known).count(name or "") > 1:
            raise ConfigError(setting, name, "a name that only one column has")
    return {setting: name or only or "" for setting, name in names.items()}


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
    cells, first = columns
    faults: dict[str, list[int]] = {}
    numbers = as_numbers(cells["value"], "value", first)
    moments: Sequence[Any] = range(len(numbers))
    if time is not None:
        moments = _moments(cells["time"], time, first)
    found: dict[str, list[tuple[Any, float]]] = {}
    rows = zip(cells["site"], cells["value"], numbers, moments, strict=True)
    for row, (name, cell, number, moment) in enumerate(rows, start=first):
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


def _moments(cells: Sequence[Any], time: str, first: int) -> Sequence[Any]:
    """Return all cells as numbers, or all as dates, which can be put in order.

    An empty cell is None. A date without a time zone is in UTC.
    """
    numbers = as_numbers(cells, "time", first)
    empty = [is_empty(cell) for cell in cells]
    if numbers.count(None) == sum(empty):
        return numbers
    import pandas as pd

    # As texts: of a number pandas would make a date.
    texts = [str(cell) for cell in cells]
    dates = pd.to_datetime(texts, utc=True, format="ISO8601", errors="coerce")
    unknown = (dates.isna() & ~np.array(empty)).nonzero()[0]
    if unknown.size:
        expected = f"only numbers in {time}, or only dates such as 2026-01-31T12:00"
        raise ConfigError("time", f"{cells[unknown[0]]} (row {first + unknown[0]})", expected)
    return [None if missing else moment for moment, missing in zip(dates, empty, strict=True)]
