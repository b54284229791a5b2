"""The log: its two forms, what it leaves out, and a reader that stops reading costs lines alone."""

import io
import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
import structlog

from colme.node import config
from colme.node import log as outlet
from colme.node.log import Throttle, configure, in_a_thread, lines_dropped, logger
from colme.node.metrics import Metrics
from support.elsewhere import until
from support.pipes import fill

Format = Literal["auto", "json", "text"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_as_json_every_line_is_an_object_with_time_level_event_and_node(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure(config.Log(format="json"), name="here")
    logger().info("a session began", peer="there", round=3)
    printed = capsys.readouterr()
    assert printed.out == ""
    line = json.loads(printed.err)
    assert list(line) == ["time", "level", "event", "node", "peer", "round"]
    assert abs(datetime.now(UTC) - datetime.fromisoformat(line.pop("time"))) < timedelta(minutes=1)
    assert line == {
        "level": "info",
        "event": "a session began",
        "node": "here",
        "peer": "there",
        "round": 3,
    }


def test_a_logger_of_another_node_in_the_process_keeps_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure(config.Log(format="json"), name="here")
    logger(node="other").info("started")
    assert json.loads(capsys.readouterr().err)["node"] == "other"


@pytest.mark.parametrize(
    ("chosen", "terminal", "form"),
    [
        ("auto", True, "coloured"),
        ("auto", False, "json"),
        ("text", False, "text"),
        ("text", True, "coloured"),
        ("json", True, "json"),
    ],
)
def test_people_get_text_and_colours_only_at_a_terminal(
    chosen: Format, terminal: bool, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    configure(config.Log(format=chosen), name="here")
    logger().warning("a neighbour is away", peer="there")
    line = stream.getvalue()
    assert line.count("\n") == 1
    assert "a neighbour is away" in line
    assert ("\x1b[" in line) == (form == "coloured")
    assert line.startswith("{") == (form == "json")


def test_only_the_level_asked_for_and_above_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure(config.Log(format="json", level="warning"), name="here")
    log = logger()
    log.debug("a")
    log.info("b")
    log.warning("c")
    log.error("d")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["level"], line["event"]) for line in lines] == [("warning", "c"), ("error", "d")]


@pytest.mark.parametrize("chosen", ["json", "text"])
def test_a_neighbours_words_can_forge_no_line_and_command_no_terminal(
    chosen: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(config.Log(format=chosen), name="here")
    logger().warning("refused", detail="bad\n{}\x1b[2Jgone", peer="\x1b]0;owned")
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "\x1b" not in printed


@pytest.mark.parametrize("chosen", ["json", "text"])
def test_a_traceback_does_not_show_local_variables(
    chosen: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(config.Log(format=chosen), name="here")

    def fail(sample: float) -> None:
        raise ZeroDivisionError("no")

    try:
        fail(float("0.731" + "05857863"))
    except ZeroDivisionError:
        logger().exception("failed")
    printed = capsys.readouterr().err
    assert "ZeroDivisionError: no" in printed
    assert "0.73105857863" not in printed


def test_a_broken_standard_error_does_not_end_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(28, "No space left on device")

    closed = io.StringIO()
    configure(config.Log(format="json"), name="here")
    for stream in (Full(), closed):
        closed.close()
        monkeypatch.setattr(sys, "stderr", stream)
        logger().error(f"to {stream}")


def test_the_logging_of_the_program_around_it_is_left_alone() -> None:
    before = structlog.get_config()
    handlers = list(logging.root.handlers)
    configure(config.Log(), name="here")
    assert structlog.get_config() == before
    assert logging.root.handlers == handlers


def test_a_flood_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure(config.Log(format="json"), name="here")
    for _ in range(1000):
        logger().warning("refused", peer="there")
    assert capsys.readouterr().err.count("\n") == 1


class Times:
    """A clock that shows what it is told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def through(throttle: Throttle, **event: Any) -> dict[str, Any] | None:
    try:
        return dict(throttle(None, "info", event))
    except structlog.DropEvent:
        return None


def test_the_same_event_of_a_peer_passes_once_in_ten_seconds_with_a_count_of_the_rest() -> None:
    clock = Times()
    throttle = Throttle(clock)
    event = {"event": "refused", "peer": "b"}
    assert through(throttle, **event) == event
    assert [through(throttle, **event) for _ in range(5)] == [None] * 5
    clock.now += 9.99
    assert through(throttle, **event) is None
    clock.now += 0.01
    assert through(throttle, **event) == event | {"left_out": 6}
    clock.now += 10
    assert through(throttle, **event) == event


def test_other_events_other_peers_and_other_nodes_pass() -> None:
    throttle = Throttle(Times())
    assert through(throttle, event="refused", peer="b")
    assert through(throttle, event="refused", peer="c")
    assert through(throttle, event="left", peer="b")
    assert through(throttle, event="refused", peer="b", node="other")
    assert through(throttle, event="refused")
    assert through(throttle, event="refused") is None


def test_whoever_comes_under_ever_new_names_shares_one_place() -> None:
    clock = Times()
    throttle = Throttle(clock, peers=3)
    passed = [through(throttle, event="refused", peer=f"p{n}") for n in range(1000)]
    assert [n for n, event in enumerate(passed) if event] == [0, 1, 2, 3]
    clock.now += 10
    passed = [through(throttle, event="refused", peer=f"q{n}") for n in range(1000)]
    assert [n for n, event in enumerate(passed) if event] == [0, 1, 2, 3]
    assert passed[3] == {"event": "refused", "peer": "q3", "left_out": 996}


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
