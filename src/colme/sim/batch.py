"""Runs that share a graph, side by side: algorithms of the kernel and, on their data, baselines."""

import numpy as np

from colme.sim.baselines.contest import Contest
from colme.sim.kernel import batch as make
from colme.sim.kernel.rounds import simulate, step_all
from colme.sim.kernel.simd import form_of
from colme.sim.kernel.stream import draw
from colme.sim.study import FloatArray, Study, Sums

MESSAGES_PER_EDGE = 3
BYTES_PER_EDGE = 24
NUMBERS_PER_EDGE = 5
OWN_NUMBERS = 6
"""Private-C-ColME: a mean and its count, a size, a consensus value for each neighbour and round; of
each the same kept, and whether it is accepted; and the agent's own count, sums, consensus, age."""


class Batch:
    """Runs first .. first + runs - 1 of a study, before their first round."""

    def __init__(self, study: Study, first: int, runs: int, dtype: type = np.float32) -> None:
        scenario = study.scenario
        self.study = study
        self.runs = runs
        self.graph = scenario.draw_graph(study.degree, first // make.BATCH)
        self._form = form_of(dtype, make.BATCH if runs > 1 else 1)
        # Lanes beyond `runs` are computed and dropped.
        numbers = range(first, first + len(self._form))
        # Classes with the same mean are one class: the first of them.
        same = np.array([scenario.means.index(mean) for mean in scenario.means])
        self.classes = np.stack([same[scenario.draw_classes(run)] for run in numbers], axis=1)
        self._edges = make.new_graph(self.graph.indptr, self.graph.indices)
        self._algorithms = study.algorithms(self._edges, self._form)
        self._population = study.population(self.classes, self._form)
        self._schedule = make.new_schedule(
            scenario.rounds, study.recorded, tolerance=scenario.tolerance
        )
        self._stream = make.new_stream(
            self._form, scenario.agents, scenario.seed, numbers, always=True
        )
        self._state = make.new_state(self._form, self._edges, self._algorithms, self._population)
        self._record = make.new_record(self._form, self._algorithms, len(study.recorded))
        self._contest = Contest(
            study.entrants,
            self.graph,
            self.classes[:, :runs],
            np.asarray(scenario.means)[self.classes[:, :runs]],
            len(study.recorded),
            scenario.tolerance,
        )

    @property
    def work_per_round(self) -> int:
        """Agent-rounds that one round takes: every agent in every run, by every algorithm."""
        algorithms = len(self.study.cells) + 50 * len(self.study.entrants)
        return len(self._form) * self.graph.agents * algorithms

    def advance(self, first: int, last: int) -> None:
        """Rounds first .. last, which follow those done before."""
        shared = self._edges, self._population, self._schedule, self._algorithms
        own = self._stream, self._state, self._record
        if not self.study.entrants:
            simulate(self._form, first, last, *shared, *own)
            return
        edges, population, schedule, algorithms = shared
        rows = self._stream.data.shape[0]
        start = first
        while start <= last:
            # A chunk ends where something is recorded: then the contest's state is that round's.
            at = np.searchsorted(self.study.recorded, start)
            recorded = int(self.study.recorded[at]) if at < len(self.study.recorded) else last
            stop = min(start + rows - 1, recorded, last)
            draw(self._form, start, stop, population, schedule, self._stream)
            step_all(
                self._form, start, stop, edges, population.location, schedule, algorithms, *own
            )
            held = (np.arange(start, stop + 1) - 1) % rows
            mine = np.s_[held, :, : self.runs]
            row = int(at) if stop == recorded else None
            self._contest.advance(start, self._stream.data[mine], self._stream.noise[mine], row)
            start = stop + 1

    def sums(self) -> Sums:
        """What was recorded, summed over the runs; a row for each algorithm at each epsilon."""
        agents, record, mine = self.graph.agents, self._record, np.s_[..., : self.runs]
        mse_local = record.local_error[mine] / agents
        cells = self._by_cell()
        mse = cells["error"] / agents
        return {
            "runs": np.array(float(self.runs)),
            "mse": mse.sum(axis=-1),
            "mse_squared": (mse**2).sum(axis=-1),
            "local_mse": mse_local.sum(axis=-1),
            "local_mse_squared": (mse_local**2).sum(axis=-1),
            **{name: cells[name].sum(axis=-1) / agents for name in ("size", "local", "close")},
            **{
                name: cells[name].sum(axis=-1)
                for name in ("missed", "mixed_up", "within", "between")
            },
            **{name: cells[name].sum(axis=-1) for name in ("messages", "payload", "memory")},
            **self.study.closed_forms(self.graph, self.classes[mine]),
        }

    def _by_cell(self) -> dict[str, FloatArray]:
        """[algorithms x epsilons, recorded rounds, runs] of everything measured."""
        kernel, contest = self._kernel_record(), self._contest.record
        kernel_row, contest_row = 0, 0
        picked: dict[str, list[FloatArray]] = {name: [] for name in contest}
        for algorithm in self.study.scenario.algorithms:
            for level in range(len(self.study.profiles)):
                if algorithm.in_kernel:
                    source, row = kernel, kernel_row
                    kernel_row += 1
                else:
                    contest_row += algorithm.private or level == 0
                    source, row = contest, contest_row - 1
                for name, rows in picked.items():
                    rows.append(source[name][row])
        return {name: np.stack(rows) for name, rows in picked.items()}

    def _kernel_record(self) -> dict[str, FloatArray]:
        record, mine = self._record, np.s_[..., : self.runs]
        within, between = make.edge_totals(self._edges, self._state)
        ones = np.ones_like(record.error[mine])
        degree = float(self.graph.degrees.mean())
        return {
            "error": record.error[mine],
            "size": record.size[mine],
            "local": record.local[mine],
            "close": record.close[mine],
            "missed": record.missed[mine],
            "mixed_up": record.mixed_up[mine],
            "within": ones * within[mine],
            "between": ones * between[mine],
            "messages": ones * MESSAGES_PER_EDGE * degree,
            "payload": ones * BYTES_PER_EDGE * degree,
            "memory": ones * (NUMBERS_PER_EDGE * degree + OWN_NUMBERS),
        }
