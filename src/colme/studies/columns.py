"""Columns of whatever holds a table: a CSV or Parquet file, any dataframe, a mapping."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colme.errors import ConfigError, needs, one_of

PARQUET = (".parquet", ".pq")

ZIPPED = b"PK\x03\x04"
"""What a spreadsheet's own file begins with."""

SEPARATORS = ",;\t|"

FIRST_ROW = 2
"""Of a file with a header: where its rows are counted from, as editors and spreadsheets do."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that were asked for, as they were written."""

    values: Mapping[str, Sequence[Any]]
    first: int
    """The number that the first row goes by."""
    decimal_comma: bool = False
    """Whether 3,5 may stand for 3.5."""

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self.values[name]


def columns_of(table: Any, names: Mapping[str, str]) -> Columns:
    """`names`: what each column is for, and what it is called."""
    if isinstance(table, str | Path):
        path = Path(table)
        return _parquet(path, names) if path.suffix.lower() in PARQUET else _csv(path, names)
    if not hasattr(table, "__getitem__"):
        expected = "a CSV or Parquet file, a dataframe or a mapping"
        raise ConfigError("data", type(table).__name__, expected)
    _require(names, _names_in(table))
    columns = {name: _listed(table[name]) for name in names.values()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ConfigError("data", lengths, "columns of one length")
    return Columns(columns, 0)


def _csv(path: Path, names: Mapping[str, str]) -> Columns:
    text = _decoded(path)
    header, _, _ = text.partition("\n")
    separator = max(SEPARATORS, key=_outside_quotes(header).count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    try:
        head = [cell.strip() for cell in next(rows, [])]
        _require(names, head)
        place = {name: head.index(name) for name in names.values()}
        found: dict[str, list[str]] = {name: [] for name in place}
        for row in rows:
            for name, column in place.items():
                # A row without cells is an empty line; it counts, so that numbers stay right.
                found[name].append(row[column].strip() if column < len(row) else "")
    except csv.Error as error:
        raise ConfigError(
            "data", str(path), f"a CSV file (line {rows.line_num}: {error})"
        ) from None
    while any(found.values()) and not any(column[-1] for column in found.values()):
        for cells in found.values():
            cells.pop()  # empty lines at the end
    return Columns(found, FIRST_ROW, decimal_comma=separator != ",")


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def _decoded(path: Path) -> str:
    """UTF-8, UTF-16 with its mark, or else what spreadsheets in western Europe write."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        expected = f"a CSV or Parquet file to read ({error.strerror})"
        raise ConfigError("data", str(path), expected) from None
    if raw.startswith(ZIPPED):
        expected = "a CSV or Parquet file (a workbook's sheet can be saved as CSV)"
        raise ConfigError("data", str(path), expected)
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", errors="replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def _parquet(path: Path, names: Mapping[str, str]) -> Columns:
    try:
        from pyarrow import parquet
    except ModuleNotFoundError:
        expected = f"a CSV file; {needs('pyarrow', 'parquet')}"
        raise ConfigError("data", str(path), expected) from None
    try:
        _require(names, parquet.read_schema(path).names)
        table = parquet.read_table(path, columns=list(names.values()))
    except OSError as error:
        raise ConfigError("data", str(path), f"a Parquet file to read ({error})") from None
    except ValueError as error:  # pyarrow's own errors are
        raise ConfigError("data", str(path), f"a Parquet file ({error})") from None
    return Columns({name: table[name].to_pylist() for name in names.values()}, 1)


def _names_in(table: Any) -> list[str]:
    for attribute in ("column_names", "columns"):
        found = getattr(table, attribute, None)
        # A pyarrow table has its columns themselves under the second.
        if found is not None and all(isinstance(name, str) for name in found):
            return list(found)
    return [str(name) for name in table] if isinstance(table, Mapping) else list(_fields(table))


def _fields(table: Any) -> Iterable[str]:
    """Of a structured array."""
    return getattr(getattr(table, "dtype", None), "names", None) or ()


def _listed(column: Any) -> Sequence[Any]:
    """As plain objects, whatever the library's own are."""
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, way):
            listed: list[Any] = getattr(column, way)()
            return listed
    return list(column)


def _require(names: Mapping[str, str], known: Sequence[str]) -> None:
    if not known:
        raise ConfigError("data", "no columns", "a header that names them")
    for field, name in names.items():
        if name not in known:
            raise ConfigError(field, name, f"a column of the data: {one_of(name, list(known))}")
        if list(known).count(name) > 1:
            raise ConfigError(field, name, "a name that one column alone has")
