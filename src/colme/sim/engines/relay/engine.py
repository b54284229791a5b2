"""`relay` in the simulator: everybody's releases, the boards that follow from hops, the answers.

What agents would hold at a round is computed without any message: a record of b is on a's board so
many rounds after its release as there are hops between them. Answers, the dear part, are those of
`colme.inference`, computed in recorded rounds alone, for some of the agents.
"""

from collections.abc import Sequence
from math import inf
from statistics import median_low
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from colme.errors import ConfigError
from colme.experiment.streams import RandomStream, generator
from colme.graph import IntArray
from colme.inference.answers import Owners, Releases, answers
from colme.inference.mixture import Models
from colme.inference.tables import tabulated
from colme.inference.tuning import TUNING
from colme.protocol.board.board import CAPACITY
from colme.protocol.board.record import RECORD_SIZE, weighed_blocks
from colme.rules.interval import believed_variance
from colme.rules.weighing import WeighedBlocks, claimed
from colme.sim.engines.engine import (
    ANSWERS,
    AlgorithmTable,
    Answered,
    BoolArray,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    FloatArray,
    World,
)
from colme.sim.engines.liars import Liars
from colme.sim.engines.relay.boards import Boards, Traffic, draw_origins
from colme.sim.kernel.arrays import BUFFER, Array
from colme.sim.kernel.releases import advance_releases, block_ends, most_in, new_plan, new_releases

MEASURED = 24
"""Agents whose answers are computed where boards differ, each from a fit of its own."""

RELEASES_WATCHED = 20
"""At most, of each schedule."""

BYTES_OF_A_NUMBER = 8

REMEMBERED = 16
"""Releases of each agent, at least."""

COMPANY = 1000
"""Agents up to which all that hold the same board as an evaluated one answer too."""

FIRST_COUNTED = 10
"""Released samples from which on intervals are counted."""


class RelayRun:
    """All agents of a batch at one epsilon."""

    def __init__(
        self,
        world: World,
        names: list[str],
        level: int,
        table: "RelayTable",
    ) -> None:
        setting, graph = world.setting, world.graph
        self._world, self.squares = world, table.variance == "released"
        capacity, hop = table.capacity, table.hop
        lots = generator(setting.seed, RandomStream.EVALUATED, world.numbers[0], 0)
        is_evaluated = table.evaluated(world, lots)
        # All who hold the same board as an agent that was drawn answer too: most of them need no
        # fit of their own. Whether variances are known must make no difference here: tables that
        # differ in that alone evaluate the same agents.
        in_company = not isinstance(table.measured, list) and graph.agents <= COMPANY
        self._who = np.flatnonzero(in_company | is_evaluated.any(axis=1))
        self._is_evaluated = is_evaluated[self._who]
        """[who, runs]"""
        self._boards = Boards(graph, names, self._who, capacity=capacity, hop=hop)
        # Only those whose records are on the board of somebody who may answer matter.
        self._origins = self._boards.origins
        self._own = np.searchsorted(self._origins, self._who)
        profiles = world.profiles(level)
        theirs = [profiles[0][b] for b in self._origins.tolist()]
        self._schedules = [
            weighed_blocks(profile.epsilon, names[b])
            for b, profile in zip(self._origins.tolist(), theirs, strict=True)
        ]
        self._plan = new_plan(self._schedules, theirs, setting.rounds, squares=self.squares)
        self.blocks = self._plan.end.shape[1]
        """The largest number of blocks of any agent."""
        self._midpoint = world.midpoints[self._origins]
        self._lying = ~world.honest[self._origins]
        # Epsilon and range are an agent's own; the variance is its class's, another in every run.
        self._sigma2 = np.array([[run[b].sigma2 for run in profiles] for b in self._origins])
        remembered = max(REMEMBERED, most_in(self._plan, self._boards.longest))
        self._released = new_releases(self._plan, self._midpoint, remembered)
        self._learned: dict[tuple[int, int], Models | None] = {}
        self._traffic = Traffic(graph, names, setting.rounds, lots, capacity=capacity, hop=hop)
        held = (self._boards.lag[0] < setting.rounds).sum()
        self._memory = float(held) * RECORD_SIZE / BYTES_OF_A_NUMBER
        self.cost = Cost(messages=0.0, payload=0.0, memory=self._memory)

    def advance(self, chunk: Chunk, units: Array) -> None:
        """Take in samples, close blocks; count what crosses edges."""
        everybody = self._origins.size == self._world.graph.agents
        means = np.ascontiguousarray(chunk.data if everybody else chunk.data[:, self._origins])
        mine = units if everybody else units[:, :, self._origins]
        # No more rounds at a time than releases are remembered: each is told of, too.
        for first in range(chunk.first, chunk.last + 1, len(self._released.round)):
            rounds = range(first, min(first + len(self._released.round), chunk.last + 1))
            counts = self._world.counts_in(rounds)[:, self._origins]
            before = self._released.closed.copy()
            part = means[first - chunk.first :][: len(rounds)]
            advance_releases(first, counts, part, mine, self._plan, self._released)
            self._send(before, chunk)

    def _send(self, before: IntArray, chunk: Chunk) -> None:
        """Send what was released since so many blocks had closed; lies replace some of it."""
        released = self._released
        which = np.repeat(np.arange(before.size), released.closed - before)
        if not which.size:
            return
        nth = np.arange(which.size) - np.searchsorted(which, which)
        place = (before[which] + nth) % len(released.round)
        rounds = released.round[place, which]
        self._traffic.release(self._origins[which], rounds)
        if self._world.liars is not None:
            for t in np.unique(rounds).tolist():
                told = self._lies(self._world.liars, t, chunk.data[t - chunk.first])
                for b, k in zip(which[rounds == t], place[rounds == t], strict=True):
                    lying = self._lying[b]
                    released.mean[k, b, lying] = told[b, lying]

    def _lies(self, liars: Liars, t: int, means: Array) -> FloatArray:
        """[O, runs]: what they tell instead of a release in round t; `means` are all agents'."""
        plan, latest = self._plan, np.maximum(self._released.closed - 1, 0)
        data, noise, *_ = plan.blends[:, plan.schedule, latest]
        of_noise = noise * plan.half_range * plan.half_range
        # A lie is asked for all agents at once, also those whose records nobody evaluated holds.
        sd = np.zeros(means.shape)
        sd[self._origins] = np.sqrt(data[:, None] * self._sigma2 + of_noise[:, None])
        return liars.tell(t, means, self._world.truth_at(t), sd)[self._origins]

    def measured(self, chunk: Chunk) -> dict[str, Any]:
        """Return what evaluated agents answer in the last round of the chunk, and what it cost."""
        world, t = self._world, chunk.last
        self.cost = self._traffic.since_last(t, self._memory)
        own = np.asarray(chunk.data[-1], np.float64)[self._who]
        (value, margin, size, trust), weight = self._answers(t, own)
        truth = world.truth_at(t)[self._who]
        deviation = value - truth
        # Evaluated agents stand for all that are honest. A run without any has no error, not 0.
        evaluated = weight.sum(axis=0)
        each = world.honest_agents / np.where(evaluated > 0, evaluated, np.nan)

        def total(values: Array) -> FloatArray:
            return np.asarray(each * (weight * values).sum(axis=0))

        return {
            "evaluated": np.count_nonzero(weight, axis=0),
            "error": total(deviation**2),
            "alone": total((own - truth) ** 2),
            "close": total(np.abs(deviation) <= world.setting.tolerance),
            "local": total(trust == 0),
            "intervals": total(self._counts_intervals),
            "covered": total(self._counts_intervals & (np.abs(deviation) <= margin)),
            "size": total(size),
            ANSWERS: Answered(*map(self._of_all, (value, weight, size, margin))),
        }

    def _of_all(self, values: FloatArray) -> FloatArray:
        """[M, runs]: `values`, with zeros for agents that were not evaluated."""
        everybodys = np.zeros(self._world.honest.shape)
        everybodys[self._who] = values
        return everybodys

    @property
    def _counts_intervals(self) -> Array:
        """[who, 1]: intervals count from ten released samples on."""
        plan, closed = self._plan, self._released.closed[self._own]
        released = plan.end[plan.schedule[self._own], np.maximum(closed - 1, 0)]
        return np.asarray((closed > 0) & (released >= FIRST_COUNTED))[:, None]

    def _answers(self, t: int, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """[4, who, runs]: value, margin, class size and trust; and the weight of each answer.

        An evaluated agent stands for all that hold its board, itself among them. The mean over
        these, then over evaluated agents, is that of all agents on average.
        """
        found, weight = np.zeros((4, *own.shape)), np.zeros(own.shape)
        honest = self._world.honest[self._who]
        held = self._boards.held(t, self._released.round, self._released.closed)
        counts = self._world.counts(t)[self._who].astype(np.float64)
        for blocks in np.unique(held[self._is_evaluated.any(axis=1)], axis=0):
            alike = np.flatnonzero((held == blocks).all(axis=1))
            for lane in range(own.shape[1]):
                who = alike[honest[alike, lane]]
                evaluated = np.count_nonzero(self._is_evaluated[who, lane])
                if evaluated:
                    self._answer(blocks, lane, who, own[who, lane], counts[who], found)
                    weight[who, lane] = evaluated / who.size
        return found, weight

    def _answer(
        self,
        blocks: IntArray,
        lane: int,
        who: IntArray,
        own: FloatArray,
        count: FloatArray,
        found: FloatArray,
    ) -> None:
        """Answer for agents that share a board, in one run, with their exact means and counts."""
        origins = np.flatnonzero(blocks >= 0)
        liars = self._world.liars
        if liars is not None:
            # The records of agents that do not exist say what their inventors' do.
            origins = np.repeat(origins, 1 + liars.lie.invented * self._lying[origins, lane])
        board = self._board(blocks[origins], origins, lane)
        mine = self._own[who]
        place = np.searchsorted(origins, mine)
        there = blocks[mine] >= 0
        answer = answers(
            board,
            Owners(
                mean=own,
                count=count,
                variance=self._own_variance(mine, lane, count, own),
                known=np.full(who.size, not self.squares),
                half_range=self._plan.half_range[mine],
                index=np.where(there, place, -1),
            ),
            warm=[self._learned.get((a, lane)) for a in who.tolist()],
        )
        for a, models in zip(who.tolist(), answer.models, strict=True):
            self._learned[a, lane] = models
        found[:, who, lane] = answer.value, answer.margin, answer.class_size, answer.trust

    def _own_variance(
        self, mine: IntArray, lane: int, count: FloatArray, own: FloatArray
    ) -> FloatArray:
        offset = own - self._midpoint[mine, lane]
        exact = np.maximum(self._released.squares[mine, lane] / count - offset**2, 0.0)
        if self.squares:
            return np.asarray(exact)
        known = (self._sigma2[mine, lane], exact, count, self._plan.half_range[mine])
        each = zip(*(values.tolist() for values in known), strict=True)
        return np.array([believed_variance(*one) for one in each])

    def _board(self, blocks: IntArray, origins: IntArray, lane: int) -> Releases:
        """The table that a reader makes of all records: claims count as far as public facts go."""
        plan, released, liars = self._plan, self._released, self._world.liars
        lying = self._lying[origins, lane]
        row, place = plan.schedule[origins], blocks % len(released.round)
        true_counts = counts = plan.end[row, blocks]
        mean, midpoint = released.mean[place, origins, lane], self._midpoint[origins, lane]
        half_range, made_of = plan.half_range[origins], plan.blends[:, row, blocks]
        variance = square = np.full(origins.size, np.nan)
        if liars is not None:
            counts = np.where(lying, (counts * liars.lie.count_times).astype(np.int64), counts)
        most = TUNING.largest_count * median_low(counts.tolist() or [1])
        for i in np.flatnonzero((counts > most) | (counts != true_counts)).tolist():
            believed = claimed(self._schedules[origins[i]], min(int(counts[i]), most))
            made_of[:, i] = believed.shares
        no_variance = lying & (liars is not None and liars.lie.no_variance)
        if self.squares:
            # Those of data that do not vary.
            flat = (mean - midpoint) ** 2 - made_of[1] * half_range * half_range
            square = np.where(no_variance, flat, released.square[place, origins, lane])
        else:
            variance = np.where(no_variance, 0.0, self._sigma2[origins, lane])
        return tabulated(
            mean=mean,
            square=square,
            variance=variance,
            made_of=made_of,
            half_range=half_range,
            midpoint=midpoint,
            origin=0.0,
            unit=float(plan.half_range[0]),
        )


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
                ends = np.array(block_ends(WeighedBlocks(epsilon, early), rounds))
                ends = ends[ends <= rounds]
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
        for cell, (table, level) in zip(self.cells, entrants, strict=True):
            assert isinstance(table, RelayTable)
            self._runs[cell] = RelayRun(world, names, level, table)
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


class RelayTable(AlgorithmTable):
    """Options: how variances are known, which agents are evaluated, how records travel."""

    engine: ClassVar[type[Engine]] = RelayEngine
    allows_paces: ClassVar[bool] = True
    """Nobody waits for anybody."""
    allows_liars: ClassVar[bool] = True
    """They lie in their records."""

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

    def check(self, agents: int, dishonest: int = 0) -> None:
        """Raise ConfigError if named agents do not exist, or may all lie in one run."""
        if not isinstance(self.measured, list):
            return
        if not all(0 <= a < agents for a in self.measured):
            raise ConfigError("measured", self.measured, f"agents 0 to {agents - 1}")
        if 0 < len(set(self.measured)) <= dishonest:
            expected = f"more agents than the {dishonest} that lie, or how many are to be drawn"
            raise ConfigError("measured", self.measured, expected)

    def evaluated(self, world: World, lots: Generator) -> BoolArray:
        """[M, runs]: the named agents; or so many that are drawn, honest ones alone.

        In a run in which some of those drawn lie, others follow in an order that all runs share. So
        no run is without an answer, and none has fewer unless fewer are honest.
        """
        agents, runs = world.honest.shape
        if isinstance(self.measured, list):
            return np.repeat(np.isin(np.arange(agents), self.measured)[:, None], runs, axis=1)
        complete = bool((world.graph.degrees == agents - 1).all())
        count = min(agents, self.measured or (agents if complete else MEASURED))
        drawn = lots.choice(agents, count, replace=False)
        # From a stream of its own: `lots` goes on as it would without dishonest agents.
        spare = generator(world.setting.seed, RandomStream.EVALUATED, world.numbers[0], 1)
        order = np.append(drawn, spare.permutation(np.setdiff1d(np.arange(agents), drawn)))
        honest = world.honest[order]
        found = np.zeros(honest.shape, np.bool_)
        found[order] = honest & (np.cumsum(honest, axis=0) <= count)
        return found
