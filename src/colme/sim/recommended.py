"""The recommended algorithm on the runs of one batch, measured as the kernel measures its own."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colme.graph import Graph, IntArray
from colme.rules.release import Profile
from colme.sim.baselines.contest import MEASURED
from colme.sim.kernel.arrays import Array
from colme.sim.kernel.pooled import advance, answer
from colme.sim.kernel.pooled_arrays import draw_units, new_pool, new_pool_state
from colme.sim.scenario import AlgorithmSpec, Scenario

FloatArray = NDArray[np.float64]

MESSAGES_PER_EDGE = 3
BYTES_PER_EDGE = 40
NUMBERS_PER_EDGE = 7
OWN_NUMBERS = 13
"""For each neighbour and round a mean and its count, a size, and numerator, denominator, excess; of
each the same kept, and whether it is accepted. And the agent's own: count, sum, noise, blocks,
released mean, count and first round, two inputs, numerator, denominator, excess, age."""

MORE_BYTES, MORE_NUMBERS_PER_EDGE, MORE_OWN_NUMBERS = 8, 1, 3
"""With a released variance: the mean square; and its sum, noise and the bound."""


class Recommended:
    """Every entrant, with the profiles of one level each, on runs `numbers`, before round 1.

    `classes` and `truth` are [M, runs]; `dtype` is that of what the agents share.
    """

    def __init__(
        self,
        entrants: Sequence[tuple[AlgorithmSpec, Sequence[Profile]]],
        scenario: Scenario,
        graph: Graph,
        classes: IntArray,
        numbers: Sequence[int],
        rows: int,
        dtype: type,
    ) -> None:
        agents, runs = classes.shape
        self._specs = [spec for spec, _ in entrants]
        self._tolerance, self._degree = scenario.tolerance, float(graph.degrees.mean())
        self._truth = np.asarray(scenario.means)[classes]
        everyones = [list(p) * (agents if len(p) == 1 else 1) for _, p in entrants]
        self._pools = [
            new_pool(graph, profiles, scenario.rounds, known=spec.variance == "known")
            for spec, profiles in zip(self._specs, everyones, strict=True)
        ]
        midpoint = np.asarray(scenario.midpoints)[classes]
        self._states = [
            new_pool_state(pool, profiles, midpoint, dtype)
            for pool, profiles in zip(self._pools, everyones, strict=True)
        ]
        if entrants:
            self._units = draw_units(self._pools, scenario.seed, numbers)
            ends = self._pools[0].ends
            self._same = classes[ends[:, 0]] == classes[ends[:, 1]]
        shape = (len(entrants), rows, runs)
        self.record: dict[str, FloatArray] = {name: np.zeros(shape) for name in MEASURED}

    def advance(self, first: int, data: Array, row: int | None) -> None:
        """The rounds of `data` [rounds, M, runs]; the last is recorded in `row`."""
        means = np.ascontiguousarray(data)
        for number, (pool, state) in enumerate(zip(self._pools, self._states, strict=True)):
            advance(first, means, self._units, pool, state)
            if row is not None:
                answers = np.empty(self._truth.shape)
                answer(first + len(means) - 1, means[-1], pool, state, answers)
                measured = self._measured(self._specs[number], answers, means[-1])
                measured |= self._decisions(state.accepted > 0)
                for name, value in measured.items():
                    self.record[name][number, row] = value

    def _measured(
        self, spec: AlgorithmSpec, answers: Array, local: Array
    ) -> dict[str, FloatArray | float]:
        deviation, degree = answers - self._truth, self._degree
        more = spec.variance == "released"
        return {
            "error": (deviation**2).sum(axis=0),
            "close": (np.abs(deviation) <= self._tolerance).sum(axis=0),
            "local": (answers == local).sum(axis=0),
            "messages": MESSAGES_PER_EDGE * degree,
            "payload": (BYTES_PER_EDGE + more * MORE_BYTES) * degree,
            "memory": (NUMBERS_PER_EDGE + more * MORE_NUMBERS_PER_EDGE) * degree
            + OWN_NUMBERS
            + more * MORE_OWN_NUMBERS,
        }

    def _decisions(self, accepted: Array) -> dict[str, FloatArray]:
        """Of both directions of the graph's edges."""
        return {
            "size": len(self._truth) + 2 * accepted.sum(axis=0),
            "missed": 2 * (self._same & ~accepted).sum(axis=0),
            "mixed_up": 2 * (accepted & ~self._same).sum(axis=0),
            "within": 2 * self._same.sum(axis=0),
            "between": 2 * (~self._same).sum(axis=0),
        }
