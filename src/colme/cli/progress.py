"""How far a long command has come: a bar on a terminal, elsewhere a line every ten seconds."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

Report = Callable[[int], None]
"""Is told of run-rounds that are done since it was called last."""

SECONDS = 10.0
"""Between two lines."""


@contextmanager
def progress(label: str, total: int) -> Iterator[Report]:
    """On standard error, from the beginning on: preparing and compiling are seen too."""
    with _bar(label, total) if sys.stderr.isatty() else _lines(label, total) as report:
        yield report


@contextmanager
def _bar(label: str, total: int) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}", markup=False),  # a name of a user
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=Console(stderr=True),
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
def _lines(label: str, total: int) -> Iterator[Report]:
    """From a thread of its own: there is news also while nothing is reported."""
    done, began, over = [0], monotonic(), threading.Event()

    def tell() -> None:
        while not over.wait(SECONDS):
            text = line(label, done[0], total, monotonic() - began)
            print(text, file=sys.stderr, flush=True)

    def report(run_rounds: int) -> None:
        done[0] += run_rounds

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield report
    finally:
        over.set()
        teller.join()


def line(label: str, done: int, total: int, seconds: float) -> str:
    """What is told after so many seconds."""
    if done == 0:
        return f"{label}: preparing, {seconds:,.0f} s so far"
    left = seconds * (total - done) / done
    return f"{label}: {done / total:.0%} after {seconds:,.0f} s, about {left:,.0f} s to go"
