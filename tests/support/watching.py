"""What agents have seen in a study, for tests that compute the rest by hand."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from colme.sim.batch import Batch
from colme.sim.engines import MEASURED, Cell, Chunk, Cost, Engine, Entrant, FloatArray, World
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared


class Watching(Engine):
    """Keeps every round's running means, and answers nothing."""

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: Any = None) -> None:
        super().__init__(world, entrants, prepared)
        self._data: list[FloatArray] = []
        self._noise: list[FloatArray] = []

    def advance(self, chunk: Chunk) -> None:
        self._data.extend(chunk.data.astype(np.float64))
        self._noise.extend(chunk.noise.astype(np.float64))

    def cost(self, cell: Cell) -> Sequence[Cost]:
        return [Cost(messages=0, payload=0, memory=1)] * self.world.runs

    @property
    def data(self) -> FloatArray:
        """[T, M, runs]: running means of the samples, less the centre."""
        return np.array(self._data)

    @property
    def noise(self) -> FloatArray:
        return np.array(self._noise)


def watched(scenario: Scenario, runs: int) -> tuple[Prepared, Batch, Watching]:
    """The first runs of the scenario, to their end, in double precision, with somebody looking."""
    everything = scenario.changed(algorithms=[*scenario.algorithms, Watching])
    study = Prepared(everything, everything.graph.degrees[0])
    batch = study.batch(0, runs, np.float64)
    batch.advance(1, scenario.rounds)
    (watching,) = (one for one in batch.engines if isinstance(one, Watching))
    return study, batch, watching


def assert_cuts_change_nothing(scenario: Scenario, *ends: int) -> None:
    """What a batch of three runs measures has the same bits where it stops after these rounds."""
    study = Prepared(scenario, scenario.graph.degrees[0])
    whole, cut = study.batch(0, 3), study.batch(0, 3)
    whole.advance(1, scenario.rounds)
    for before, last in pairwise((0, *ends, scenario.rounds)):
        cut.advance(before + 1, last)
    for one, other in zip(whole.engines, cut.engines, strict=True):
        for cell, record in one.measured().items():
            for name in MEASURED:
                np.testing.assert_array_equal(record[name], other.measured()[cell][name], name)
    for name, values in whole.sums().items():
        np.testing.assert_array_equal(values, cut.sums()[name], name)
