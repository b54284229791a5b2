"""Runs that share a graph, side by side: samples from one feed, engines, and what is recorded.

A feed hands every agent's running mean to the engines, a few rounds at a time: drawn by the kernel
(`Drawn`), or given (`Given`). To feed something else, such as rows of a table, subclass `Given` and
write `means`. A batch runs the engines over the rounds of its feed, and asks its recorders to look
at every recorded round.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from colme.sim.engines import Chunk, Engine, FloatArray, LargeEngine, PaperEngine, World
from colme.sim.kernel.arrays import (
    LANES,
    Array,
    RunningMeans,
    Schedule,
    Truth,
    new_graph,
    new_schedule,
    rows_for,
    zeros,
)
from colme.sim.kernel.generator import draw, new_stream
from colme.sim.kernel.rounds import measure_local, new_truth

Sums = Mapping[str, FloatArray]
"""What one batch found: sums over its runs, or arrays with the runs last."""

GRAPHS = 8
"""Batches, at least, or as many as there are runs: error bars are over batches."""

FEWEST_ROUNDS = 16
"""Rounds of a chunk that is given, at least."""


def runs_of_a_graph(runs: int) -> int:
    """Return how many runs share a graph, such that there are at least `GRAPHS` batches.

    The effect of a graph on all its runs shows in the spread of batches only. Fewer lanes take
    longer: a run of 4 takes 1.9 to 2.8 times as long as one of 32, one that is alone 5 to 9 times.
    """
    return next(lanes for lanes in (LANES, 16, 4, 1) if lanes == 1 or runs >= GRAPHS * lanes)


class SampleFeed(ABC):
    """The samples of one batch."""

    rows: int
    """Rounds that are handed over at a time, at most."""

    def __init__(self, world: World) -> None:
        self.world = world

    @abstractmethod
    def take(self, first: int, last: int) -> RunningMeans:
        """Return the rounds first .. last, which follow those taken before."""

    def advance(
        self, engines: Sequence[Engine], first: int, last: int, row: int | None
    ) -> FloatArray:
        """Run all engines over rounds of which the last alone is recorded, in this row.

        Return the running means after the last round, [M, runs].
        """
        for start in range(first, last + 1, self.rows):
            stop = min(start + self.rows - 1, last)
            stream = self.take(start, stop)
            chunk = Chunk(start, stop, row if stop == last else None, stream, self.world.runs)
            for engine in engines:
                engine.advance(chunk)
        return np.asarray(chunk.data[-1], np.float64)


class Drawn(SampleFeed):
    """Samples that the kernel draws, with the drift and the paces of the world put into them.

    Parameters
    ----------
    lanes
        Numbers of the runs, and of the lanes beyond them: a run's draws depend on its number alone.
    buffer
        Bytes of a chunk.
    """

    def __init__(self, world: World, lanes: range, buffer: int) -> None:
        super().__init__(world)
        self._lanes, self._buffer = lanes, buffer
        self.rows = rows_for(world.graph.agents, world.form, buffer)
        self.local_error = zeros((len(world.setting.recorded), len(world.form)), np.float64)
        """[rows, lanes]: squared errors of own means, summed over honest agents."""

    # Made when asked for: the engine for a single large run draws by itself, and needs the memory.
    @cached_property
    def _stream(self) -> RunningMeans:
        world = self.world
        agents, seed = world.graph.agents, world.setting.seed
        return new_stream(world.form, agents, seed, self._lanes, self._buffer)

    @cached_property
    def _moved(self) -> "Moved | None":
        plain = self.world.course is None and self.world.pace is None
        return None if plain else Moved(self.world, self._stream)

    @cached_property
    def _truth(self) -> Truth:
        world = self.world
        graph = new_graph(world.graph.indptr, world.graph.indices)
        return new_truth(world.form, graph, world.means, world.honest_in_lanes)

    @cached_property
    def _schedule(self) -> Schedule:
        return new_schedule(self.world.setting.rounds, self.world.setting.recorded)

    def take(self, first: int, last: int) -> RunningMeans:
        """Draw, then measure the error of agents that stay alone."""
        world = self.world
        draw(world.form, first, last, world.origin, self._stream)
        stream = self._stream if self._moved is None else self._moved.take(first, last)
        if world.course is not None:
            self._truth.location[:] = world.truth_in_lanes(last)
        measure_local(
            world.form, first, last, self._truth, self._schedule, stream, self.local_error
        )
        return stream

    def advance(
        self, engines: Sequence[Engine], first: int, last: int, row: int | None
    ) -> FloatArray:
        """Draw and mix in one compiled loop if the paper's engine is alone, else as all feeds."""
        match engines:
            case [LargeEngine() as engine]:
                data = engine.simulate(first, last, row, self.local_error)
            case [PaperEngine(fusible=True) as engine]:
                engine.simulate(first, last, self._stream, self.local_error)
                data = self._stream.data
            case _:
                return super().advance(engines, first, last, row)
        return np.asarray(data[(last - 1) % len(data), :, : self.world.runs], np.float64)


class Moved:
    """Running means of drawn samples that drift, or that do not come in every round.

    Every round's draws are made, whether or not an agent takes them: an agent's samples do not
    depend on the pace of the others.
    """

    def __init__(self, world: World, drawn: RunningMeans) -> None:
        self._world, self._drawn = world, drawn
        data = drawn.data
        self._seen = drawn._replace(
            data=zeros(data.shape, data.dtype), motion=zeros(drawn.motion.shape, data.dtype)
        )
        self._before: Array = np.zeros(data.shape[1:])
        """The drawn means of the round before."""
        self._mean: FloatArray = np.zeros(data.shape[1:])
        """The means of the samples taken so far."""

    def take(self, first: int, last: int) -> RunningMeans:
        """Return the rounds first .. last, which have just been drawn."""
        for t in range(first, last + 1):
            row = (t - 1) % len(self._drawn.data)
            drawn = self._drawn.data[row].astype(np.float64)
            # Taken apart in double precision, and only here: elsewhere the draws are as they were.
            sample = t * drawn - (t - 1) * self._before
            if self._world.course is not None:
                sample += self._world.course.at(t)
            self._before = drawn
            counts = self._world.counts(t)
            gain = (counts > self._world.counts(t - 1)) / counts
            mean = self._mean + gain[:, None] * (sample - self._mean)
            seen = mean.astype(self._seen.data.dtype)
            moved = np.abs(seen - self._mean.astype(seen.dtype))
            self._seen.data[row] = seen
            self._seen.motion[row, 0] = moved.max(axis=0)
            self._seen.motion[row, 1] = self._drawn.motion[row, 1]
            self._mean = mean
        return self._seen


class Given(SampleFeed):
    """Samples that a subclass brings as running means.

    Parameters
    ----------
    noise
        Generators of each run's Laplace noise, for engines that add noise in every round; none for
        engines that draw their own, such as relay's.
    """

    truth: FloatArray
    """[M, runs]: true means, less the setting's centre."""

    def __init__(self, world: World, noise: Sequence[np.random.Generator] = ()) -> None:
        super().__init__(world)
        agents, form = world.graph.agents, world.form
        self.rows = max(FEWEST_ROUNDS, rows_for(agents, form))
        self._noise = noise
        data, drawn = (zeros((self.rows, agents, len(form)), np.float64) for _ in range(2))
        self._held = RunningMeans(
            bits=zeros((4, len(form)), np.int32),
            data=data,
            noise=drawn,
            motion=zeros((self.rows, 2, len(form)), np.float64),
        )
        self._before = np.zeros((2, agents, world.runs))

    @abstractmethod
    def means(self, first: int, last: int) -> FloatArray:
        """Return means of all samples so far, [rounds, M, runs], less the setting's centre."""

    def take(self, first: int, last: int) -> RunningMeans:
        """Put means and noise where engines look for them."""
        held, runs = self._held, self.world.runs
        counts = np.arange(first, last + 1)
        data = self.means(first, last)
        noise = np.zeros(data.shape)
        for run, generator in enumerate(self._noise):
            noise[:, :, run] = generator.laplace(size=data.shape[:2])
        total = (first - 1) * self._before[1] + np.cumsum(noise, axis=0)
        means = np.stack([data, total / counts[:, None, None]], axis=1)
        moved = np.abs(np.diff(means, axis=0, prepend=self._before[None]))
        self._before = means[-1]
        rows = (counts - 1) % self.rows
        held.data[rows, :, :runs], held.noise[rows, :, :runs] = means[:, 0], means[:, 1]
        held.motion[rows, :, :runs] = moved.max(axis=2)
        return held


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
