"""Lines: what is a sample, what is refused, and nothing of a refused line shown."""

from dataclasses import dataclass, field

import pytest

from colme.errors import ConfigError
from colme.node.samples.lines import LONGEST_LINE, SampleReader
from support.refusing import refused


@dataclass
class Read:
    """What came of a stream."""

    values: list[float] = field(default_factory=list)
    refused: list[tuple[str, int]] = field(default_factory=list)

    def refuse(self, reason: str, line_number: int) -> None:
        self.refused.append((reason, line_number))


def read(content: bytes, column: str | None = None) -> Read:
    """What comes of a finished stream, in pieces of all sizes alike."""
    results = []
    for piece in (len(content) or 1, 7, 1):
        result = Read()
        reader = SampleReader(column, result.refuse)
        for start in range(0, len(content), piece):
            for batch in reader.feed(content[start : start + piece]):
                result.values += batch.values
        for batch in reader.finish():
            result.values += batch.values
        results.append(result)
    assert results[0] == results[1] == results[2]
    return results[0]


def test_plain_numbers() -> None:
    result = read(b"\xef\xbb\xbf1\n-2.5\r\n\n  3e-2 \n.5\n7")
    assert result.values == [1, -2.5, 0.03, 0.5, 7]
    assert result.refused == []


def test_what_is_no_plain_number_is_refused_by_reason_and_line() -> None:
    lines = [b"1", b"abc", b"nan", b"-inf", b"1e999", b"", b"1,2", b'{"a": 1}', b"1_0", b"\xff"]
    result = read(b"\n".join([*lines, b"true", b"0x10", b"2"]))
    assert result.values == [1, 2]
    assert result.refused == [
        ("not a number", 2),
        ("not finite", 3),
        ("not finite", 4),
        ("not finite", 5),
        ("not a number", 7),
        ("not a number", 8),
        ("not a number", 9),
        ("not UTF-8", 10),
        ("not a number", 11),
        ("not a number", 12),
    ]


def test_a_column_of_csv() -> None:
    result = read(b'\n"the day", price \n"2026-01-01, noon",1.5\n\n"say ""x""","2"\r\n', "price")
    assert result.values == [1.5, 2]
    assert result.refused == []


def test_rows_that_do_not_fit_the_header_are_refused() -> None:
    result = read(b'a,price\n1,2\n5\n1,2,3\n1,x\n1,\n"1,2\n1,"2"3\n{"price": 1}\n1,4\n', "price")
    assert result.values == [2, 4]
    assert result.refused == [
        ("not as many fields as the header", 3),
        ("not as many fields as the header", 4),
        ("not a number", 5),
        ("not a number", 6),
        ("not CSV", 7),
        ("not CSV", 8),
        ("not as many fields as the header", 9),
    ]


@pytest.mark.parametrize("first", [b"day,prize", b"price,price", b"0.25,0.5", b'"price'])
def test_a_header_without_the_column_stops_the_source(first: bytes) -> None:
    """Else every row would be refused and counted as read; and the first line may be data."""
    with refused(ConfigError, "source.column", seen="price") as caught:
        read(first + b"\n1,2\n", "price")
    assert first.decode().strip('"') not in str(caught.value).replace("'price'", "")


def test_a_key_of_json_objects() -> None:
    result = read(b'{"price": 1, "x": [2]}\n  {"price": 2.5}\n\n{"price": "3"}\n', "price")
    assert result.values == [1, 2.5, 3]
    assert result.refused == []


def test_objects_without_a_number_there_are_refused() -> None:
    values = ["true", "null", "[1]", '"x"', "NaN", "-Infinity", "1e999", "9" * 5000]
    lines = [f'{{"price": {value}}}' for value in values]
    lines += ['{"prize": 1}', '{"price": 1', "[1]", "price", '{"x":' + "[" * 50_000]
    result = read("\n".join([*lines, '{"price": 1}']).encode(), "price")
    assert result.values == [1]
    assert [reason for reason, _ in result.refused] == (
        ["not a number"] * 4
        + ["not finite"] * 4
        + ["no column 'price'", "not JSON", "not a JSON object", "not JSON", "not JSON"]
    )
    assert [number for _, number in result.refused] == list(range(1, 14))


def test_a_line_too_long_is_refused_and_never_held() -> None:
    result = Read()
    reader = SampleReader(None, result.refuse)
    whole = b"1\n" + b"9" * (10 * LONGEST_LINE) + b"\n2\n"
    sizes = []
    for start in range(0, len(whole), 1000):
        for batch in reader.feed(whole[start : start + 1000]):
            result.values += batch.values
            sizes.append(batch.size)
        assert len(reader._unfinished) <= LONGEST_LINE
    assert result.values == [1, 2]
    assert result.refused == [("line too long", 2)]
    assert sum(sizes) == len(whole)


def test_the_longest_line_is_read() -> None:
    result = read(b"0" * (LONGEST_LINE - 1) + b"5\n" + b"0" * LONGEST_LINE + b"5\n")
    assert result.values == [5]
    assert result.refused == [("line too long", 2)]


def test_nothing_of_a_refused_line_is_told() -> None:
    secret = "314159"
    for column, lines in {
        None: [f"x{secret}", f"{secret},{secret}", f"{secret * 60}e{secret}", f"\udcff{secret}"],
        "price": [f'{{"price": "x{secret}"}}', f'{{"{secret}": 1}}', f'{{"price": {secret}'],
    }.items():
        content = "\n".join(lines).encode(errors="surrogateescape")
        result = read(content, column)
        assert len(result.refused) == len(lines)
        assert secret not in str(result.refused)
    result = read(f'price,x\n"{secret}\n{secret}\n{secret}x,1\n'.encode(), "price")
    assert len(result.refused) == 3
    assert secret not in str(result.refused)
