"""The time, and how long to wait between attempts: the only place of a node that reads either."""

import asyncio
import time
from random import SystemRandom
from typing import Protocol


class Clock(Protocol):
    """What a node takes for the time."""

    def wall(self) -> float:
        """Seconds since 1970, as people have them; may jump."""

    def monotonic(self) -> float:
        """Seconds since some moment; never jumps."""

    def jitter(self) -> float:
        """Return a random share, 0.5 to 1, of a wait: so that nodes do not all come at once."""


class SystemClock:
    """The machine's clock and randomness."""

    _random = SystemRandom()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment, as the running loop counts them."""
        return asyncio.get_running_loop().time()

    def jitter(self) -> float:
        """Return a random share, 0.5 to 1."""
        return self._random.uniform(0.5, 1)
