"""The engine: entrants that share keys and unit noise, and the table of options."""

from collections.abc import Sequence
from math import inf
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from colme.errors import ConfigError
from colme.experiment.streams import RandomStream, generator
from colme.graph import IntArray
from colme.protocol.board.board import CAPACITY
from colme.rules.weighing import WeighedBlocks
from colme.sim.engines.engine import (
    AlgorithmTable,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    FloatArray,
    World,
)
from colme.sim.engines.relay.boards import draw_origins
from colme.sim.engines.relay.player import RelayRun
from colme.sim.kernel import BUFFER

MEASURED = 24
"""Agents whose answers are computed where boards differ, each from a fit of its own."""

RELEASES_WATCHED = 20
"""At most, of each schedule."""


class RelayTable(AlgorithmTable):
    """Options: how variances are known, which agents are evaluated, how records travel."""

    algorithm: Literal["relay"]
    variance: Literal["known", "released"] = "known"
    """Declared by all, or released with noise beside the means."""
    measured: Annotated[int, Field(ge=1)] | Annotated[list[int], Field(min_length=1)] | None = None
    """The number of evaluated agents, drawn at random for each graph, or a list of agents. None:
    all on a complete graph, else 24."""
    capacity: int = Field(CAPACITY, ge=1)
    """Records that a board holds, a sample that is the same everywhere if there are more."""
    hop: int = Field(1, ge=1)
    """Rounds that a record takes from one agent to the next."""

    @property
    def engine(self) -> type[Engine]:
        """Boards."""
        return RelayEngine

    @property
    def allows_paces(self) -> bool:
        """Nobody waits for anybody."""
        return True

    @property
    def allows_liars(self) -> bool:
        """They lie in their records."""
        return True

    def check(self, agents: int, dishonest: int = 0) -> None:
        """Raise ConfigError if named agents do not exist, or may all lie in one run."""
        if not isinstance(self.measured, list):
            return
        if not all(0 <= a < agents for a in self.measured):
            raise ConfigError("measured", self.measured, f"agents 0 to {agents - 1}")
        if 0 < len(set(self.measured)) <= dishonest:
            expected = f"more agents than the {dishonest} that lie, or how many are to be drawn"
            raise ConfigError("measured", self.measured, expected)

    def evaluated(self, world: World) -> int | list[int]:
        """Return how many agents are evaluated, or which."""
        if isinstance(self.measured, list):
            return self.measured
        agents = world.graph.agents
        complete = bool((world.graph.degrees == agents - 1).all())
        return min(agents, self.measured or (agents if complete else MEASURED))


class RelayEngine(Engine):
    """Every entrant with releases of its own."""

    work: ClassVar[float] = 3.0
    rounding: ClassVar[float] = inf  # nothing is mixed
    buffer: ClassVar[int] = 16 * BUFFER

    @classmethod
    def eventful(cls, epsilons: FloatArray, rounds: int) -> IntArray:
        """Rounds of some releases, early and late, each with the round before and the next.

        They are those of the smallest and largest epsilon, of agents that release first and last.
        """
        found = [np.zeros(0, np.int64)]
        for epsilon in {float(epsilons.min()), float(epsilons.max())}:
            for early in (0, 255):
                ends = _ends(WeighedBlocks(epsilon, early), rounds)
                wanted = np.searchsorted(ends, np.geomspace(1, rounds, RELEASES_WATCHED))
                ends = ends[np.unique(wanted.clip(max=len(ends) - 1))] if len(ends) else ends
                found += [ends - 1, ends, ends + 1]
        together = np.unique(np.concatenate(found))
        return together[(together >= 1) & (together <= rounds)]

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: Any = None) -> None:
        super().__init__(world, entrants, prepared)
        seed, agents = world.setting.seed, world.graph.agents
        # Runs of a batch share keys, as they share a graph: all release in the same rounds.
        batch = world.numbers[0]
        names = draw_origins(agents, generator(seed, RandomStream.KEYS, batch))
        self._runs: dict[Cell, RelayRun] = {}
        for table, level in entrants:
            assert isinstance(table, RelayTable)
            self._runs[table.label, level] = RelayRun(
                world,
                names,
                level,
                squares=table.variance == "released",
                evaluated=table.evaluated(world),
                capacity=table.capacity,
                hop=table.hop,
            )
        runs = self._runs.values()
        blocks = max(run.blocks for run in runs)
        kinds = 2 if any(run.squares for run in runs) else 1
        # They depend on nothing but seed, run, agent and block, so that all epsilons see the same.
        self._units = np.zeros((kinds, blocks, agents, world.runs), np.float32)
        streams = (RandomStream.NOISE, RandomStream.NOISE_OF_SQUARES)[:kinds]
        for kind, stream in enumerate(streams):
            for lane, run in enumerate(world.numbers):
                drawn = generator(seed, stream, run).laplace(size=(blocks, agents))
                self._units[kind, ..., lane] = drawn

    def advance(self, chunk: Chunk) -> None:
        """One entrant after the other."""
        for cell, run in self._runs.items():
            run.advance(chunk, self._units)
            if chunk.row is not None:
                self.note(cell, chunk.row, run.measured(chunk))

    def cost(self, cell: Cell) -> Sequence[Cost]:
        """Since the recorded round before."""
        return [self._runs[cell].cost] * self.world.runs


def _ends(schedule: WeighedBlocks, rounds: int) -> IntArray:
    ends: list[int] = []
    while (end := schedule.next_end(ends[-1] if ends else 0)) <= rounds:
        ends.append(end)
    return np.array(ends, np.int64)
