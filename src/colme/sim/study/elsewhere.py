"""Work for other processes, on any `concurrent.futures.Executor`: what travels, what comes back.

Objects of a user's own travel by name. Whoever is sent something checks first that it would compute
what the sender does.
"""

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from colme import plugins
from colme.errors import ConfigError

PACKAGES = ("colme", "numpy", "numba", "scipy")
"""Those whose versions decide about bits."""

FIELD = "cluster"
"""What errors are about."""

Order = TypeVar("Order")
Done = TypeVar("Done")


def on_executor(
    executor: Executor,
    function: Callable[[Order], Done],
    orders: Iterable[Order],
    take: Callable[[Order, Done], None],
) -> None:
    """`take` hears of each as it is done, in any order and on this thread.

    The first that fails ends all, as an interruption does: what has not begun is cancelled, and
    what has is not waited for.
    """
    futures: dict[Future[Done], Order] = {}
    try:
        for order in orders:
            futures[executor.submit(function, order)] = order
        for future in as_completed(futures):
            take(futures[future], future.result())
    finally:
        for future in futures:
            future.cancel()


@dataclass(frozen=True, slots=True)
class Parcel:
    """What every worker needs of a study, and has to have already."""

    content: bytes
    versions: tuple[tuple[str, str], ...]
    modules: tuple[tuple[str, str], ...]
    """Of the user's own: name and digest."""
    folders: tuple[str, ...]
    """Where these were looked for besides where Python looks."""

    @classmethod
    def of(cls, content: bytes, algorithms: Sequence[Mapping[str, Any]]) -> "Parcel":
        """With whatever these tables name."""
        modules = tuple(plugins.sources(algorithms).items())
        return cls(content, versions(), modules, tuple(plugins.searched))

    def opened(self) -> bytes:
        """The content, where this process may be trusted with it."""
        host = socket.gethostname()
        for (name, wanted), (_, here) in zip(self.versions, versions(), strict=True):
            if wanted != here:
                raise another_version(name, f"{here} on {host}", wanted)
        for folder in self.folders:
            plugins.search_in(Path(folder))
        for name, wanted in self.modules:
            if _met(name, host) != wanted:
                expected = "the one that was sent for: copy it, restart workers that have read it"
                raise ConfigError(FIELD, f"another module {name} on {host}", expected)
        return self.content


def another_version(package: str, seen: str, wanted: str) -> ConfigError:
    """Of a worker that would compute other numbers."""
    return ConfigError(FIELD, f"{package} {seen}", f"workers with {package} {wanted}, as here")


def require_names(algorithms: Sequence[Mapping[str, Any]]) -> None:
    """Refuse tables with something of the user's own that others could not look up."""
    for text in plugins.names_in(algorithms):
        if text.partition(":")[0] in ("__main__", "__mp_main__"):
            expected = "something from a module of its own: workers can't import a script"
            raise ConfigError("algorithms", text, expected)
        try:
            plugins.load("algorithms", text)
        except ConfigError:
            expected = "something that a module has under this name: workers look it up there"
            raise ConfigError("algorithms", text, expected) from None


def versions() -> tuple[tuple[str, str], ...]:
    """Of this process."""
    return tuple((name, import_module(name).__version__) for name in PACKAGES)


def _met(name: str, host: str) -> str:
    try:
        import_module(name)
    except Exception as error:  # whatever a module of the user's own raises while it is imported
        expected = f"a module that can be imported on {host} ({type(error).__name__}: {error})"
        raise ConfigError(FIELD, name, expected) from None
    return plugins.source_digest(name)
