"""The time, as a node takes it: the only place that reads it."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Source of a node's time."""

    def wall(self) -> float:
        """Seconds since 1970, as people have them; may jump."""

    def monotonic(self) -> float:
        """Seconds since some moment; never jumps."""


class SystemClock:
    """The machine's clocks."""

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment, as the running loop counts them."""
        try:
            return asyncio.get_running_loop().time()
        except RuntimeError:
            return time.monotonic()  # A node that was left may still be looked at.
