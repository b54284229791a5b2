"""A progress bar in a notebook: nobody there sees a terminal."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def in_notebook() -> bool:
    """Whether Python runs behind a notebook."""
    ipython = sys.modules.get("IPython")  # what is not imported is not running
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def bar(label: str, total: int) -> Callable[[int], None]:
    """Shows one; what it returns is told what has been done since it was called last."""
    show = import_module("IPython.display")
    handle: Any = show.display(show.HTML(_drawn(label, 0)), display_id=True)
    done = shown = 0

    def report(more: int) -> None:
        nonlocal done, shown
        done += more
        percent = 100 * done // total
        if percent > shown:  # a hundred pictures at most
            shown = percent
            handle.update(show.HTML(_drawn(label, percent)))

    return report


def _drawn(label: str, percent: int) -> str:
    return f'{label} <progress max="100" value="{percent}"></progress> {percent}%'
