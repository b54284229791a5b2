"""Runs a study in batches on several threads, keeps what is finished, and goes on from there."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from colme.sim.study import Checkpoint
from colme.studies.playing import Part, lanes_for, play
from colme.studies.question import Question

Report = Callable[[int], None]
"""Hears how many run-rounds have been done since it was called last."""


class _Stopped(Exception):  # noqa: N818 (not an error)
    """Ends a batch that nobody wants any more."""


def work(question: Question) -> int:
    """Run-rounds in all."""
    return question.runs * question.samples


def played(
    question: Question,
    *,
    out: Path | None = None,
    threads: int | None = None,
    report: Report = lambda _: None,
) -> list[Part]:
    """Every batch, in order: the same for any number of threads.

    With `out`, finished ones are kept there until all are, and not computed again.
    """
    checkpoint = None if out is None else Checkpoint(out / f"unfinished-{question.identity}")
    lanes = lanes_for(question.runs)
    stop, lock = threading.Event(), threading.Lock()

    def tell(run_rounds: int) -> None:
        if stop.is_set():
            raise _Stopped
        with lock:
            report(run_rounds)

    def run(first: int) -> Part:
        runs = min(lanes, question.runs - first)
        name = f"{first}-{runs}"
        found = checkpoint.load(name) if checkpoint else None
        if found is not None:
            tell(runs * question.samples)
            return found
        part = play(question, first, runs, tell)
        if checkpoint:
            checkpoint.save(name, part)
        return part

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        futures = [pool.submit(run, first) for first in range(0, question.runs, lanes)]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()  # raises what went wrong
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    parts = [future.result() for future in futures]
    if checkpoint:
        checkpoint.remove()
    return parts
