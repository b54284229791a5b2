"""The paper's algorithm in a run that is alone on its graph: threads share the agents."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Final

import numpy as np

from colme.sim.engines.engine import Answered, Cell, Chunk, Cost, Engine, Entrant, World
from colme.sim.engines.paper import PreparedRules, cost_in_rounds, kernel_algorithms
from colme.sim.kernel.arrays import COMMON, ORACLE, Array, aligned, zeros
from colme.sim.kernel.large import (
    COUNTED,
    ROWS,
    Neighbours,
    advance_span,
    edges_within,
    new_large_state,
    squared_errors,
)

WORTH_A_THREAD: Final = 25_000
"""Agents for each thread, at least: to hand out a round and wait for its end takes a tenth of a
millisecond."""


class LargeEngine(Engine):
    """All entrants, one after the other, block by block of agents.

    Results are those of `PaperEngine`, bit for bit, for any number of threads. It is chosen
    wherever it can be (`suits`), not for many agents alone: an experiment has at least eight
    graphs, so one of fewer than 32 runs has a single run on each, and this engine runs it.
    """

    @staticmethod
    def suits(world: World, prepared: Sequence[PreparedRules]) -> bool:
        """Whether the batch has one run, one honest class of profiles, no drift and no paces."""
        return (
            len(world.form) == 1
            and all(one.kind in (COMMON, ORACLE) for one in prepared)
            and all(len(of_class) == 1 for of_class in world.setting.profiles[0])
            and world.liars is None
            and world.course is None
            and world.pace is None
        )

    def __init__(
        self,
        world: World,
        entrants: Sequence[Entrant],
        prepared: Sequence[PreparedRules],
        threads: int,
    ) -> None:
        super().__init__(world, entrants)
        setting, form = world.setting, world.form
        self.graph = Neighbours(world.graph.indptr, aligned(world.graph.indices, np.int32))
        """The graph in the kernel's form."""
        spans = max(1, min(threads, setting.agents // WORTH_A_THREAD))
        edges = np.linspace(0, setting.agents, spans + 1).astype(int).tolist()
        self._spans = list(pairwise(edges))
        rules = kernel_algorithms(setting, entrants, prepared, 0, form)
        # Everybody has the same epsilon: one scale will do.
        self._rules = rules._replace(scale=rules.scale[:, :1].copy())
        self._state = new_large_state(
            form,
            self.graph,
            self._rules,
            world.mean_groups,
            start=-setting.centre,
            seed=setting.seed,
            runs=world.numbers,
            spans=self._spans,
        )
        self._ready = -2
        """The last round of which there was a pass: see `advance_span`."""
        self._within = zeros((len(form),), np.int32)
        edges_within(form, self.graph, self._state.alike, self._within)

    def simulate(self, first: int, last: int, row: int | None, local_error: Array) -> Array:
        """Draw the rounds up to `last` and go through them; record that one in `row`, if any.

        Returns the data's means, of the latest rounds.
        """
        if row is not None:
            self._state.counts[...] = 0
        first, self._ready = self._ready + 1, last
        if len(self._spans) == 1:
            self._pass(0, first, last, recorded=row is not None)
        else:
            self._pass_together(first, last, recorded=row is not None)
        if row is not None:
            self._note_round(row, last, local_error)
        return self._state.data

    def _pass_together(self, first: int, last: int, *, recorded: bool) -> None:
        """Every round on all threads at once."""
        with ThreadPoolExecutor(len(self._spans)) as pool:
            for t in range(first, last + 1):
                of_spans = [
                    pool.submit(self._pass, span, t, t, recorded=recorded and t == last)
                    for span in range(len(self._spans))
                ]
                for one in of_spans:
                    one.result()

    def _pass(self, span: int, first: int, last: int, *, recorded: bool) -> None:
        start, end = self._spans[span]
        advance_span(
            self.world.form,
            first,
            last,
            recorded,
            span,
            start,
            end,
            self.world.setting.tolerance,
            self.graph,
            self.world.origin,
            self._rules,
            self._state,
        )

    def _note_round(self, row: int, t: int, local_error: Array) -> None:
        form, location, agents = self.world.form, self.world.origin.location, len(self.world.means)
        first = (t - 1) % ROWS * agents
        squared_errors(form, self._state.data, first, location, local_error, row)
        counts = self._state.counts.sum(axis=0, dtype=np.int64)
        error = zeros((1, len(form)), np.float64)
        for k, cell in enumerate(self.cells):
            squared_errors(form, self._state.answers, k * agents, location, error, 0)
            values = dict(zip(COUNTED, counts[k], strict=True))
            edges = {"within": self._within, "between": len(self.graph.indices) - self._within}
            self.note(cell, row, {"error": error[0], **values, **edges})

    def advance(self, chunk: Chunk) -> None:
        """It draws its own data, and is not asked to look at others'."""
        raise NotImplementedError

    def answered(self, cell: Cell) -> Answered:
        """The kernel has them."""
        k = self.cells.index(cell)
        side = self._state.nodes[k, self._ready % 2]
        return self._as_answered(self._state.answers[k], 1 / side[:, 1].astype(np.float64) - 1)

    def cost(self, cell: Cell) -> Sequence[Cost]:
        """Return the cost of a round, the same in all rounds and runs."""
        return cost_in_rounds(self.world)
