"""When the next round begins: by the clock, or as fast as the neighbours deliver."""

from collections.abc import Callable
from math import floor
from time import monotonic, time
from typing import Protocol

from colme.node.config import NodeConfig

LARGEST_DRIFT = 1.0
"""Seconds that the clock may gain or lose at once; more is a jump."""


class Pacing(Protocol):
    """Decides which round is next, and how many seconds from now."""

    follows: bool
    """Whether a neighbour that is far ahead is followed: rounds have no other measure."""

    def next_round(self, current: int, *, alone: bool) -> tuple[int, float]:
        """After `current`; `alone` if there is no neighbour to wait for."""
        ...


class Free:
    """The next round begins when the last one has ended; alone, at the pace of deadlines."""

    follows = True

    def __init__(self, deadline: float, elapsed: Callable[[], float] = monotonic) -> None:
        self._deadline = deadline
        self._elapsed = elapsed
        self._last = -deadline

    def next_round(self, current: int, *, alone: bool) -> tuple[int, float]:
        """Nobody delivers to one that is alone, and rounds must not race away from the others."""
        wait = self._last + self._deadline - self._elapsed() if alone else 0.0
        if wait <= 0:
            self._last = self._elapsed()
        return current + 1, wait


class Clock:
    """Round k begins at start + (k - 1) intervals; missed rounds are skipped, none comes twice."""

    follows = False

    def __init__(
        self,
        start: float,
        interval: float,
        jumped: Callable[[float], None],
        now: Callable[[], float] = time,
        elapsed: Callable[[], float] = monotonic,
    ) -> None:
        self._start = start
        self._interval = interval
        self._jumped = jumped
        self._now = now
        self._elapsed = elapsed
        self._last = (now(), elapsed())

    def next_round(self, current: int, *, alone: bool) -> tuple[int, float]:
        """A clock that was put back makes a node wait: the rounds until then have been."""
        now = self._look()
        due = floor((now - self._start) / self._interval) + 1
        if due > current:
            return due, 0.0
        return current + 1, self._start + current * self._interval - now

    def _look(self) -> float:
        before, self._last = self._last, (self._now(), self._elapsed())
        drift = (self._last[0] - before[0]) - (self._last[1] - before[1])
        if abs(drift) > LARGEST_DRIFT:
            self._jumped(drift)
        return self._last[0]


def make_pacing(config: NodeConfig, jumped: Callable[[float], None]) -> Pacing:
    """As the neighbours agreed."""
    agreed = config.agreed
    if agreed.rounds == "free":
        return Free(config.deadline)
    return Clock(agreed.start.timestamp(), agreed.interval, jumped)
