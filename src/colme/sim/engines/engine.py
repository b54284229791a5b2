"""What every engine is: some algorithms at some epsilons, on the runs of one batch."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from colme.configuration import Table
from colme.graph import Graph, IntArray
from colme.rules.release import Profile
from colme.sim.engines.claims import Claims
from colme.sim.engines.course import Course
from colme.sim.engines.liars import Liars
from colme.sim.engines.measure import (
    ANSWERS,
    Answered,
    BoolArray,
    FloatArray,
    Record,
    new_record,
)
from colme.sim.kernel import BUFFER, Array, Form, Origin, RunningMeans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """What all batches of a study share."""

    agents: int
    degree: float
    """The mean degree of the graphs."""
    rounds: int
    recorded: IntArray
    """The rounds in which something is measured."""
    tolerance: float
    """How near to the true mean an answer counts as close."""
    seed: int
    centre: float
    """All data, means and answers are relative to it: single precision has no digits to spare."""
    means: FloatArray
    """Of the classes. An agent's own are `World.truth_at`: they may be drawn, and they may move."""
    midpoints: FloatArray
    """Of the bounds of each class's data; an agent's own are `World.midpoints`."""
    common_bounds: bool
    """Whether all data share their bounds; else each agent has its own, around its mean."""
    profiles: Sequence[Sequence[Sequence[Profile]]]
    """For each epsilon to study, for each class, every agent's profile, or one that all share."""
    claims: Claims | None = None
    """What liars claim of their releases; None if nothing but the truth."""
    keeps_answers: bool = False
    """Whether somebody wants to see everybody's answers, not only what is measured of them."""

    def everyones(self, level: int, classes: IntArray) -> list[Profile]:
        """The profile of each agent, where they are in these classes."""
        profiles = self.profiles[level]
        return [
            profiles[c][a % len(profiles[c])]  # one that all share, or each its own
            for a, c in enumerate(classes.tolist())
        ]

    def told_apart(self, level: int) -> list[Sequence[Profile]]:
        """`profiles`, of a single class where all are alike; where liars claim something, theirs
        follow, class by class."""
        profiles = list(self.profiles[level])
        if all(one == profiles[0] for one in profiles):
            profiles = profiles[:1]
        if self.claims is not None:
            profiles += [[self.claims.of(one) for one in of_class] for of_class in profiles]
        return profiles

    def widest(self, level: int) -> Profile:
        """One for all, with the largest variance of any class."""
        profiles = [one for of_class in self.profiles[level] for one in of_class]
        sigma2, beta = max(one.sigma2 for one in profiles), max(one.beta for one in profiles)
        return replace(profiles[0], sigma2=sigma2, beta=beta)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """The runs of one batch, before their first round. They share a graph."""

    setting: Setting
    graph: Graph
    numbers: range
    """The runs: maybe fewer than the form has lanes; those beyond are computed and dropped."""
    form: Form
    """Number format and lanes of the kernel."""
    classes: IntArray
    """[M, lanes]: what agents are alike in but for their means: shape of the data, profile."""
    origin: Origin
    """Where the data come from, before any drift."""
    means: FloatArray
    """[M, lanes]: everybody's mean before any drift, less the setting's centre."""
    alike: IntArray
    """[M, lanes]: equal for agents with the same mean, at the beginning."""
    honest: BoolArray
    """[M, runs]: who does not lie. Nobody else is measured."""
    liars: Liars | None = None
    """What the others do; None if there are none."""
    course: Course | None = None
    """How the means drift; None if they do not."""
    pace: FloatArray | None = None
    """[M]: samples a round; None for one each."""

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.numbers)

    @property
    def honest_in_lanes(self) -> BoolArray:
        """[M, lanes]: `honest`, with the lanes that no run has."""
        spare = ((0, 0), (0, self.classes.shape[1] - self.runs))
        return np.pad(self.honest, spare, constant_values=True)

    @property
    def measured(self) -> int:
        """Agents that do not lie: as many in every run."""
        return int(self.honest[:, 0].sum())

    @property
    def placed(self) -> IntArray:
        """[M, runs]: everybody's class."""
        return self.classes[:, : self.runs]

    @property
    def truth(self) -> FloatArray:
        """[M, runs]: everybody's true mean at the beginning, less the setting's centre."""
        return self.means[:, : self.runs]

    def truth_at(self, t: int) -> FloatArray:
        """[M, runs]: the same in round t."""
        return self.truth_in_lanes(t)[:, : self.runs]

    def truth_in_lanes(self, t: int) -> FloatArray:
        """[M, lanes]: the same with the lanes that no run has."""
        return self.means if self.course is None else self.means + self.course.at(t)

    @property
    def midpoints(self) -> FloatArray:
        """[M, runs]: of everybody's bounds, less the centre. They stay where the means began."""
        middles = self.setting.midpoints[self.placed]
        if self.setting.common_bounds:
            return np.asarray(middles)
        return np.asarray(middles + (self.truth - self.setting.means[self.placed]))

    def heard(self, level: int) -> list[list[Profile]]:
        """For each run, everybody's profile as the others hear of it: a liar's as it claims."""
        everyones = [self.setting.everyones(level, placed) for placed in self.placed.T]
        claims = self.setting.claims
        if claims is None:
            return everyones
        return [
            [one if is_honest else claims.of(one) for one, is_honest in zip(*run, strict=True)]
            for run in zip(everyones, self.honest.T, strict=True)
        ]

    def counts(self, t: int) -> IntArray:
        """[M]: how many samples everybody has after round t."""
        return np.asarray(self.counts_in(range(t, t + 1))[0])

    def counts_in(self, rounds: range) -> IntArray:
        """[rounds, M]: the same after each of these."""
        after = np.arange(rounds.start, rounds.stop)[:, None]
        if self.pace is None:
            return np.repeat(after, self.setting.agents, axis=1)
        # A product such as 0.07 * 100 may be a little above the whole number it stands for.
        return np.ceil(self.pace * after - COUNT_ROUNDING).astype(np.int64)


COUNT_ROUNDING = 1e-9
"""Of a pace multiplied by a round."""


class Chunk:
    """A few rounds of data, the same for all engines."""

    def __init__(self, first: int, last: int, row: int | None, stream: RunningMeans, runs: int):
        self.first = first
        self.last = last
        self.row = row
        """The row of the record for the last round; None where nothing is measured."""
        self.stream = stream
        """As the kernel has it, all lanes."""
        self._runs = runs

    def _of(self, values: Array) -> Array:
        held = (np.arange(self.first, self.last + 1) - 1) % len(values)
        taken: Array = values[held]
        return taken

    @cached_property
    def data_in_lanes(self) -> Array:
        """[rounds, M, lanes]: `data`, with the lanes that no run has."""
        return self._of(self.stream.data)

    @cached_property
    def data(self) -> Array:
        """[rounds, M, runs]: running means of each agent's samples, less the setting's centre.

        They have drift and pace in them. Those of liars are honest: `World.liars` has their lies.
        """
        return self.data_in_lanes[:, :, : self._runs]

    @cached_property
    def noise(self) -> Array:
        """[rounds, M, runs]: the running mean of each agent's Laplace(0, 1) draws."""
        return self._of(self.stream.noise)[:, :, : self._runs]


Cell = tuple[str, int]
"""An algorithm's label, and the number of an epsilon."""


class AlgorithmTable(Table):
    """An algorithm of a scenario: its options, and which engine runs it."""

    name: str = ""
    """What the results call it, if not by its own name."""

    algorithm: Any
    """Its own name, or an object of the user's own."""

    private: ClassVar[bool] = True
    """Whether epsilon matters; what does not depend on it is computed once."""

    @property
    def engine(self) -> type["Engine"]:
        """What runs it."""
        raise NotImplementedError

    @property
    def needs_one_epsilon(self) -> bool:
        """Whether all agents must have the same."""
        return False

    @property
    def allows_paces(self) -> bool:
        """Whether agents may have paces of their own; else everybody has one sample a round."""
        return False

    @property
    def allows_liars(self) -> bool:
        """Whether agents may lie; else it is not known what that would do."""
        return False

    def check(self, agents: int) -> None:
        """Whether its options fit so many agents."""

    @property
    def label(self) -> str:
        """What the results call it."""
        return self.name or str(self.algorithm)


Entrant = tuple[AlgorithmTable, int]
"""An algorithm at the epsilon of this number."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What an agent spends, averaged over the agents. A request is a message without payload."""

    messages: float
    """Sent per round."""
    payload: float
    """Bytes sent per round: 8 for a mean or a sum of means, 4 for a count or a size."""
    memory: float
    """Numbers kept from one round to the next."""


class Engine(ABC):
    """Runs some entrants in one world, chunk after chunk.

    A chunk ends where something is recorded, so that the state is then that of the round.
    """

    work: ClassVar[float] = 1.0
    """What an agent-round takes, in those of the paper's kernel: for the report of progress."""

    bytes_of_agent: ClassVar[float] = 130
    bytes_of_neighbour: ClassVar[float] = 16
    """What an agent's state takes at one epsilon in one lane, without its neighbours and for each:
    measured of tracking and relay in single precision, to say beforehand whether a study fits."""

    buffer: ClassVar[int] = BUFFER
    """Bytes of a chunk that suit it: few for compiled rounds, whose data stay in the cache; many
    where a chunk is work for Python and nothing is read twice."""

    rounding: ClassVar[float] = 0.1
    """The largest `study.precision.rounding` at which single precision costs it next to nothing."""

    @classmethod
    def eventful(cls, epsilons: FloatArray, rounds: int) -> IntArray:
        """Rounds in which its answers jump, which must not be missed in what is recorded."""
        return np.zeros(0, np.int64)

    @classmethod
    def prepare(cls, setting: Setting, entrants: Sequence[Entrant]) -> Any:
        """What all batches can share, computed once."""
        return None

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: Any = None) -> None:
        self.world = world
        self.entrants = entrants
        rows = len(world.setting.recorded)
        self.record: dict[Cell, Record] = {
            (table.label, level): new_record(rows, world.runs) for table, level in entrants
        }
        self._answered: dict[Cell, Answered] = {}

    @property
    def work_per_agent_round(self) -> float:
        """Of all its entrants together."""
        return self.work * len(self.entrants)

    @abstractmethod
    def advance(self, chunk: Chunk) -> None:
        """The rounds of this chunk, which follow those done before; record the last if asked."""

    @abstractmethod
    def cost(self, cell: Cell) -> Sequence[Cost]:
        """What the latest round cost, in each run."""

    def measured(self) -> dict[Cell, Record]:
        """All that was recorded."""
        return self.record

    def answered(self, cell: Cell) -> Answered:
        """In the latest recorded round, where answers are kept. Who was not noted has none."""
        kept = self._answered.get(cell)
        if kept is None:
            nothing = np.zeros((self.world.setting.agents, self.world.runs))
            return Answered(nothing, nothing)
        return kept

    def note(self, cell: Cell, row: int, values: dict[str, Any]) -> None:
        """Record values of a round, and its cost."""
        record = self.record[cell]
        for name, value in values.items():
            if name != ANSWERS:
                record[name][row] = value
            elif self.world.setting.keeps_answers:
                self._answered[cell] = self._as_answered(value)
        for run, cost in enumerate(self.cost(cell)):
            record["messages"][row, run] = cost.messages
            record["payload"][row, run] = cost.payload
            record["memory"][row, run] = cost.memory

    def _as_answered(self, answers: Any, class_size: Any = None) -> Answered:
        """Of all who are honest, unless it is said whom they stand for."""
        if isinstance(answers, Answered):
            return answers
        honest = self.world.honest.astype(np.float64)
        return Answered(np.array(answers, np.float64), honest, class_size)
