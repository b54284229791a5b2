"""Runs that share a graph, side by side: every algorithm of a study on the same data."""

import numpy as np

from colme.sim.engines import MEASURED, Chunk, Engine, LargeEngine, PaperEngine
from colme.sim.kernel import (
    Array,
    draw,
    form_of,
    measure_local,
    new_graph,
    new_schedule,
    new_stream,
    new_truth,
    zeros,
)
from colme.sim.study.class_ideal import ClassIdeal
from colme.sim.study.kept import Keeper
from colme.sim.study.quantities import Sums, sums_of
from colme.sim.study.samples import Samples
from colme.sim.study.study import Study


class Batch:
    """Runs first .. first + runs - 1 of a study, before their first round."""

    def __init__(
        self, study: Study, first: int, runs: int, dtype: type = np.float32, threads: int = 1
    ) -> None:
        """`threads`: how many a run that is alone may use; its results are the same for any."""
        self.study = study
        self.runs = runs
        form = form_of(dtype, study.lanes)
        lanes = range(first, first + len(form))
        self.world = study.world(lanes, runs, form)
        rows = len(study.recorded)
        self._local_error = zeros((rows, len(form)), np.float64)
        self._class_ideal = ClassIdeal(self.world)
        self._class_error = np.zeros((rows, runs))
        self._large = self._alone(threads)
        self.engines: list[Engine] = [self._large] if self._large else []
        if self._large is None:
            self._begin(lanes)
        self._keeper = Keeper(study.keep, self.world, study.cells)

    def _alone(self, threads: int) -> LargeEngine | None:
        """What runs the paper's algorithm where nobody else does, and no other run beside it."""
        entrants = self.study.entrants
        if set(entrants) != {PaperEngine} or not LargeEngine.suits(
            self.world, self.study.prepared[PaperEngine]
        ):
            return None
        prepared = self.study.prepared[PaperEngine]
        return LargeEngine(self.world, entrants[PaperEngine], prepared, threads)

    def _begin(self, lanes: range) -> None:
        """The data that all engines see, and the engines."""
        world, setting = self.world, self.study.setting
        buffer = min(kind.buffer for kind in self.study.entrants)
        self._stream = new_stream(world.form, setting.agents, setting.seed, lanes, buffer)
        plain = world.course is None and world.pace is None
        self._samples = None if plain else Samples(world, self._stream)
        self._schedule = new_schedule(setting.rounds, setting.recorded)
        graph = new_graph(world.graph.indptr, world.graph.indices)
        self._truth = new_truth(world.form, graph, world.means, world.honest_in_lanes)
        self.engines = [
            kind(world, entrants, self.study.prepared[kind])
            for kind, entrants in self.study.entrants.items()
        ]

    @property
    def work_per_round(self) -> int:
        """Agent-rounds of the kernel that one round takes, with all runs and algorithms."""
        work = sum(engine.work_per_agent_round for engine in self.engines)
        return round(len(self.world.form) * self.world.graph.agents * work)

    def advance(self, first: int, last: int) -> None:
        """Rounds first .. last, which follow those done before."""
        recorded, start = self.study.recorded, first
        while start <= last:
            # A stretch ends where something is recorded: then an engine's state is that round's.
            at = int(np.searchsorted(recorded, start))
            # Rounds after the last recorded one have no row.
            stop = min(int(recorded[at]), last) if at < len(recorded) else last
            row = at if at < len(recorded) and stop == recorded[at] else None
            data = self._go(start, stop, row)
            if row is not None:
                means = data[(stop - 1) % len(data), :, : self.runs]
                self._class_error[at] = self._class_ideal.errors(stop, means)
                if self.study.setting.keeps_answers:
                    self._keeper.take(at, stop, means.astype(np.float64), self.engines)
            start = stop + 1

    def _go(self, first: int, last: int, row: int | None) -> Array:
        """Rounds of which the last alone is recorded, in this row. Returns the data's means."""
        if self._large is not None:
            return self._large.simulate(first, last, row, self._local_error)
        alone = self.engines[0] if len(self.engines) == 1 else None
        if isinstance(alone, PaperEngine) and alone.fusible:
            alone.simulate(first, last, self._stream, self._local_error)
            return self._stream.data
        world, stream = self.world, self._stream
        rows = len(stream.data)
        for start in range(first, last + 1, rows):
            stop = min(start + rows - 1, last)
            draw(world.form, start, stop, world.origin, self._stream)
            if self._samples is not None:
                stream = self._samples.take(start, stop)
            chunk = Chunk(start, stop, row if stop == last else None, stream, self.runs)
            for engine in self.engines:
                engine.advance(chunk)
            if world.course is not None:
                self._truth.location[:] = world.truth_in_lanes(stop)
            measure_local(
                world.form, start, stop, self._truth, self._schedule, stream, self._local_error
            )
        return stream.data

    def sums(self) -> Sums:
        """What was recorded, summed over the runs; a row for each algorithm at each epsilon."""
        agents = self.world.honest_agents
        mse_local = self._local_error[..., : self.runs] / agents
        measured = {cell: one for engine in self.engines for cell, one in engine.measured().items()}
        cells = [measured[cell] for cell in self.study.cells]
        record = {name: np.stack([one[name] for one in cells]) for name in MEASURED}
        everybody = np.broadcast_to(self._local_error[..., : self.runs], record["alone"].shape)
        record["alone"] = np.where(np.isnan(record["alone"]), everybody, record["alone"])
        return {
            "runs": np.array(float(self.runs)),
            **sums_of(record, agents),
            "local_mse": mse_local.sum(axis=-1),
            "class_ideal_mse": self._class_error.sum(axis=-1) / agents,
            **self.study.closed_forms(self.world),
            **self._keeper.sums(record, agents),
        }
