"""Runs that share a graph, side by side: engines over the rounds of one feed."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from colme.sim.engines import Engine, FloatArray
from colme.sim.feeds import SampleFeed
from colme.sim.measures import Sums


class Recorder(Protocol):
    """Notes something in every recorded round."""

    def take(self, row: int, t: int, means: FloatArray, engines: Sequence[Engine]) -> None:
        """Look at round t, after which agents' own means are these, [M, runs]."""

    def sums(self, engines: Sequence[Engine]) -> Sums:
        """Return what is to be added up, or joined, over batches."""


class Batch:
    """All algorithms on the samples of one feed, before their first round."""

    def __init__(
        self, feed: SampleFeed, engines: Sequence[Engine], recorders: Sequence[Recorder]
    ) -> None:
        self.feed, self.engines, self.recorders = feed, engines, recorders
        self.world = feed.world

    @property
    def work_per_round(self) -> int:
        """Agent-rounds of the kernel that one round takes, with all runs and algorithms."""
        work = sum(engine.work_per_agent_round for engine in self.engines)
        return round(len(self.world.form) * self.world.graph.agents * work)

    def advance(self, first: int, last: int) -> None:
        """Run rounds first .. last, which follow those done before."""
        recorded, start = self.world.setting.recorded, first
        while start <= last:
            # A stretch ends where something is recorded: then an engine's state is that round's.
            at = int(np.searchsorted(recorded, start))
            # Rounds after the last recorded one have no row.
            stop = min(int(recorded[at]), last) if at < len(recorded) else last
            row = at if at < len(recorded) and stop == recorded[at] else None
            means = self.feed.advance(self.engines, start, stop, row)
            if row is not None:
                for recorder in self.recorders:
                    recorder.take(row, stop, means, self.engines)
            start = stop + 1

    def sums(self) -> Sums:
        """Return all that was recorded."""
        found: dict[str, FloatArray] = {}
        for recorder in self.recorders:
            found |= recorder.sums(self.engines)
        return found
