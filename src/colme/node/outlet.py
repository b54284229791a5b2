"""Lines to standard error from a thread of their own: who reads them slowly holds up nobody."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Thread
from typing import Self

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


class Outlet:
    """Writes lines while it is open.

    Once it has caught up after some were dropped, `resumed` is told how many.
    """

    def __init__(self, resumed: Callable[[int], None]) -> None:
        self.dropped = 0
        """In all."""
        self._untold = 0
        self._resumed = resumed
        self._lines: Queue[str | None] = Queue(MOST_LINES)
        # A daemon: a reader that never reads again must not keep the process alive.
        self._thread = Thread(target=self._run, name="log", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._lines.put(None, timeout=SECONDS_TO_END)
        except Full:
            # Nobody reads: what waits is given up, so that the thread ends with the line it is at.
            with suppress(Empty):
                while True:
                    self._lines.get_nowait()
            self._lines.put(None)
        self._thread.join(SECONDS_TO_END)

    def put(self, line: str) -> None:
        """Write a line soon, or drop it; never wait."""
        try:
            self._lines.put_nowait(line)
        except Full:
            self.dropped += 1
            self._untold += 1

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            write_line(line)
            untold = self._untold
            if untold and self._lines.empty():
                self._untold -= untold
                self._resumed(untold)
