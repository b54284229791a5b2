"""Which tests a first try leaves out, and what a suite in the background needs."""

import asyncio
import inspect
import signal
from pathlib import Path

import pytest

SLOW_ROOMS = {"browser", "faults", "parity", "statistical"}
"""Browsers, processes that are killed, networks beside the simulator, studies over a hundred seeds:
seconds each, so CI's."""

# A shell starts what runs in the background with interruptions ignored, and children inherit that:
# the commands that tests interrupt would never end. (A handler, unlike SIG_IGN, is not inherited.)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow whatever is in a slow room."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).parts[0] in SLOW_ROOMS:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
