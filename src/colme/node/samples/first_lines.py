"""Lines that were there before: a state takes none of them in without its owner's word.

A state knows how far it has read a file. Of one that it has not read it can't know what another
state, lost or left in another folder, has noised already: to take those samples in would noise them
a second time.
"""

import os
import stat
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Literal

from colme.errors import ConfigError
from colme.node import config
from colme.node.samples.feeds import mark_of, regular_file
from colme.node.samples.lines import LONGEST_LINE, SampleReader

FirstLines = Literal["take", "skip"]
"""The owner's word on such lines: none was ever fed to a node, or begin after them."""

OPTION = "--first-lines"


def first_marks(
    spec: config.Source, marks: Mapping[str, int], word: FirstLines | None, *, state_lost: bool
) -> dict[str, int]:
    """Where to begin with a source that this state has not read yet; to be stored before it is.

    Empty where nothing is to be said. The word is refused where nothing asks for it: in a start
    script it would speak for the next empty state, too. `state_lost`: how far a state before this
    one had read is lost.
    """
    match spec:
        case config.FileSource() if mark_of(spec.path) not in marks:
            return {mark_of(spec.path): _first_mark(spec, word, state_lost=state_lost)}
        case config.StdinSource() if _is_a_file(0):
            if word != "take" or state_lost:
                seen = "stdin, which is a file here"
                expected = (
                    "kind = 'file', which remembers how far it was read: this one is read from its "
                    "beginning at every start"
                )
                if not state_lost:
                    expected += f". If no line of it was ever fed: {OPTION} take"
                raise ConfigError("source.kind", seen, expected)
            return {}
    if word is not None:
        raise _needless(word, "it is for the first start with a file, and how far is stored then")
    return {}


def _first_mark(spec: config.FileSource, word: FirstLines | None, *, state_lost: bool) -> int:
    try:
        with regular_file(spec.path) as file:
            # A word that is stored is not asked for again: the file must be one to be read.
            _require_column(file, spec.column)
            if not _has_lines(file, spec.column):
                if word is not None:
                    why = f"{spec.path} has no lines (if old ones are yet to come, wait for them)"
                    raise _needless(word, why)
                return 0
            if word == "skip":
                return _end(file, spec.path)
    except FileNotFoundError:
        if state_lost or word is not None:
            # Lines that appear later, as with a mount, would all be taken for new ones.
            expected = "a file that is there: mount it, or make an empty one under a new name"
            raise ConfigError("source.path", f"{spec.path}, which is missing", expected) from None
        return 0
    seen = f"{spec.path}, with lines that this state has not read"
    if state_lost:
        expected = (
            f"a new file, or {OPTION} skip: how far it had been read is lost with the state of "
            "before"
        )
        raise ConfigError("source.path", seen, expected)
    if word is None:
        expected = (
            f"your word on them: {OPTION} take if no line of it was ever fed to a node, else "
            f"{OPTION} skip, to begin after them. A line fed to two states is noised twice"
        )
        raise ConfigError("source.path", seen, expected)
    return 0


def _needless(word: FirstLines, why: str) -> ConfigError:
    return ConfigError(OPTION, word, f"no such word: {why}. Start without it")


def _require_column(file: BinaryIO, column: str | None) -> None:
    """The first line of a CSV file, once it is whole, names the column."""
    SampleReader(column, lambda _why, _line: None).skip(file.read(LONGEST_LINE))
    file.seek(0)


def _has_lines(file: BinaryIO, column: str | None) -> bool:
    """Whether anything is in it but blank lines and, of CSV, the header."""
    lines = iter(lambda: file.readline(LONGEST_LINE), b"")
    filled = (line for line in lines if line.removeprefix(BOM_UTF8).strip())
    first = next(filled, b"")
    is_header = column is not None and not first.removeprefix(BOM_UTF8).lstrip().startswith(b"{")
    return bool(next(filled, b"") if is_header else first)


def _end(file: BinaryIO, path: Path) -> int:
    """Where the lines that are there end; the last one must be whole, or its end came after."""
    size = file.seek(-1, os.SEEK_END) + 1
    if file.read(1) != b"\n":
        seen = f"{path}, whose last line has no end yet"
        raise ConfigError("source.path", seen, "a newline at its end, to begin after it")
    return size


def _is_a_file(descriptor: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:
        return False
