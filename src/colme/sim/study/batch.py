"""Runs that share a graph, side by side: every algorithm of a study on the same data."""

import numpy as np

from colme.sim.engines import MEASURED, Chunk, PaperEngine, World
from colme.sim.kernel import (
    draw,
    form_of,
    measure_local,
    new_schedule,
    new_stream,
    zeros,
)
from colme.sim.study.quantities import Sums, sums_of
from colme.sim.study.study import Study


class Batch:
    """Runs first .. first + runs - 1 of a study, before their first round."""

    def __init__(self, study: Study, first: int, runs: int, dtype: type = np.float32) -> None:
        scenario, setting = study.scenario, study.setting
        self.study = study
        self.runs = runs
        form = form_of(dtype, study.lanes)
        lanes = range(first, first + len(form))
        # Classes with the same mean are one class: the first of them.
        same = np.array([scenario.means.index(mean) for mean in scenario.means])
        classes = np.stack([same[scenario.draw_classes(run)] for run in lanes], axis=1)
        self.world = World(
            setting=setting,
            graph=scenario.draw_graph(study.degree, first // study.lanes),
            numbers=lanes[:runs],
            form=form,
            classes=classes,
            origin=study.origin(classes, form),
        )
        self._stream = new_stream(form, scenario.agents, scenario.seed, lanes)
        self._schedule = new_schedule(scenario.rounds, setting.recorded)
        self._local_error = zeros((len(setting.recorded), len(form)), np.float64)
        self.engines = [
            kind(self.world, entrants, study.prepared[kind])
            for kind, entrants in study.entrants.items()
        ]

    @property
    def work_per_round(self) -> int:
        """Agent-rounds of the kernel that one round takes, with all runs and algorithms."""
        work = sum(engine.work_per_agent_round for engine in self.engines)
        return round(len(self.world.form) * self.world.graph.agents * work)

    def advance(self, first: int, last: int) -> None:
        """Rounds first .. last, which follow those done before."""
        alone = self.engines[0] if len(self.engines) == 1 else None
        if isinstance(alone, PaperEngine) and alone.fusible:
            alone.simulate(first, last, self._stream, self._local_error)
            return
        world, recorded = self.world, self.study.recorded
        rows, start = self._stream.data.shape[0], first
        while start <= last:
            # A chunk ends where something is recorded: then an engine's state is that round's.
            at = np.searchsorted(recorded, start)
            next_row = int(recorded[at]) if at < len(recorded) else last
            stop = min(start + rows - 1, next_row, last)
            draw(world.form, start, stop, world.origin, self._stream)
            row = int(at) if stop == next_row else None
            chunk = Chunk(start, stop, row, self._stream, self.runs)
            for engine in self.engines:
                engine.advance(chunk)
            location = world.origin.location
            measure_local(
                world.form, start, stop, location, self._schedule, self._stream, self._local_error
            )
            start = stop + 1

    def sums(self) -> Sums:
        """What was recorded, summed over the runs; a row for each algorithm at each epsilon."""
        agents = self.world.graph.agents
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
            **self.study.closed_forms(self.world.graph, self.world.placed),
        }
