"""The log: one line an event to standard error, for people or for machines.

It leaves the logging of a program that embeds a node alone, and is silent until `configure`.
"""

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler
from math import inf
from queue import SimpleQueue
from threading import Lock, Thread
from traceback import extract_tb

import structlog
from structlog.stdlib import filter_by_level
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from colme.node import config

MOST_LINES = 1000
"""Waiting to be written; more are dropped, and counted."""
SECONDS_TO_END = 1.0
"""In which a reader that does read has read what is left."""


def write_line(line: str) -> None:
    """To standard error as it is now: programs (and tests) may replace it."""
    # A full disk or a closed pipe must not end the node.
    with suppress(OSError, ValueError, AttributeError):
        rest = f"{line}\n".encode(errors="backslashreplace")
        try:
            descriptor = sys.stderr.fileno()
        except OSError:  # It is no file, but something in its place.
            print(line, file=sys.stderr, flush=True)
            return
        # Not by its buffer: a thread that hangs there would hang the end of the process.
        while rest:
            rest = rest[os.write(descriptor, rest) :]


class _AtOnce(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        write_line(record.getMessage())


class _Waiting(QueueHandler):
    """Lines that wait for a thread. If too many wait, the next are dropped and counted."""

    def __init__(self) -> None:
        # Without a limit of its own: the line that ends the thread must always find room.
        self.lines: SimpleQueue[logging.LogRecord | None] = SimpleQueue()
        super().__init__(self.lines)
        self.dropped = 0

    def enqueue(self, record: logging.LogRecord) -> None:
        if self.lines.qsize() < MOST_LINES:
            self.lines.put(record)
        else:
            self.dropped += 1

    def write_all(self) -> None:
        """Write lines until None comes. Once all are written, say how many were dropped."""
        told = 0
        while (record := self.lines.get()) is not None:
            write_line(record.getMessage())
            dropped = self.dropped
            if dropped > told and self.lines.empty():
                what = "lines of this log were dropped: nobody read"
                _bound(_UNTHROTTLED).warning(what, count=dropped - told)
                told = dropped


LONGEST = 4000
"""Characters of a field: what others say may be quoted in it."""
LIBRARIES = ("asyncio", "grpc")
"""Whose own logs would go to standard error as they are."""

_Key = tuple[object, object, object]


class Throttle:
    """Lets the same event of a peer, for the same reason, through once in `seconds`, with a count.

    At most `peers` of them are told apart: whoever comes under ever new names shares one place.
    """

    def __init__(
        self, clock: Callable[[], float], *, seconds: float = 10.0, peers: int = 1000
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._peers = peers
        self._seen: dict[_Key, tuple[float, int]] = {}
        """When an event passed last, and how many did not since: the first of it passed first."""
        self._lock = Lock()

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """The event as it is, or with `left_out`; structlog.DropEvent if it came too soon."""
        # A reason is a word; where there is none, why is of this node's own making.
        what = (event["event"], event.get("reason", event.get("why")))
        with self._lock:
            now = self._clock()
            key = self._place_of((event.get("node"), what, event.get("peer")), now)
            passed, left_out = self._seen.get(key, (-inf, 0))
            if now - passed < self._seconds:
                self._seen[key] = passed, left_out + 1
                raise structlog.DropEvent
            # Taken out and put back at the end: the first of the dictionary is the oldest.
            self._seen.pop(key, None)
            self._seen[key] = now, 0
        if left_out:
            event["left_out"] = left_out
        return event

    def _place_of(self, key: _Key, now: float) -> _Key:
        if key in self._seen or len(self._seen) < self._peers:
            return key
        shared = (key[0], key[1], None)
        oldest, (passed, _) = next(iter(self._seen.items()))
        if oldest == shared or now - passed < self._seconds:
            return shared
        del self._seen[oldest]
        return key


_LINES = logging.Logger("colme.node")
"""Takes lines as they are printed. It is in no hierarchy: other logging does not reach it."""
_LINES.disabled = True
_LINES.addHandler(_AtOnce())

_PIPELINE: list[Processor] = [filter_by_level]
_UNTHROTTLED: list[Processor] = []


@contextmanager
def in_a_thread() -> Iterator[Callable[[str], None]]:
    """Write the log in a thread while the block lasts; what is given goes there too, as it is.

    A reader that stops reading costs lines then, and nothing else.
    """
    waiting, before = _Waiting(), _LINES.handlers
    # Not a QueueListener: its end waits for a reader that never reads again. A daemon does not.
    thread = Thread(target=waiting.write_all, name="log", daemon=True)
    thread.start()
    _LINES.handlers = [waiting]
    try:
        yield _LINES.critical
    finally:
        _LINES.handlers = before
        waiting.lines.put(None)
        thread.join(SECONDS_TO_END)


def lines_dropped() -> int:
    """Of the log, since nobody read them in time."""
    return sum(one.dropped for one in _LINES.handlers if isinstance(one, _Waiting))


def configure(log: config.Log, *, name: str) -> None:
    """From now on, all loggers of this module write; `name` is the node's where none is bound."""
    to_terminal = sys.stderr.isatty()
    as_text = log.format == "text" or (log.format == "auto" and to_terminal)
    _UNTHROTTLED[:] = [
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.format_exc_info,
        _cut_short,
        _in_order(name),
        # The default traceback shows local variables, samples among them.
        structlog.dev.ConsoleRenderer(
            colors=to_terminal,
            timestamp_key="time",
            repr_native_str=True,
            exception_formatter=structlog.dev.plain_traceback,
        )
        if as_text
        else structlog.processors.JSONRenderer(),
    ]
    _PIPELINE[:] = [filter_by_level, Throttle(time.monotonic), *_UNTHROTTLED]
    _LINES.disabled = False
    _LINES.setLevel(log.level.upper())
    for library in LIBRARIES:
        logging.getLogger(library).addHandler(_FROM_LIBRARIES)


def logger(**fields: object) -> FilteringBoundLogger:
    """A logger that adds these fields to its events, such as `node` or `peer`."""
    return _bound(_PIPELINE, **fields)


def _bound(pipeline: list[Processor], **fields: object) -> FilteringBoundLogger:
    bound: FilteringBoundLogger = structlog.wrap_logger(
        _LINES,
        processors=pipeline,
        wrapper_class=structlog.make_filtering_bound_logger("debug"),
        context_class=dict,
    ).bind(**fields)
    return bound


class _FromLibraries(logging.Handler):
    """What libraries log, as events of this log: what and where, but no values, samples perhaps."""

    def emit(self, record: logging.LogRecord) -> None:
        what, _, _ = record.getMessage().partition("\n")
        event = {"library": record.name, "why": re.sub(r"\(.*\)", "()", what)}
        if record.exc_info and record.exc_info[0] is not None:
            event["kind"] = record.exc_info[0].__name__
            for frame in extract_tb(record.exc_info[2])[-1:]:
                event["where"] = f"{frame.filename}:{frame.lineno}"
        error = record.levelno >= logging.ERROR
        log = logger()
        (log.error if error else log.warning)("a library complains", **event)


_FROM_LIBRARIES = _FromLibraries(logging.WARNING)


def _cut_short(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for name, value in event.items():
        if isinstance(value, str) and len(value) > LONGEST:
            event[name] = f"{value[:LONGEST]}..."
    return event


def _in_order(name: str) -> Processor:
    def put(_logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        first = {"time": event.pop("time"), "level": method, "event": event.pop("event")}
        return {**first, "node": event.pop("node", name), **event}

    return put
