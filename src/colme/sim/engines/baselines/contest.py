"""Baselines on the runs of one batch, each in a run of its own, measured as all others are."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from colme.graph import IntArray
from colme.sim.engines.baselines.baseline import Baseline, Run
from colme.sim.engines.engine import AlgorithmTable, Cell, Chunk, Cost, Engine, Entrant, World
from colme.sim.engines.measure import Array, of_answers, of_decisions


class BaselineEngine(Engine):
    """Every entrant on every run, one after the other."""

    work: ClassVar[float] = 50.0

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: Any = None) -> None:
        super().__init__(world, entrants, prepared)
        # As the owners see them, in double precision: a baseline may begin at 0.
        self._centre = world.setting.centre
        self._truth, placed = world.truth + self._centre, world.placed
        self._players: dict[Cell, list[Baseline]] = {}
        for table, level in entrants:
            assert isinstance(table, BaselineTable)
            profile = world.setting.widest(level)
            self._players[table.label, level] = [
                table.make(Run(world.graph, placed[:, run], profile)) for run in range(world.runs)
            ]

    def advance(self, chunk: Chunk) -> None:
        """All entrants on the data of one run, then on the next."""
        for run in range(self.world.runs):
            data = np.ascontiguousarray(chunk.data[:, :, run], dtype=np.float64) + self._centre
            noise = np.ascontiguousarray(chunk.noise[:, :, run])
            answers = np.empty_like(data)
            for cell, players in self._players.items():
                players[run].advance(chunk.first, data, noise, answers)
                if chunk.row is not None:
                    measured = self._measured(run, players[run], answers[-1], data[-1])
                    for name, value in measured.items():
                        self.record[cell][name][chunk.row, run] = value
        if chunk.row is not None:
            for cell in self._players:
                self.note(cell, chunk.row, {})

    def cost(self, cell: Cell) -> Sequence[Cost]:
        """As each player counts it."""
        return [player.cost() for player in self._players[cell]]

    def _measured(self, run: int, player: Baseline, answers: Array, local: Array) -> dict[str, Any]:
        values = of_answers(answers, local, self._truth[:, run], self.world.setting.tolerance)
        return values | self._decisions(player.accepted(), self.world.placed[:, run])

    def _decisions(self, accepted: Array | None, classes: IntArray) -> dict[str, Any]:
        """Of the graph's edges, or, for those who need no graph, of all ordered pairs."""
        graph = self.world.graph
        if accepted is None:
            return {"size": graph.agents}
        if accepted.ndim == 2:
            same = classes[:, None] == classes[None, :]
            others = ~np.eye(graph.agents, dtype=bool)
            same, accepted = same[others], accepted[others]
        else:
            same = np.repeat(classes, graph.degrees) == classes[graph.indices]
        return of_decisions(same, accepted, graph.agents)


class BaselineTable(AlgorithmTable):
    """A baseline of a scenario, with its options."""

    private: ClassVar[bool] = False

    @property
    def engine(self) -> type[Engine]:
        """One run at a time."""
        return BaselineEngine

    def make(self, run: Run) -> Baseline:
        """The player of one run, before its first round."""
        raise NotImplementedError
