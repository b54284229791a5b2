"""Run an experiment in parts: the only runner.

How it works
------------
An experiment is computed in independent parts, each from its own random numbers, so that the result
has the same bits on one thread, many threads, other processes, or after an interruption::

    folder = Folder.claim(out, experiment.identity())     # another experiment is refused
    for part in experiment.parts():                       # found in the folder, or computed
        arrays = experiment.compute(part)
        folder.save(part, arrays)                         # by this process alone
    result = experiment.combine(all arrays, in order)     # sums of floats depend on their order
    experiment.save(result)                               # first the files,
    folder.finish()                                       # then the parts are removed

Simulations (`sim.simulation`), studies of rows (`studies.study`) and the explorer's curves are
experiments. `Several` makes one of many, such as the two data sets of a figure.
"""

import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from colme.errors import ConfigError
from colme.experiment.folder import Arrays, Folder, finished_parts
from colme.experiment.workers import compute_sent, packed

Part = TypeVar("Part")
Result = TypeVar("Result")

LINE_EVERY = 10.0
"""Seconds between two lines of progress, where there is no terminal."""

Report = Callable[[int], None]
"""Is told how much work has been done since it was called last. If it raises, all ends."""


def silent(_: int) -> None:
    """Report to nobody."""


class Experiment(ABC, Generic[Part, Result]):
    """Something that is computed in parts and combined."""

    files: Sequence[str]
    """Names of the files that `save` writes and `load` needs."""

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """Return all that the numbers depend on as plain data, contents of files included.

        Rows, edges and the source of a custom rule stand in it as digests. Two experiments with
        the same identity may take each other's parts.
        """

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Return all parts, in the order in which they are combined."""

    @abstractmethod
    def name(self, part: Part) -> str:
        """Return a name for a part's file."""

    @abstractmethod
    def work(self, part: Part) -> int:
        """Return how much a part counts for in progress."""

    @abstractmethod
    def compute(self, part: Part, report: Report = silent, *, threads: int = 1) -> Arrays:
        """Compute one part, with as many threads as given, and report work as it is done."""

    @abstractmethod
    def combine(self, parts: Sequence[Arrays]) -> Result:
        """Make the result of all parts."""

    @abstractmethod
    def save(self, result: Result, out: Path) -> list[Path]:
        """Write the files, and return their paths."""

    @abstractmethod
    def load(self, out: Path) -> Result:
        """Read what `save` wrote."""

    def memory_of_part(self) -> int:
        """Return how many bytes a part takes while it is computed, about; 0 if that is little."""
        return 0

    def total_work(self) -> int:
        """Return the work of all parts."""
        return sum(map(self.work, self.parts()))


@dataclass(frozen=True, slots=True)
class RunResult(Generic[Result]):
    """A result, and where it is."""

    result: Result
    files: tuple[Path, ...] = ()
    """Files in the output folder, if there is one."""
    computed: bool = True
    """False if it was finished in this folder before, and nothing was computed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an experiment; the message says what is stored."""


def run(
    experiment: Experiment[Part, Result],
    *,
    out: Path | str | None = None,
    force: bool = False,
    threads: int | None = None,
    executor: Executor | None = None,
    report: Report = silent,
    finished: Callable[[Sequence[Arrays]], None] | None = None,
) -> RunResult[Result]:
    """Compute all parts, combine them, and save the result.

    Parameters
    ----------
    out
        Folder for finished parts and for the result. The same call resumes there, and computes
        nothing if the result is there already.
    force
        Replace what another experiment left in `out`, and a finished result.
    threads
        Threads of this process; as many as there are cores if not given.
    executor
        Computes the parts instead of threads. It belongs to the caller and stays open.
    finished
        Is given the arrays of all finished parts, in order, after each part.

    Raises
    ------
    ConfigError
        If the folder belongs to another experiment or is full, or if the experiment can't be sent
        to the executor's workers.
    Interrupted
        On Ctrl-C.
    """
    if executor is not None and threads is not None:
        raise ConfigError("threads", threads, "none with an executor: it has its own workers")
    folder = None
    if out is not None:
        folder = Folder.claim(out, experiment.identity(), results=experiment.files, force=force)
        if folder.files:
            return RunResult(experiment.load(folder.out), folder.files, computed=False)
    try:
        done = _computed(experiment, folder, threads, executor, report, finished)
    except KeyboardInterrupt:
        raise Interrupted(_what_is_stored(folder)) from None
    result = experiment.combine([done[part] for part in experiment.parts()])
    if folder is None:
        return RunResult(result)
    try:
        files = experiment.save(result, folder.out)
        folder.finish(files)
    except OSError as error:
        seen = f"{folder.out}, where the result can't be written ({error.strerror})"
        raise ConfigError("--out", seen, "room, then the same command: no part is lost") from None
    return RunResult(result, tuple(files))


def _computed(
    experiment: Experiment[Part, Result],
    folder: Folder | None,
    threads: int | None,
    executor: Executor | None,
    report: Report,
    finished: Callable[[Sequence[Arrays]], None] | None,
) -> dict[Part, Arrays]:
    """Return the arrays of every part: those found in the folder, and the others computed."""
    parts = experiment.parts()
    done: dict[Part, Arrays] = {}
    for part in parts:
        found = folder.load(experiment.name(part)) if folder else None
        if found is not None:
            done[part] = found
            report(experiment.work(part))
    missing = [part for part in parts if part not in done]

    def take(part: Part, arrays: Arrays) -> None:
        if folder:
            folder.save(experiment.name(part), arrays)
        done[part] = arrays
        if finished:
            finished([done[one] for one in parts if one in done])

    if executor is None:
        _on_threads(experiment, missing, threads, report, take)
    else:
        _on_executor(experiment, missing, executor, report, take)
    return done


def _on_threads(
    experiment: Experiment[Part, Result],
    parts: Sequence[Part],
    threads: int | None,
    report: Report,
    take: Callable[[Part, Arrays], None],
) -> None:
    """Compute parts on threads, and take each as it is finished. The first failure ends all.

    An interruption waits for no thread: a part may be seconds from where it reports, or a
    compiler's minute, and nothing of it would be stored.
    """
    threads = threads or os.cpu_count() or 1
    # If there are fewer parts than threads, the threads are shared within a part.
    each = max(1, threads // max(1, len(parts)))
    stop, lock = threading.Event(), threading.Lock()

    def tell(work: int) -> None:
        if stop.is_set():
            raise Interrupted
        with lock:
            report(work)

    pool = ThreadPoolExecutor(threads)
    interrupted = False
    try:
        futures = {pool.submit(experiment.compute, one, tell, threads=each): one for one in parts}
        for future in as_completed(futures):
            take(futures[future], future.result())
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        stop.set()
        pool.shutdown(wait=not interrupted, cancel_futures=True)


def _on_executor(
    experiment: Experiment[Part, Result],
    parts: Sequence[Part],
    executor: Executor,
    report: Report,
    take: Callable[[Part, Arrays], None],
) -> None:
    """Compute parts elsewhere, and take each as it is finished.

    In the end, and if one fails, what has not begun is cancelled, and what has is not waited for.
    """
    futures: dict[Future[Arrays], Part] = {}
    try:
        sent = packed(experiment)
        for part in parts:
            futures[executor.submit(compute_sent, sent, part)] = part
        for future in as_completed(futures):
            take(futures[future], future.result())
            report(experiment.work(futures[future]))
    finally:
        for future in futures:
            future.cancel()


def _what_is_stored(folder: Folder | None) -> str:
    if folder is None:
        return "interrupted; without --out nothing is stored"
    parts = finished_parts(folder.out)
    if parts == 0:
        return "interrupted; nothing is stored, as no part was finished yet"
    return f"interrupted; {parts} finished parts are stored: the same command goes on from there"


class Several(Experiment[tuple[str, Any], dict[str, Any]]):
    """Many experiments that end in one folder, such as the data sets of a figure.

    Parameters
    ----------
    experiments
        By name. Names are those of their results; their files have different names.
    draw
        Writes what is made of all results, such as a figure, into a folder, and returns the paths.
    """

    def __init__(
        self,
        experiments: Mapping[str, Experiment[Any, Any]],
        draw: Callable[[dict[str, Any], Path], list[Path]],
    ) -> None:
        self.experiments, self._draw = experiments, draw
        self.files = [name for one in experiments.values() for name in one.files]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what only the process that saves needs: it may not be importable elsewhere."""
        return self.__dict__ | {"_draw": None}

    def identity(self) -> Mapping[str, Any]:
        """Return the identities of all, by name."""
        return {name: one.identity() for name, one in self.experiments.items()}

    def parts(self) -> Sequence[tuple[str, Any]]:
        """Return all parts of the first, then those of the next."""
        return [(name, part) for name, one in self.experiments.items() for part in one.parts()]

    def name(self, part: tuple[str, Any]) -> str:
        """Put the experiment's name first."""
        return f"{part[0]}-{self.experiments[part[0]].name(part[1])}"

    def work(self, part: tuple[str, Any]) -> int:
        """Return that of the experiment."""
        return self.experiments[part[0]].work(part[1])

    def memory_of_part(self) -> int:
        """Return that of the largest."""
        return max(one.memory_of_part() for one in self.experiments.values())

    def compute(
        self, part: tuple[str, Any], report: Report = silent, *, threads: int = 1
    ) -> Arrays:
        """Compute a part of one experiment."""
        return self.experiments[part[0]].compute(part[1], report, threads=threads)

    def combine(self, parts: Sequence[Arrays]) -> dict[str, Any]:
        """Return the results by name."""
        left = iter(parts)
        return {
            name: one.combine([next(left) for _ in one.parts()])
            for name, one in self.experiments.items()
        }

    def save(self, result: dict[str, Any], out: Path) -> list[Path]:
        """Write all results, and what is drawn of them."""
        saved = [one.save(result[name], out) for name, one in self.experiments.items()]
        return [*chain(*saved), *self._draw(result, out)]

    def load(self, out: Path) -> dict[str, Any]:
        """Read all results."""
        return {name: one.load(out) for name, one in self.experiments.items()}


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
        while not over.wait(LINE_EVERY):
            text = progress_line(label, done[0], total, monotonic() - began)
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


def progress_line(label: str, done: int, total: int, seconds: float) -> str:
    """Return the text that is printed after so many seconds."""
    if done == 0:
        return f"{label}: preparing, {seconds:,.0f} s so far"
    left = seconds * (total - done) / done
    return f"{label}: {done / total:.0%} after {seconds:,.0f} s, about {left:,.0f} s to go"
