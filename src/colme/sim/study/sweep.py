"""All batches of a scenario: each can be computed anywhere, and in any order."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from colme.sim.scenario import Scenario
from colme.sim.study.batch import Batch
from colme.sim.study.kept import Keep
from colme.sim.study.quantities import Sums
from colme.sim.study.study import Study

SEGMENT = 150_000_000
"""Agent-rounds computed between two reports of progress: a fraction of a second."""


class Place(NamedTuple):
    """Of a batch: which of the degrees, and which runs."""

    number: int
    first: int
    runs: int


class Sweep:
    """A scenario with all that its numbers depend on. A degree is prepared when it is asked for."""

    def __init__(self, scenario: Scenario, dtype: type, keep: Keep) -> None:
        self.scenario, self.keep = scenario, keep
        self.dtype = np.dtype(dtype)
        self._studies: dict[int, Study] = {}

    def study(self, number: int) -> Study:
        """Of the degree of this number."""
        if number not in self._studies:
            degree = self.scenario.graph.degrees[number]
            self._studies[number] = Study(self.scenario, degree, self.keep)
        return self._studies[number]

    @property
    def studies(self) -> list[Study]:
        """Of all degrees."""
        return [self.study(number) for number in range(len(self.scenario.graph.degrees))]

    @property
    def places(self) -> list[Place]:
        """Of all batches, in the order in which they are added up."""
        runs = self.scenario.runs
        return [
            Place(number, first, min(study.lanes, runs - first))
            for number, study in enumerate(self.studies)
            for first in range(0, runs, study.lanes)
        ]

    def name(self, place: Place) -> str:
        """All that a batch depends on besides the scenario: another is not to be taken for it."""
        study = self.study(place.number)
        rows = len(study.recorded)
        parts = (study.degree, place.first, place.runs, rows, self.dtype, *sorted(self.keep))
        return "-".join(map(str, parts))

    def run_rounds(self, place: Place) -> int:
        """What a batch counts for in progress."""
        return self.scenario.rounds * place.runs

    def compute(self, place: Place, tell: Callable[[int], None], *, threads: int = 1) -> Sums:
        """The sums of one batch. `tell` hears of run-rounds as they are done, and may raise.

        `threads`: how many it may use itself, which a single run of the paper's algorithm can.
        """
        batch = Batch(self.study(place.number), place.first, place.runs, self.dtype.type, threads)
        stride = max(1, SEGMENT // batch.work_per_round)
        tell(0)  # what nobody wants any more does not begin
        for start in range(1, self.scenario.rounds + 1, stride):
            last = min(start + stride - 1, self.scenario.rounds)
            batch.advance(start, last)
            tell((last - start + 1) * place.runs)
        return batch.sums()
