"""Baselines on the runs of one batch, each in a run of its own, measured as all others are."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from colme.graph import IntArray
from colme.sim.engines.baselines.baseline import Baseline, Run
from colme.sim.engines.engine import AlgorithmTable, Cell, Chunk, Cost, Engine, Entrant, World
from colme.sim.engines.measure import ANSWERS, Array, BoolArray, of_answers, of_decisions


class BaselineEngine(Engine):
    """Every entrant on every run, one after the other."""

    work: ClassVar[float] = 50.0

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: Any = None) -> None:
        super().__init__(world, entrants, prepared)
        # As the owners see them, in double precision: a baseline may begin at 0.
        self._centre = world.setting.centre
        # Each is told who is alike; a liar is like nobody.
        nobody = -1 - np.arange(len(world.honest))[:, None]
        self._classes = np.where(world.honest, world.in_runs(world.mean_groups), nobody)
        self._players: dict[Cell, list[Baseline]] = {}
        for table, level in entrants:
            assert isinstance(table, BaselineTable)
            profile = world.setting.widest(level)
            self._players[table.label, level] = [
                table.make(Run(world.graph, self._classes[:, run], profile))
                for run in range(world.runs)
            ]
        self._answers = {cell: np.zeros(world.honest.shape) for cell in self._players}
        """Of the latest recorded round."""

    def advance(self, chunk: Chunk) -> None:
        """All entrants on the data of one run, then on the next."""
        for run in range(self.world.runs):
            data = np.ascontiguousarray(chunk.data[:, :, run], dtype=np.float64) + self._centre
            noise = np.ascontiguousarray(chunk.noise[:, :, run])
            answers = np.empty_like(data)
            for cell, players in self._players.items():
                players[run].advance(chunk.first, data, noise, answers)
                if chunk.row is not None:
                    measured = self._measured(chunk.last, run, players[run], answers[-1], data[-1])
                    self._answers[cell][:, run] = measured.pop(ANSWERS) - self._centre
                    for name, value in measured.items():
                        self.record[cell][name][chunk.row, run] = value
        if chunk.row is not None:
            for cell in self._players:
                self.note(cell, chunk.row, {ANSWERS: self._answers[cell]})

    def cost(self, cell: Cell) -> Sequence[Cost]:
        """As each player counts it."""
        return [player.cost() for player in self._players[cell]]

    def _measured(
        self, t: int, run: int, player: Baseline, answers: Array, local: Array
    ) -> dict[str, Any]:
        world = self.world
        truth, honest = world.truth_at(t)[:, run] + self._centre, world.honest[:, run]
        values = of_answers(answers, local, truth, world.setting.tolerance, honest)
        return values | self._decisions(player.accepted(), self._classes[:, run], honest)

    def _decisions(
        self, accepted: Array | None, classes: IntArray, honest: BoolArray
    ) -> dict[str, Any]:
        """Of the graph's edges, or, for those who need no graph, of all ordered pairs."""
        graph = self.world.graph
        if accepted is None:
            return {"size": self.world.honest_agents}
        if accepted.ndim == 2:
            others = ~np.eye(graph.agents, dtype=bool)
            first, second = np.nonzero(others)
            accepted = accepted[others]
        else:
            first, second = np.repeat(np.arange(graph.agents), graph.degrees), graph.indices
        return of_decisions(
            classes[first] == classes[second],
            accepted,
            self.world.honest_agents,
            honest=(honest[first], honest[second]),
        )


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
