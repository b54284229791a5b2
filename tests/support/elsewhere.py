"""Waiting for what happens in other processes, which tell nobody: the only place with a nap."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

PATIENCE = 30.0
"""Seconds within which whatever is waited for must have happened."""
PAUSE = 0.05
"""Seconds between two looks."""

Found = TypeVar("Found")


def until(
    what: str,
    look: Callable[[], Found | None],
    shown: Callable[[], str] = str,
    *,
    patience: float = PATIENCE,
) -> Found:
    """The first true value of a look; if there is none in time, an error with what is `shown`."""
    began = monotonic()
    while not (found := look()):
        assert monotonic() - began < patience, f"not within {patience:g} s: {what}\n{shown()}"
        sleep(PAUSE)
    return found
