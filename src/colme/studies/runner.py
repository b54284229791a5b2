"""Runs a study in batches, here or elsewhere, keeps what is finished, and goes on from there."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from colme.errors import ConfigError
from colme.sim.study import Checkpoint, Stopped, on_executor, on_threads
from colme.studies.inquiry import Inquiry
from colme.studies.playing import Part, lanes_for, play
from colme.studies.sent import StudyOrder, fulfilled, packed

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
    executor: Executor | None = None,
    report: Report = lambda _: None,
) -> list[Part]:
    """Every batch, in order: the same for any number of threads, and for any executor.

    With `out`, finished ones are kept there until all are, and not computed again.
    """
    if executor is not None and threads is not None:
        raise ConfigError("threads", threads, "none with an executor: it has its own workers")
    checkpoint = None if out is None else Checkpoint(kept_in(question, out))
    run = _Run(question, checkpoint, report)
    parts = run.on_threads(threads) if executor is None else run.elsewhere(executor)
    if checkpoint:
        checkpoint.remove()
    return parts


class _Run:
    """All batches, by their first runs."""

    def __init__(self, question: Inquiry, checkpoint: Checkpoint | None, report: Report) -> None:
        self._question, self._checkpoint, self._report = question, checkpoint, report
        self._lanes = lanes_for(question.runs)
        self._firsts = range(0, question.runs, self._lanes)

    def on_threads(self, threads: int | None) -> list[Part]:
        """Progress is told from within a batch, and where it is told a batch can be stopped."""
        stop, lock = threading.Event(), threading.Lock()

        def tell(run_rounds: int) -> None:
            if stop.is_set():
                raise Stopped
            with lock:
                self._report(run_rounds)

        def run(first: int) -> Part:
            found = self._found(first)
            if found is not None:
                tell(self._run_rounds(first))
                return found
            part = play(self._question, first, self._runs(first), tell)
            self._keep(first, part)
            return part

        return on_threads(run, self._firsts, threads=threads, stop=stop)

    def elsewhere(self, executor: Executor) -> list[Part]:
        """Progress is told by the batch; whoever asks is the one who keeps."""
        parcel = packed(self._question)
        parts: dict[int, Part] = {}
        for first in self._firsts:
            found = self._found(first)
            if found is not None:
                parts[first] = found
                self._report(self._run_rounds(first))

        def take(order: StudyOrder, part: Part) -> None:
            self._keep(order.first, part)
            parts[order.first] = part
            self._report(self._run_rounds(order.first))

        missing = [first for first in self._firsts if first not in parts]
        orders = [StudyOrder(parcel, first, self._runs(first)) for first in missing]
        on_executor(executor, fulfilled, orders, take)
        return [parts[first] for first in self._firsts]

    def _runs(self, first: int) -> int:
        return min(self._lanes, self._question.runs - first)

    def _run_rounds(self, first: int) -> int:
        return self._runs(first) * self._question.samples

    def _name(self, first: int) -> str:
        return f"{first}-{self._runs(first)}"

    def _found(self, first: int) -> Part | None:
        return self._checkpoint.load(self._name(first)) if self._checkpoint else None

    def _keep(self, first: int, part: Part) -> None:
        if self._checkpoint:
            self._checkpoint.save(self._name(first), part)
