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

The output folder belongs to one experiment, so that no figure stands beside data that it does not
show::

    asked.json             the identity of the experiment and, once it is finished, its files
    unfinished-<digest>/   a file for each finished part, until all files are written

1. `Folder.claim` compares identities. They cover the contents of all that an experiment reads, so
   that an edited table, edge file or rule is another experiment. Another one is refused.
2. Each part is saved as it is finished, whole or not at all, and found by the same command later.
3. `Folder.finish` is called when all files are written. It lists them in asked.json, and only then
   removes the parts: a full disk at the end loses none of them.

Simulations (`sim.simulation`), studies of rows (`studies.study`) and the explorer's curves are
experiments. `Several` makes one of many, such as the two data sets of a figure.
"""

import hashlib
import io
import json
import os
import sys
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from shutil import rmtree
from time import monotonic
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from colme import __version__
from colme.errors import ConfigError
from colme.experiment.workers import compute_sent, packed

Part = TypeVar("Part")
Result = TypeVar("Result")

LINE_EVERY = 10.0
"""Seconds between two lines of progress, where there is no terminal."""

Report = Callable[[int], None]
"""Is told how much work has been done since it was called last. If it raises, all ends."""


def silent(_: int) -> None:
    """Report to nobody."""


Arrays = Mapping[str, NDArray[np.float64]]
"""Arrays of a finished part, by name."""

ASKED = "asked.json"
UNFINISHED = "unfinished-"

DIGEST = hashlib.sha256().digest_size
"""Bytes at the start of a part's file: a hash of the others, so that any damage shows."""

MOST_NAMED = 4
"""Fields that an error names, if two experiments differ in more."""
LONGEST = 40
"""Characters of a value that an error shows."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that holds nothing of another experiment."""

    out: Path
    identity: Mapping[str, Any]
    files: tuple[Path, ...] = ()
    """All files of the experiment if it was finished here before; else none."""

    @classmethod
    def claim(
        cls,
        out: Path | str,
        identity: Mapping[str, Any],
        *,
        results: Iterable[str],
        force: bool = False,
    ) -> Self:
        """Take a folder for an experiment.

        Parameters
        ----------
        identity
            Plain data that covers all that the numbers depend on.
        results
            Names of files that the experiment writes.
        force
            Remove what another experiment left there, and what this one did if it is finished.

        Raises
        ------
        ConfigError
            If the folder can't be written to, or belongs to another experiment.
        """
        out = Path(out)
        # As it will be read again: a tuple comes back as a list.
        identity = json.loads(json.dumps({"version": __version__, **identity}))
        require_writable(out)
        known = _read(out)
        if known is None:
            there = tuple(out / name for name in results if (out / name).exists())
            strange = f"with {there[0].name} in it, and not what was asked for it" if there else ""
        else:
            there = known.files
            differences = list(_differences(known.identity, identity))
            strange = f"of another experiment: {_listed(differences)}" if differences else ""
        if strange and not force:
            raise ConfigError("--out", f"{out}, {strange}", _REMEDY)
        if known is None or strange or (force and there):
            _remove(out, there)
        elif there and all(path.exists() for path in there):
            return cls(out, identity, there)
        claimed = cls(out, identity)
        _write(claimed)
        return claimed

    @property
    def parts(self) -> Path:
        """Folder of the finished parts. No other experiment and no other version has its name."""
        everything = json.dumps(self.identity, sort_keys=True).encode()
        return self.out / f"{UNFINISHED}{hashlib.sha256(everything).hexdigest()[:16]}"

    def load(self, name: str) -> Arrays | None:
        """Return a finished part; None if it is not there or damaged."""
        path = self.parts / f"{name}.part"
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError("--out", str(path), f"a file to read ({error.strerror})") from None
        digest, packed = content[:DIGEST], content[DIGEST:]
        if hashlib.sha256(packed).digest() != digest:
            # The same text for every part: it is shown once.
            warnings.warn(f"{self.parts}: damaged parts are computed again", stacklevel=1)
            return None
        with np.load(io.BytesIO(packed)) as arrays:
            return dict(arrays)

    def save(self, name: str, arrays: Arrays) -> None:
        """Store a finished part; the file appears whole or not at all."""
        packed = io.BytesIO()
        np.savez(packed, allow_pickle=False, **arrays)
        partial = self.parts / f"{name}.partial"
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                file.write(hashlib.sha256(packed.getbuffer()).digest())
                file.write(packed.getbuffer())
            partial.replace(self.parts / f"{name}.part")
        except OSError as error:
            seen = f"{self.parts}, where a part can't be written ({error.strerror})"
            expected = "room, then the same command: finished parts are stored"
            raise ConfigError("--out", seen, expected) from None

    def finish(self, files: Iterable[Path]) -> None:
        """Note that these files are all there, then remove the parts: in this order, never before.

        Parts are all that is left of hours if the disk is full at the end.
        """
        _write(replace(self, files=tuple(files)))
        if self.parts.is_dir():
            rmtree(self.parts)


def finished_parts(out: Path) -> int:
    """Count finished parts in a folder whose experiment is not finished."""
    return len(list(out.glob(f"{UNFINISHED}*/*.part")))


def require_writable(out: Path) -> None:
    """Make the folder, and make sure that it can be written to, before anything is computed."""
    probe = out / ".writable"
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError("--out", str(out), f"a folder to write to ({error.strerror})") from None


def add_files(out: Path, files: Iterable[Path]) -> None:
    """Note what was drawn from a finished experiment; elsewhere, note nothing."""
    known = _read(out)
    if known is not None and known.files:
        every = dict.fromkeys([*known.files, *(out / path.name for path in files)])
        _write(replace(known, files=tuple(every)))


def refuse_unfinished(out: Path) -> None:
    """Raise a ConfigError if an experiment has begun in this folder and is not finished."""
    known = _read(out)
    begun = any(out.glob(f"{UNFINISHED}*")) if known is None else not known.files
    if begun:
        seen = f"{out}, which is not finished ({finished_parts(out)} parts are)"
        raise ConfigError("result", seen, "the command that began it once more: it goes on")


_REMEDY = "another folder, or --force to replace what is there"


def _read(out: Path) -> Folder | None:
    """Return what asked.json says; None if there is none."""
    try:
        content = json.loads((out / ASKED).read_text(encoding="utf-8"))
        files = tuple(out / str(name) for name in content["files"])
        return Folder(out, dict(content["asked"]), files)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return Folder(out, {})  # Nothing can be compared, so it is another experiment's.


def _write(known: Folder) -> None:
    """Write asked.json, whole or not at all."""
    partial = known.out / f"{ASKED}.partial"
    content = {"asked": known.identity, "files": [path.name for path in known.files]}
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    partial.replace(known.out / ASKED)


def _remove(out: Path, files: Iterable[Path]) -> None:
    """Remove files of this folder alone, whatever a name says, and unfinished parts."""
    for path in files:
        (out / path.name).unlink(missing_ok=True)
    for folder in out.glob(f"{UNFINISHED}*"):
        rmtree(folder)


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    before, now = dict(_flat("", there)), dict(_flat("", here))
    for field in dict.fromkeys([*before, *now]):
        if before.get(field) != now.get(field):
            yield f"{field} {_short(before.get(field))} there, {_short(now.get(field))} here"


def _flat(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield fields with their paths, those of tables in a list included."""
    tables = isinstance(value, list) and any(isinstance(one, dict) for one in value)
    if isinstance(value, Mapping) or tables:
        items = enumerate(value) if tables else value.items()
        for name, one in items:
            yield from _flat(f"{place}.{name}" if place else str(name), one)
    else:
        yield place, value


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value).replace('"', "")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _listed(differences: list[str]) -> str:
    more = len(differences) - MOST_NAMED
    return "; ".join(differences[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


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
