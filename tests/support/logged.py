"""What nodes have logged, as objects."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from colme.node import config, log


class Logged:
    """Every line since the beginning of the block."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._lines: list[dict[str, Any]] = []

    def lines(self, **fields: str) -> list[dict[str, Any]]:
        """Those with these fields."""
        self._lines += [json.loads(line) for line in self._capsys.readouterr().err.splitlines()]
        return [line for line in self._lines if fields.items() <= line.items()]

    def forget(self) -> None:
        """What was written before."""
        self._capsys.readouterr()
        self._lines.clear()

    def anew(self) -> None:
        """Whatever was said before may be said again: the same event is logged once in a while."""
        log.configure(config.Log(format="json"), name="nobody")


@contextmanager
def logging(capsys: pytest.CaptureFixture[str]) -> Iterator[Logged]:
    """Write the log while the block lasts."""
    before, silent = list(log._PIPELINE), log._LINES.disabled
    lines = Logged(capsys)
    lines.anew()
    try:
        yield lines
    finally:
        log._PIPELINE[:] = before
        log._LINES.disabled = silent
