"""The log in a thread of its own: a reader that stops reading costs lines, and nothing else."""

import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from colme.node import config
from colme.node import log as outlet
from colme.node.log import configure, in_a_thread, lines_dropped, logger
from colme.node.metrics import Metrics
from support.elsewhere import until
from support.pipes import fill


class Pipe:
    """Standard error, with a reader that reads when it is told to."""

    def __init__(self) -> None:
        self.read_end, write_end = os.pipe()
        self.stream = open(write_end, "w")  # noqa: SIM115 (closed below)
        self._rest = b""

    def fill(self) -> None:
        """So that nothing more fits in, and a writer would wait."""
        fill(self.stream.fileno())

    def lines(self) -> list[dict[str, Any]]:
        """What has come since, but for what filled it."""
        os.set_blocking(self.read_end, False)
        with suppress(BlockingIOError):
            self._rest += os.read(self.read_end, 2**20)
        *whole, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in whole if line]


@contextmanager
def slowly_read(patch: pytest.MonkeyPatch, *, most: int = 3, wait: float = 0.2) -> Iterator[Pipe]:
    """Standard error as a pipe, and an outlet for few lines."""
    made = Pipe()
    patch.setattr(sys, "stderr", made.stream)
    patch.setattr(outlet, "MOST_LINES", most)
    patch.setattr(outlet, "SECONDS_TO_END", wait)
    configure(config.Log(format="json"), name="here")
    try:
        yield made
    finally:
        patch.undo()
        os.close(made.read_end)
        made.stream.close()


def threads() -> list[str]:
    """Those of outlets."""
    return [one.name for one in threading.enumerate() if one.name == "log"]


def test_what_does_not_fit_is_dropped_and_counted_and_told_when_somebody_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metrics = Metrics([], 1.0)
    seen: list[dict[str, Any]] = []
    with slowly_read(monkeypatch) as pipe, in_a_thread():
        pipe.fill()
        for n in range(100):
            logger().info(f"event {n}")
        dropped = lines_dropped()
        assert 96 <= dropped <= 97, "three wait, and one is being written"
        assert f"colme_log_lines_dropped {dropped:.1f}" in metrics.text().decode()

        def told(what: str) -> bool:
            seen.extend(pipe.lines())
            return any(what in line["event"] for line in seen)

        until("the line that says so", lambda: told("were dropped"))
        logger().info("and on")
        until("the next line", lambda: told("and on"))
    assert [line["count"] for line in seen if "count" in line] == [dropped]
    assert seen[0]["event"] == "event 0"
    assert lines_dropped() == 0, "of the next one"


def test_the_end_does_not_wait_for_a_reader_that_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with slowly_read(monkeypatch) as pipe:
        pipe.fill()
        with in_a_thread():
            for n in range(10):
                logger().info(f"event {n}")
        assert threads(), "one is at its line"

        def ended() -> bool:
            pipe.lines()
            return not threads()

        until("its end, once somebody reads", ended)


def test_all_that_was_logged_is_written_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with slowly_read(monkeypatch, most=1000, wait=20.0) as pipe:
        with in_a_thread() as write:
            for n in range(50):
                logger().info(f"event {n}")
            write('{"event": "last words"}')
        events = [line["event"] for line in pipe.lines()]
    assert events == [*(f"event {n}" for n in range(50)), "last words"]


def test_what_libraries_log_is_throttled_and_shows_no_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure(config.Log(format="json"), name="here")
    for library in ("asyncio", "grpc._cython.cygrpc"):
        for n in range(1000):
            try:
                raise OSError(24, f"Too many open files {n}")
            except OSError:
                logging.getLogger(library).exception("Exception in callback f(0.731, %d)\nmore", n)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert len(lines) == 1, "the same event for the same reason"
    (line,) = lines
    assert (line["level"], line["library"], line["kind"]) == ("error", "asyncio", "OSError")
    assert line["why"] == "Exception in callback f()"
    assert line["where"].startswith(__file__)


def test_a_field_is_cut_where_others_fill_it(capsys: pytest.CaptureFixture[str]) -> None:
    configure(config.Log(format="json"), name="here")
    logger().warning("refused", why="x" * 1_000_000)
    assert len(capsys.readouterr().err) < 5000
