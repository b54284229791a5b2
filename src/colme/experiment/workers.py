"""Other processes that compute parts: what is sent to them, and processes of this machine.

Any `concurrent.futures.Executor` will do. An experiment is pickled once; each worker unpickles it
once, after it has checked that it would compute what the sender does: the same versions, and the
same source of every module of the user's own.
"""

import io
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from colme import plugins
from colme.errors import ConfigError

PACKAGES = ("colme", "numpy", "numba", "scipy")
"""Packages whose versions decide about bits."""

INSTALLED = {*PACKAGES, "pydantic", "pydantic_core", "networkx", "pandas", "xarray"}
"""Packages whose classes may be in an experiment, and that are not the user's own."""

SCRIPTS = ("__main__", "__mp_main__")

FIELD = "workers"
"""Named by errors."""


@dataclass(frozen=True, slots=True)
class Packed:
    """An experiment on its way to workers, and what they must have."""

    content: bytes
    versions: tuple[tuple[str, str], ...]
    modules: tuple[tuple[str, str], ...]
    """Modules of the user's own: name and digest of the source."""
    folders: tuple[str, ...]
    """Folders that are searched for these modules, after those of Python."""


def packed(experiment: Any) -> Packed:
    """Pickle an experiment.

    Raises
    ------
    ConfigError
        If it holds something that a worker could not import: a script's own class, a lambda.
    """
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(experiment)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        expected = f"rules, baselines and options that can be sent to workers ({error})"
        raise ConfigError("algorithms", "an object", expected) from None
    digests = tuple((name, plugins.source_digest(name)) for name in pickler.modules)
    return Packed(file.getvalue(), versions(), digests, tuple(plugins.searched))


class _Pickler(pickle.Pickler):
    """Notes the user's own modules, and refuses what no module has under its name."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.modules: dict[str, None] = {}

    def reducer_override(self, one: Any) -> Any:
        """Look at classes and functions; pickle all as usual."""
        if isinstance(one, type | FunctionType):
            name = f"{one.__module__}:{one.__qualname__}"
            if one.__module__ in SCRIPTS:
                expected = "something from a module of its own: workers can't import a script"
                raise ConfigError("algorithms", name, expected)
            if "<" in one.__qualname__:
                expected = "something that a module has under this name: workers look it up there"
                raise ConfigError("algorithms", name, expected)
            package = one.__module__.partition(".")[0]
            if package not in INSTALLED and package not in sys.stdlib_module_names:
                self.modules[one.__module__] = None
        return NotImplemented


def compute_sent(sent: Packed, part: Any) -> Any:
    """Compute a part in a worker, and return its arrays."""
    return _unpacked(sent).compute(part)


@lru_cache(maxsize=2)
def _unpacked(sent: Packed) -> Any:
    """Check this worker, then unpickle. Stored: what is prepared for a part serves the next."""
    host = socket.gethostname()
    for (name, wanted), (_, here) in zip(sent.versions, versions(), strict=True):
        if wanted != here:
            raise another_version(name, f"{here} on {host}", wanted)
    for folder in sent.folders:
        plugins.search_in(Path(folder))
    for name, wanted in sent.modules:
        if _imported(name, host) != wanted:
            expected = "the one that was sent for: copy it, restart workers that have read it"
            raise ConfigError(FIELD, f"another module {name} on {host}", expected)
    # As trusted as the executor, which pickles what it sends, too.
    return pickle.loads(sent.content)


def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of this process."""
    return tuple((name, import_module(name).__version__) for name in PACKAGES)


def another_version(package: str, seen: str, wanted: str) -> ConfigError:
    """Make the error for a worker that would compute other numbers."""
    return ConfigError(FIELD, f"{package} {seen}", f"workers with {package} {wanted}, as here")


def _imported(name: str, host: str) -> str:
    try:
        import_module(name)
    except Exception as error:  # anything that a user's module raises while it is imported
        expected = f"a module that can be imported on {host} ({type(error).__name__}: {error})"
        raise ConfigError(FIELD, name, expected) from None
    return plugins.source_digest(name)


@contextmanager
def processes(number: int) -> Iterator[Executor]:
    """Start so many processes on this machine; they end when the context is left."""
    others = {one.pid for one in multiprocessing.active_children()}
    # Not forked: a fork of a process whose threads compute can wait for a lock for ever.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(number, mp_context=context, initializer=_begin_worker)
    try:
        yield executor
        executor.shutdown()
    except BrokenProcessPool:
        expected = "workers that stay: fewer, or more memory; finished parts are stored in --out"
        raise ConfigError("--workers", "a process that ended", expected) from None
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for one in multiprocessing.active_children():
            if one.pid not in others:  # in the middle of a part that nobody waits for
                one.kill()


def _begin_worker() -> None:
    """Ignore Ctrl-C, which reaches all processes of a terminal: the sender ends the workers.

    A sender that was killed can't. Its workers would wait for work for ever, so each watches it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_sender, daemon=True).start()


def _end_with_sender() -> None:
    sender = multiprocessing.parent_process()
    if sender is not None:
        sender.join()
        os._exit(1)
