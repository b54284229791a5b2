"""Samples from lines of text: plain numbers, a column of CSV rows or of JSON objects.

What is wrong with a line is told by a reason and its number, never by its content: that is private.
"""

import codecs
import csv
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from math import isfinite
from typing import NamedTuple

from colme.errors import ConfigError

TAIL = 4 * 1024
DIGEST_BYTES = 8
_BITS = 8 * DIGEST_BYTES


class Prefix:
    """What has been read of a file: its bytes as a digest, and the last of them as they were.

    It is small enough to be stored and compared with what is there.
    """

    def __init__(self) -> None:
        self._digest = blake2b(digest_size=DIGEST_BYTES)
        self.size = 0
        self.tail = b""

    def add(self, piece: bytes) -> None:
        """The bytes that come next."""
        self._digest.update(piece)
        self.size += len(piece)
        self.tail = (self.tail + piece)[-TAIL:]

    @property
    def seal(self) -> int:
        """Size and digest in one number, so that no digest is held against another place."""
        return self.size << _BITS | int.from_bytes(self._digest.digest())

    def ends_where(self, seal: int) -> bool:
        """Whether a seal was made at this place, of whatever bytes."""
        return seal >> _BITS == self.size


LONGEST_LINE = 64 * 1024
LARGEST_PORTION = 1_000

TellRefused = Callable[[str, int], None]
"""Told of each line that is no sample: the reason and the line's number."""


class Portion(NamedTuple):
    """The samples of some complete lines, and the length of those lines in bytes."""

    values: list[float]
    size: int


class SampleReader:
    """Turns the bytes of a stream into samples, as they come."""

    def __init__(self, column: str | None, refused: TellRefused) -> None:
        self._parse = _number_in if column is None else _Column(column)
        self._parser_has_begun = False
        self._refused = refused
        self._number = 0
        self._unfinished = b""
        self._dropped = 0
        self._has_samples = False
        self.unfit = 0
        """Lines that were refused before the first sample."""

    @property
    def is_inside_a_line(self) -> bool:
        """Whether the bytes so far end within a line."""
        return bool(self._unfinished or self._dropped)

    def feed(self, chunk: bytes) -> Iterator[Portion]:
        """The samples of the lines that end in this chunk."""
        values: list[float] = []
        size = 0
        for count, (line, length) in enumerate(self._lines(chunk), start=1):
            size += length
            try:
                samples = self._samples(line)
            except _NotASampleError as error:
                self.unfit += not self._has_samples
                self._refused(str(error), self._number)
            else:
                self._has_samples = self._has_samples or bool(samples)
                values += samples
            if count % LARGEST_PORTION == 0:
                yield Portion(values, size)
                values, size = [], 0
        if size:
            yield Portion(values, size)

    def finish(self) -> Iterator[Portion]:
        """The sample of a last line that has no newline: the stream has ended."""
        if self.is_inside_a_line:
            yield from self.feed(b"\n")

    def skip(self, chunk: bytes) -> None:
        """Pass over lines that were read before: their number and the header matter still."""
        for line, _ in self._lines(chunk):
            if not self._parser_has_begun:
                with suppress(_NotASampleError):
                    self._samples(line)

    def _lines(self, chunk: bytes) -> Iterator[tuple[bytes | None, int]]:
        """Complete lines and their lengths; of one that is too long, the length alone."""
        *complete, rest = (self._unfinished + chunk).split(b"\n")
        for line in complete:
            length = self._dropped + len(line)
            self._dropped = 0
            self._number += 1
            yield (line if length <= LONGEST_LINE else None), length + 1
        if self._dropped or len(rest) > LONGEST_LINE:
            self._dropped += len(rest)
            rest = b""
        self._unfinished = rest

    def _samples(self, line: bytes | None) -> list[float]:
        """The line's sample; none if it is blank or a header."""
        if line is None:
            raise _NotASampleError("line too long")
        try:
            text = line.removeprefix(codecs.BOM_UTF8).decode().strip()
        except UnicodeDecodeError:
            raise _NotASampleError("not UTF-8") from None
        if not text:
            return []
        self._parser_has_begun = True
        value = self._parse(text)
        return [] if value is None else [value]


def _number_in(text: str) -> float:
    """The finite number that a text is, and nothing around it."""
    try:
        # Python's grouping of digits (1_000) is not a data format: it is a typing error.
        value = float(text.replace("_", "x"))
    except ValueError:
        raise _NotASampleError("not a number") from None
    if not isfinite(value):
        raise _NotASampleError("not finite")
    return value


class _NotASampleError(Exception):
    """The reason why a line is refused; never its content."""


class _Column:
    """A column of CSV rows or of JSON objects: the first line tells which."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._value_in: Callable[[str], float] | None = None

    def __call__(self, text: str) -> float | None:
        """The line's number; none in CSV's header."""
        if self._value_in is None and text.startswith("{"):
            self._value_in = self._value_in_object
        if self._value_in is None:
            self._value_in = self._rows_under(text)
            return None
        return self._value_in(text)

    def _value_in_object(self, text: str) -> float:
        try:
            row = json.loads(text, parse_int=float)
        except (ValueError, RecursionError):
            raise _NotASampleError("not JSON") from None
        if not isinstance(row, dict):
            raise _NotASampleError("not a JSON object")
        if self._name not in row:
            raise _NotASampleError(f"no column {self._name!r}")
        value = row[self._name]
        if not isinstance(value, str | float):
            raise _NotASampleError("not a number")
        return _number_in(str(value))

    def _rows_under(self, header: str) -> Callable[[str], float]:
        try:
            names = [name.strip() for name in _fields(header)]
        except _NotASampleError:
            names = []
        if names.count(self._name) != 1:
            # Not a refused line: all rows would be, and be counted as read. Nor are the names
            # shown that are there: without a header the first line is data.
            expected = "a column that the first line names once, or JSON objects"
            raise ConfigError("source.column", self._name, expected)
        place = names.index(self._name)

        def value_in_row(text: str) -> float:
            fields = _fields(text)
            if len(fields) != len(names):
                raise _NotASampleError("not as many fields as the header")
            return _number_in(fields[place])

        return value_in_row


def _fields(text: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error:
        raise _NotASampleError("not CSV") from None
