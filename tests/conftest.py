"""Which tests a first try leaves out."""

from pathlib import Path

import pytest

SLOW_ROOMS = {"browser", "faults", "parity", "statistical"}
"""Browsers, processes that are killed, networks beside the simulator, studies over a hundred seeds:
seconds each, so CI's."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow whatever is in a slow room."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).parts[0] in SLOW_ROOMS:
            item.add_marker(pytest.mark.slow)
