"""How far a long computation has come: a bar in a terminal or notebook, else lines."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS = 10.0
"""Between two lines."""


def in_notebook() -> bool:
    """Return whether Python runs behind a notebook."""
    ipython = sys.modules.get("IPython")  # what is not imported is not running
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error, from the start on: preparing and compiling count too."""
    shown = in_notebook() or sys.stderr.isatty()
    with _bar(label, total) if shown else _lines(label, total) as report:
        yield report


@contextmanager
def _bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    with Progress(
        TextColumn("{task.description}", markup=False),  # a name of a user
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=None if in_notebook() else Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(label, total=total, rate="preparing")

        def report(done: int) -> None:
            bar.advance(task, done)
            speed = bar.tasks[task].speed
            if speed:
                bar.update(task, rate=f"{speed:,.0f} run-rounds/s")

        yield report


@contextmanager
def _lines(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Print from a thread of its own: there is news also while nothing is reported."""
    done, began, over = [0], monotonic(), threading.Event()

    def tell() -> None:
        while not over.wait(SECONDS):
            text = line(label, done[0], total, monotonic() - began)
            print(text, file=sys.stderr, flush=True)

    def report(work: int) -> None:
        done[0] += work

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield report
    finally:
        over.set()
        teller.join()


def line(label: str, done: int, total: int, seconds: float) -> str:
    """Return the text that is printed after so many seconds."""
    if done == 0:
        return f"{label}: preparing, {seconds:,.0f} s so far"
    left = seconds * (total - done) / done
    return f"{label}: {done / total:.0%} after {seconds:,.0f} s, about {left:,.0f} s to go"
