"""Runs that share a graph, side by side: every algorithm of a study on the same data."""

from collections.abc import Iterator

import numpy as np

from colme.sim.baselines.contest import MEASURED, Contest
from colme.sim.kernel import batch as make
from colme.sim.kernel.rounds import simulate, step_all
from colme.sim.kernel.simd import form_of
from colme.sim.kernel.stream import draw
from colme.sim.recommended import Recommended
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

        self._recommended = Recommended(
            study.pooled,
            scenario,
            self.graph,
            self.classes[:, :runs],
            numbers[:runs],
            len(study.recorded),
            dtype,
        )

    @property
    def work_per_round(self) -> int:
        """Agent-rounds that one round takes: every agent in every run, by every algorithm."""
        study = self.study
        algorithms = len(study.cells) + 5 * len(study.pooled) + 50 * len(study.entrants)
        return len(self._form) * self.graph.agents * algorithms

    def advance(self, first: int, last: int) -> None:
        """Rounds first .. last, which follow those done before."""
        shared = self._edges, self._population, self._schedule, self._algorithms
        own = self._stream, self._state, self._record
        if not self.study.entrants and not self.study.pooled:
            simulate(self._form, first, last, *shared, *own)
            return
        edges, population, schedule, algorithms = shared
        rows = self._stream.data.shape[0]
        start = first
        while start <= last:
            # A chunk ends where something is recorded: then the others' state is that round's.
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
            data, noise = self._stream.data[mine], self._stream.noise[mine]
            self._contest.advance(start, data, noise, row)
            self._recommended.advance(start, data, row)
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
        kernel = _rows(self._kernel_record())
        recommended, contest = _rows(self._recommended.record), _rows(self._contest.record)
        picked = []
        for algorithm in self.study.scenario.algorithms:
            for level in range(len(self.study.profiles)):
                if algorithm.in_kernel:
                    picked.append(next(kernel))
                elif algorithm.recommended:
                    picked.append(next(recommended))
                elif algorithm.private or level == 0:
                    picked.append(next(contest))
                else:
                    picked.append(picked[-1])
        return {name: np.stack([row[name] for row in picked]) for name in MEASURED}

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


def _rows(record: dict[str, FloatArray]) -> Iterator[dict[str, FloatArray]]:
    """What was measured of one algorithm at one epsilon after the other."""
    return (
        {name: values[row] for name, values in record.items()}
        for row in range(len(record["error"]))
    )
