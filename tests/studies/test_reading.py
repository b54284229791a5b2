"""Tables as people have them: separators, commas, marks, holes; bad rows are named."""

import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colme import columns as reading
from colme.columns import Read, as_numbers
from colme.errors import ConfigError
from support.refusing import refused

pd = import_module("pandas")  # without types, and xarray brings it


def read(table: Any, *, site: str = "s", value: str = "v", time: str | None = None) -> Read:
    return reading.read(table, site=site, value=value, time=time)


def plain(found: Read) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in found.values.items()}


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


EXPECTED = {"Köln": [3.5, -1.0], "Ulm": [2.0]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    "text",
    [
        "s,v\nKöln,3.5\nUlm,2\nKöln,-1e0\n",
        "v;x;s\r\n3,5;;Köln\r\n2;1;Ulm\r\n-1,0;;Köln\r\n\r\n",
        "s\tv\nKöln\t3,5\nUlm\t2.0\nKöln\t-1\n",
        ' s , v \n"Köln", 3.5 \n"Ulm",2\nKöln,-1',
    ],
)
def test_a_csv_file_is_read_however_it_was_written(
    tmp_path: Path, text: str, encoding: str
) -> None:
    found = read(written(tmp_path / "a.csv", text, encoding))
    assert plain(found) == EXPECTED
    assert found.bad == ()
    assert found.rows == 3


def test_bad_rows_are_counted_and_named_by_the_row_that_a_spreadsheet_shows(
    tmp_path: Path,
) -> None:
    text = "s,v\na,1\na,\n,2\na,n/a\na,inf\na,nan\n\na,1_000\na\nb,3\n"
    found = read(written(tmp_path / "a.csv", text))
    assert plain(found) == {"a": [1.0], "b": [3.0]}
    assert found.rows == 10
    assert {one.fault: one.rows for one in found.bad} == {
        "without a v": (3, 10),
        "without a s": (4, 8),
        "whose v is not a finite number": (5, 6, 7, 9),
    }
    told = [str(one) for one in found.bad]
    assert told[2] == "4 rows whose v is not a finite number: row 5, row 6, row 7, row 9"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["3,5", "2.0", "-7"], [3.5, 2.0, -7.0]),
        (["0,234", "1234,567", ",5"], [0.234, 1234.567, 0.5]),
        (["1.234,5", "1,234.5", "1,234,567", "-1.234.567"], [1234.5, 1234.5, 1234567, -1234567]),
        (["1,234", "0,5"], [1.234, 0.5]),
        (["1,234", "999.5"], [1234, 999.5]),
        (["1.234", "0,5"], [1234, 0.5]),
        (["1.234", "999"], [1.234, 999]),
        (["1,234", "987"], None),
        (["1,234", "1.234"], None),
        (["1,234", "0,5", "0.5"], None),
        (["1.234", "0,5", "0.5"], None),
    ],
)
def test_a_thousands_separator_is_never_taken_for_a_decimal_mark(
    tmp_path: Path, cells: list[str], numbers: list[float] | None, separator: str
) -> None:
    """1,234 is 1.234 or 1234: the rest of the column says which, or nothing is read."""
    lines = "".join(f'a{separator}"{cell}"\n' for cell in cells)
    path = written(tmp_path / "a.csv", f"s{separator}v\n{lines}")
    if numbers is None:
        with refused(ConfigError, "value", words=f"{cells[0]} (row 2)"):
            read(path)
    else:
        assert plain(read(path)) == {"a": numbers}


@pytest.mark.parametrize("cell", ["1,23,4", "1,234.5,6", "12 34", "1_000", "0x10", "3,5,", "late"])
def test_what_is_not_a_number_is_none(cell: str) -> None:
    assert as_numbers([cell], "value", 0) == [None]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_comes_back(number: float) -> None:
    text = repr(number)
    assert as_numbers([text], "value", 0) == [number]
    assert as_numbers([text.replace(".", ","), "0,5"], "value", 0)[0] == number


@pytest.mark.parametrize("name", ["a.csv.gz", "a.zip"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_compressed_file_is_read_as_it_is(tmp_path: Path, name: str, encoding: str) -> None:
    frame = pd.DataFrame({"s": ["Köln", "Ulm", "Köln"], "v": [3.5, 2.0, -1.0]})
    frame.to_csv(tmp_path / name, index=False, encoding=encoding)
    assert plain(read(tmp_path / name)) == EXPECTED


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("s,w\n", "v"),
        ("s,v,v\n", "v"),
        ("a,b", "s"),
        ("s", "v"),
    ],
)
def test_a_column_that_is_not_there_is_told_with_those_that_are(
    tmp_path: Path, text: str, seen: str
) -> None:
    with refused(ConfigError, seen=seen):
        read(written(tmp_path / "a.csv", text))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xlsx", b"PK\x03\x04 and so on"),
        ("a.xls", b"\xd0\xcf\x11\xe0 and so on"),
        ("a.zip", b"PK\x03\x04 and so on"),
        ("a.csv.gz", b"not compressed"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00 cut"),
        ("a.csv", b's,v\na,1\n"a,2\n'),
        ("a.csv", b"s,v\na,1,234\n"),
        ("a.csv", b"s,v\na,1,234,567\n"),
        ("a.csv", b""),
        ("a.csv", b"\n\ns,v\n"),
        ("missing.csv", None),
        ("", None),
    ],
)
def test_a_file_that_can_not_be_read_is_refused(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with refused(ConfigError, "data", words=str(tmp_path / name)):
        read(tmp_path / name)


def test_a_separator_at_the_end_of_every_line_is_no_cell(tmp_path: Path) -> None:
    assert plain(read(written(tmp_path / "a.csv", "s;v\na;1;\nb;2;\n"))) == {"a": [1], "b": [2]}


def test_only_the_chosen_columns_of_a_long_file_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colme.columns.CHUNK", 2)
    lines = [f"{row},x,a" if row % 3 else "" for row in range(1, 12)]
    found = read(written(tmp_path / "a.csv", "\n".join(["v,x,s", *lines, ""])))
    assert plain(found) == {"a": [1, 2, 4, 5, 7, 8, 10, 11]}
    assert [one.rows for one in found.bad] == [(4, 7, 10)]


def frames() -> Sequence[Any]:
    columns = {"s": ["Köln", "Ulm", "Köln"], "v": [3.5, 2.0, -1.0], "x": [1, 2, 3]}
    array = np.array([("Köln", 3.5), ("Ulm", 2.0), ("Köln", -1.0)], [("s", "U9"), ("v", float)])
    return [columns, pd.DataFrame(columns), array, {"s": columns["s"], "v": np.array(columns["v"])}]


@pytest.mark.parametrize("frame", frames(), ids=["mapping", "pandas", "array", "arrays"])
def test_whatever_has_columns_is_a_table(frame: Any) -> None:
    assert plain(read(frame)) == EXPECTED


def test_cells_that_a_dataframe_lacks_are_bad_rows() -> None:
    frame = pd.DataFrame({"s": ["a", None, "a", "a"], "v": pd.array([1, 2, None, 4], "Int64")})
    found = read(frame)
    assert plain(found) == {"a": [1.0, 4.0]}
    assert {one.fault: one.rows for one in found.bad} == {"without a s": (1,), "without a v": (2,)}


def test_columns_of_different_lengths_are_refused() -> None:
    with refused(ConfigError, "data"):
        read({"s": ["a"], "v": [1.0, 2.0]})


def test_a_mapping_of_sites_is_read_as_it_is() -> None:
    def sites(values: dict[Any, Any]) -> Read:
        return reading.read(values, site=None, value=None, time=None)

    found = sites({"a": [1, 2, None], 7: np.array([3.0, np.inf])})
    assert plain(found) == {"a": [1.0, 2.0], "7": [3.0]}
    assert [len(one.rows) for one in found.bad] == [1, 1]
    with refused(ConfigError, "data"):
        sites({"a": 1.0})


@pytest.mark.parametrize(
    "times",
    [
        ["3", "1", "2.5"],
        [3, 1, 2],
        ["2026-03-01", "2025-12-31T23:00", "2026-01-01 08:00"],
        [date(2026, 3, 1), date(2026, 1, 1), date(2026, 2, 1)],
        [datetime(2026, 3, 1), datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1)],
        list(pd.to_datetime(["2026-03-01", "2026-01-01", "2026-02-01"])),
    ],
)
def test_rows_are_put_in_the_order_of_their_time(times: list[Any]) -> None:
    """The number 10 comes after 9, and a date after the day before: not as texts."""
    assert plain(read({"s": ["a"] * 3, "v": [3, 1, 2], "t": times}, time="t")) == {"a": [1, 2, 3]}


def test_a_time_that_is_neither_is_refused_and_none_is_a_bad_row() -> None:
    table = {"s": ["a"] * 3, "v": [1, 2, 3], "t": ["1", "", "3"]}
    found = read(table, time="t")
    assert plain(found) == {"a": [1, 3]}
    assert [(one.fault, one.rows) for one in found.bad] == [("without a t", (1,))]
    for other in ("March", "2026-01-31"):
        with refused(ConfigError, "time"):
            read(table | {"t": ["1", other, "3"]}, time="t")


def test_parquet_is_read_with_pyarrow(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"s": ["Köln", "Ulm", "Köln"], "v": [3.5, 2.0, -1.0], "x": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert plain(read(tmp_path / "a.parquet")) == plain(read(table)) == EXPECTED
    with refused(ConfigError, "value"):
        read(tmp_path / "a.parquet", value="w")
    written(tmp_path / "b.parquet", "s,v\n")
    with refused(ConfigError, "data"):
        read(tmp_path / "b.parquet")


def test_without_pyarrow_it_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[parquet\]'"):
        read(written(tmp_path / "a.parquet", ""))
