"""Ctrl-C: what is kept, and how to go on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Interrupted(Exception):  # noqa: N818 (not an error)
    """By Ctrl-C, with what is kept and how to go on in words."""


@contextmanager
def interruptible(kept: Path | None) -> Iterator[None]:
    """Who interrupts is told what is kept: batches in this folder, or nothing."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(_words_on(kept)) from None


def _words_on(kept: Path | None) -> str:
    if kept is None:
        return "interrupted; without --out nothing is kept"
    batches = len(list(kept.glob("*.batch")))
    if batches == 0:
        return "interrupted; nothing is kept, as no batch of runs was finished yet"
    what = "1 batch" if batches == 1 else f"{batches} batches"
    return f"interrupted; {what} of runs kept in {kept}: the same command goes on from there"
