"""What a study takes of memory, against what the machine has."""

import os
import sys
from pathlib import Path

from colme.errors import ConfigError
from colme.sim.scenario import Scenario
from colme.sim.study import room_for

WORTH_SAYING = 2**30
"""Bytes from which on it is said how much it will be."""
LIMIT = Path("/sys/fs/cgroup/memory.max")
"""Where a container says what it may have."""


def require_memory(scenario: Scenario, *, threads: int | None, force: bool) -> None:
    """Refuse what does not fit, before anything is made of it."""
    needed, there = room_for(scenario, threads), of_this_machine()
    if needed >= WORTH_SAYING:
        print(f"colme: about {gib(needed)} of memory will be taken", file=sys.stderr, flush=True)
    if there is not None and needed > there and not force:
        seen = f"{scenario.agents:,} agents, about {gib(needed)} of memory where {gib(there)} are"
        fewer = "fewer agents, runs or algorithms, --threads 1, or --force to try all the same"
        raise ConfigError("--agents", seen, fewer)


def of_this_machine() -> int | None:
    """Bytes that it has, or that it lets this process have; None if it does not say."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    try:
        return min(there, int(LIMIT.read_text()))
    except (OSError, ValueError):  # There is no limit.
        return there


def gib(size: int) -> str:
    """In words."""
    return f"{size / 2**30:,.1f} GiB"
