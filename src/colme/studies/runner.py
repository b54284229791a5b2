"""Runs a study in batches on several threads, keeps what is finished, and goes on from there."""

import threading
from collections.abc import Callable
from pathlib import Path

from colme.sim.study import Checkpoint, Stopped, on_threads
from colme.studies.inquiry import Inquiry
from colme.studies.playing import Part, lanes_for, play

Report = Callable[[int], None]
"""Hears how many run-rounds have been done since it was called last."""


def work(question: Inquiry) -> int:
    """Run-rounds in all."""
    return question.runs * question.samples


def kept_in(question: Inquiry, out: Path) -> Path:
    """Where finished batches are, until all are."""
    return out / f"unfinished-{question.identity}"


def played(
    question: Inquiry,
    *,
    out: Path | None = None,
    threads: int | None = None,
    report: Report = lambda _: None,
) -> list[Part]:
    """Every batch, in order: the same for any number of threads.

    With `out`, finished ones are kept there until all are, and not computed again.
    """
    checkpoint = None if out is None else Checkpoint(kept_in(question, out))
    lanes = lanes_for(question.runs)
    stop, lock = threading.Event(), threading.Lock()

    def tell(run_rounds: int) -> None:
        if stop.is_set():
            raise Stopped
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

    parts = on_threads(run, range(0, question.runs, lanes), threads=threads, stop=stop)
    if checkpoint:
        checkpoint.remove()
    return parts
