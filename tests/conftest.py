"""Which tests a first try leaves out, and what a suite in the background needs."""

import signal
from pathlib import Path

import pytest

SLOW_ROOMS = {"browser", "faults", "parity", "statistical"}
"""Browsers, processes that are killed, networks beside the simulator, studies over a hundred seeds:
seconds each, so CI's."""

FIRST = ("browser", "faults", "laws")
"""These wait for processes, which is done beside others and not at the end; and laws compile all
kernels."""
SIMULATING = {"cli", "explore", "parity", "planner", "report", "sim", "statistical", "studies"}
"""Last, when kernels are compiled: else each worker would compile its own."""

# A shell starts what runs in the background with interruptions ignored, and children inherit that:
# the commands that tests interrupt would never end. (A handler, unlike SIG_IGN, is not inherited.)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow whatever is in a slow room, and order rooms by what they wait for."""
    for item in items:
        if _room(item) in SLOW_ROOMS:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: (_room(item) in SIMULATING, _room(item) not in FIRST))


def _room(item: pytest.Item) -> str | None:
    """The folder of `tests` that it is in."""
    here = Path(__file__).parent
    return item.path.relative_to(here).parts[0] if item.path.is_relative_to(here) else None
