"""An engine runs some algorithms at some epsilons, on the runs of one batch.

It is made for a `World` (graph, true means, which agents are honest), whose `Setting` all batches
of an experiment share. It is then handed the data chunk by chunk (`Chunk`), the same as all other
engines. A chunk ends at every recorded round: then the engine notes sums over agents and edges
(`MEASURED`) for each of its cells, and, if they are kept, all answers (`Answered`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from colme.config import Table
from colme.graph import Graph, IntArray
from colme.rules.release import Profile
from colme.sim.engines.liars import Liars, Lying
from colme.sim.kernel.arrays import (
    BUFFER,
    UNIFORM,
    Array,
    Form,
    Origin,
    RunningMeans,
    aligned,
    zeros,
)

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MEASURED: Mapping[str, str] = {
    "evaluated": "agents whose answers were computed",
    "error": "squared errors of the answers",
    "alone": "squared errors of the own means of those who answered; NaN: all did",
    "local": "agents that answer with their own mean",
    "close": "agents whose answer is within the tolerance of their true mean",
    "intervals": "agents that told an interval",
    "covered": "agents whose interval holds their true mean",
    "size": "sizes of the accepted sets, each agent itself included",
    "missed": "edges within a class that are not accepted, in both directions",
    "mixed_up": "edges between classes that are accepted",
    "within": "edges within a class",
    "between": "edges between classes",
    "messages": "messages that an agent sends",
    "payload": "bytes of it",
    "memory": "numbers that an agent keeps",
}
"""Names and meanings of what every engine records; results are made of these sums."""

Record = dict[str, FloatArray]
"""[rows, runs] of everything measured."""

ANSWERS = "answers"
"""The key of all agents' answers themselves, beside what is measured of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Answers of all agents in a recorded round."""

    values: FloatArray
    """[M, runs]: relative to the setting's centre."""
    weight: FloatArray
    """[M, runs]: for how many agents each stands; 0: not evaluated, or dishonest."""
    class_size: FloatArray | None = None
    """[M, runs]: the estimated size of the class, the agent included; None if not estimated."""
    margin: FloatArray | None = None
    """[M, runs]: half the width of a 95% interval; None if there is none."""


def of_answers(
    answers: Array,
    local: Array,
    truth: FloatArray,
    tolerance: float,
    honest: Array | bool = True,
) -> dict[str, Any]:
    """Measure the answers of the `honest` agents, [M] or [M, runs]."""
    deviation = np.asarray(answers, dtype=np.float64) - truth
    return {
        "error": (deviation**2 * honest).sum(axis=0),
        "close": ((np.abs(deviation) <= tolerance) & honest).sum(axis=0),
        "local": ((answers == local) & honest).sum(axis=0),
        ANSWERS: answers,
    }


def of_decisions(
    same: Array,
    accepted: Array,
    agents: int,
    *,
    honest: tuple[Array | bool, Array | bool] = (True, True),
) -> dict[str, Any]:
    """Measure the decisions about directed edges, [E] or [E, runs], of so many honest agents.

    `honest` says which first and second ends are. A dishonest agent's decisions are not measured,
    and about a dishonest agent there is no right one.
    """
    deciding, other = honest
    measured = np.logical_and(deciding, other)
    within, between = same & measured, ~same & measured
    return {
        "size": agents + (accepted & deciding).sum(axis=0),
        "missed": (within & ~accepted).sum(axis=0),
        "mixed_up": (between & accepted).sum(axis=0),
        "within": within.sum(axis=0),
        "between": between.sum(axis=0),
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """What all batches of an experiment share.

    Data whose samples are given, not drawn, need the fields without a default alone.
    """

    agents: int
    """M, the number of agents."""
    degree: float
    """The mean degree of the graphs."""
    rounds: int
    """Rounds of every run."""
    recorded: IntArray
    """The rounds in which something is measured, in order."""
    seed: int
    """The seed of all that engines draw."""
    profiles: Sequence[Sequence[Sequence[Profile]]]
    """For each epsilon, for each class, every agent's profile, or one that all agents share."""
    tolerance: float = inf
    """An answer this near to the true mean counts as close."""
    centre: float = 0.0
    """Subtracted from all data, means and answers: single precision has no digits to spare."""
    means: FloatArray = field(default_factory=partial(np.zeros, 1))
    """[classes]: the mean of each class. An agent's own is `World.truth_at`: it may be drawn, and
    it may drift."""
    midpoints: FloatArray = field(default_factory=partial(np.zeros, 1))
    """[classes]: the midpoint of the bounds of each class's data; an agent's own is
    `World.midpoints`."""
    common_bounds: bool = True
    """Whether all data share their bounds; else each agent's are around its own mean."""
    claims: Lying | None = None
    """What dishonest agents claim of their releases; None if they claim nothing false."""
    keeps_answers: bool = False
    """Whether every agent's answers are kept, beside what is measured of them."""

    def distinct_profiles(self, level: int) -> list[Sequence[Profile]]:
        """Return the profiles of each class, as agents see them.

        One class if all have the same. If dishonest agents claim something, the profiles that they
        claim follow, class by class.
        """
        profiles = list(self.profiles[level])
        if all(one == profiles[0] for one in profiles):
            profiles = profiles[:1]
        if self.claims is not None:
            profiles += [[self.claims.claimed(one) for one in of_class] for of_class in profiles]
        return profiles

    def widest(self, level: int) -> Profile:
        """Return one profile for all agents, with the largest variance of any class."""
        profiles = [one for of_class in self.profiles[level] for one in of_class]
        sigma2, beta = max(one.sigma2 for one in profiles), max(one.beta for one in profiles)
        return replace(profiles[0], sigma2=sigma2, beta=beta)


class Course(Protocol):
    """How the true means drift, in all lanes of a batch."""

    def at(self, t: int) -> FloatArray:
        """[M, lanes]: how far each agent's mean has moved by round t."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """The runs of one batch, before their first round. They share a graph.

    Arrays have a row for each of the M agents. The kernel computes a fixed number of *lanes* side
    by side; the first of them are the batch's *runs*, and what the others compute is dropped.
    Arrays that the kernel reads are [M, lanes]; `in_runs` drops the spare lanes.

    Two agents can have two things in common: their *class* (shape of the data, bounds and profile),
    and their *mean group* (the same true mean at the beginning: the paper's class).
    """

    setting: Setting
    graph: Graph
    numbers: range
    """The numbers of the runs: as many as there are lanes, or fewer."""
    form: Form
    """Number format and lanes of the kernel."""
    classes: IntArray
    """[M, lanes]: each agent's class, a place in the setting's `means`, `midpoints`, `profiles`."""
    origin: Origin
    """The kernel's description of the samples that it draws, before any drift."""
    means: FloatArray
    """[M, lanes]: each agent's true mean before any drift, less the setting's centre."""
    honest: BoolArray
    """[M, runs]: which agents do not lie. Others are not evaluated."""
    liars: Liars | None = None
    """What dishonest agents do; None if there are none."""
    course: Course | None = None
    """How the means drift; None if they do not."""
    pace: FloatArray | None = None
    """[M]: samples of each agent in a round; None if all have one."""
    mean_groups: IntArray = field(init=False)
    """[M, lanes]: equal for agents with the same mean at the beginning."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_groups", mean_groups(self.means))

    @classmethod
    def given(
        cls,
        setting: Setting,
        graph: Graph,
        means: FloatArray,
        *,
        numbers: range,
        form: Form,
        pace: FloatArray | None = None,
    ) -> Self:
        """Make a world whose samples come from outside: nothing is drawn, and all are honest.

        Parameters
        ----------
        setting
            With a single class.
        graph
            The graph of all runs.
        means
            Each agent's true mean, [M], less the setting's centre.
        numbers
            The numbers of the runs, no more than the form has lanes.
        form
            Number format and lanes.
        pace
            Samples of each agent in a round, [M]; one each if it is None.
        """
        in_lanes = np.repeat(means[:, None], len(form), axis=1)
        classes = np.zeros(in_lanes.shape, np.int64)
        dtype = form[0].dtype
        return cls(
            setting=setting,
            graph=graph,
            numbers=numbers,
            form=form,
            classes=classes,
            origin=Origin(
                shape=UNIFORM,
                location=aligned(in_lanes, dtype),
                spread=zeros(in_lanes.shape, dtype),
                classes=aligned(classes, np.int32),
                table=np.zeros((1, 1), np.float32),
            ),
            means=in_lanes,
            honest=np.ones((graph.agents, len(numbers)), np.bool_),
            pace=pace,
        )

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.numbers)

    def in_runs(self, in_lanes: Array) -> Array:
        """[M, runs]: drop the lanes that no run has."""
        return in_lanes[:, : self.runs]

    @property
    def honest_in_lanes(self) -> BoolArray:
        """[M, lanes]: `honest`, with the lanes that no run has."""
        spare = ((0, 0), (0, self.classes.shape[1] - self.runs))
        return np.pad(self.honest, spare, constant_values=True)

    @property
    def honest_agents(self) -> int:
        """Number of agents that do not lie, the same in every run."""
        return int(self.honest[:, 0].sum())

    @property
    def truth(self) -> FloatArray:
        """[M, runs]: each agent's true mean before any drift, less the setting's centre."""
        return self.in_runs(self.means)

    def truth_at(self, t: int) -> FloatArray:
        """[M, runs]: each agent's true mean in round t, less the setting's centre."""
        return self.in_runs(self.truth_in_lanes(t))

    def truth_in_lanes(self, t: int) -> FloatArray:
        """[M, lanes]: `truth_at`, with the lanes that no run has."""
        return self.means if self.course is None else self.means + self.course.at(t)

    @property
    def midpoints(self) -> FloatArray:
        """[M, runs]: the midpoint of each agent's bounds, less the centre. It does not drift."""
        classes = self.in_runs(self.classes)
        middles = self.setting.midpoints[classes]
        if self.setting.common_bounds:
            return np.asarray(middles)
        return np.asarray(middles + (self.truth - self.setting.means[classes]))

    def profiles(self, level: int) -> list[list[Profile]]:
        """Each agent's own profile, for each run."""
        profiles = self.setting.profiles[level]
        return [
            # One profile that all of a class share, or each agent its own.
            [profiles[c][a % len(profiles[c])] for a, c in enumerate(of_run.tolist())]
            for of_run in self.in_runs(self.classes).T
        ]

    def reported_profiles(self, level: int) -> list[list[Profile]]:
        """Each agent's profile as it tells others, for each run: a dishonest one's as it claims."""
        own, claims = self.profiles(level), self.setting.claims
        if claims is None:
            return own
        return [
            [one if is_honest else claims.claimed(one) for one, is_honest in zip(*run, strict=True)]
            for run in zip(own, self.honest.T, strict=True)
        ]

    def counts(self, t: int) -> IntArray:
        """[M]: the number of samples that each agent has after round t."""
        return np.asarray(self.counts_in(range(t, t + 1))[0])

    def counts_in(self, rounds: range) -> IntArray:
        """[rounds, M]: the number of samples of each agent after each of these rounds."""
        after = np.arange(rounds.start, rounds.stop)[:, None]
        if self.pace is None:
            return np.repeat(after, self.setting.agents, axis=1)
        # A product such as 0.07 * 100 may be a little above the whole number it stands for.
        return np.ceil(self.pace * after - COUNT_ROUNDING).astype(np.int64)


def mean_groups(means: FloatArray) -> IntArray:
    """Number the different means of each lane; `means` and result are [M, lanes]."""
    return np.stack([np.unique(one, return_inverse=True)[1] for one in means.T], axis=1)


COUNT_ROUNDING = 1e-9
"""The error of a pace multiplied by a round, at most."""


class Chunk:
    """A few rounds of data, the same for all engines."""

    def __init__(self, first: int, last: int, row: int | None, stream: RunningMeans, runs: int):
        self.first = first
        self.last = last
        self.row = row
        """The row of the record for the last round; None where nothing is measured."""
        self.stream = stream
        """The running means in the kernel's form, all lanes."""
        self._runs = runs

    def _of(self, values: Array) -> Array:
        held = (np.arange(self.first, self.last + 1) - 1) % len(values)
        taken: Array = values[held][:, :, : self._runs]
        return taken

    @cached_property
    def data(self) -> Array:
        """[rounds, M, runs]: running means of each agent's samples, less the setting's centre.

        They have drift and pace in them. Those of liars are honest: `World.liars` has their lies.
        """
        return self._of(self.stream.data)

    @cached_property
    def noise(self) -> Array:
        """[rounds, M, runs]: the running mean of each agent's Laplace(0, 1) draws."""
        return self._of(self.stream.noise)


Cell = tuple[str, int]
"""An algorithm's label, and the number of an epsilon."""


class AlgorithmTable(Table):
    """An algorithm of a scenario: its options, and which engine runs it."""

    name: str = ""
    """The label in the results, if it is not the algorithm's name."""

    algorithm: Any
    """The name of the algorithm, or a custom object."""

    private: ClassVar[bool] = True
    """Whether epsilon matters; what does not depend on it is computed once."""

    @property
    def engine(self) -> type["Engine"]:
        """The engine that runs it."""
        raise NotImplementedError

    @property
    def needs_one_epsilon(self) -> bool:
        """Whether all agents must have the same epsilon."""
        return False

    @property
    def allows_paces(self) -> bool:
        """Whether agents may have different paces; else all have one sample a round."""
        return False

    @property
    def allows_liars(self) -> bool:
        """Whether agents may lie; if not, nobody has settled what that would do."""
        return False

    def check(self, agents: int, dishonest: int = 0) -> None:
        """Raise ConfigError if the options do not fit so many agents, of which some lie."""

    @property
    def label(self) -> str:
        """The label in the results."""
        return self.name or str(self.algorithm)


Entrant = tuple[AlgorithmTable, int]
"""An algorithm at the epsilon of this number."""


def by_engine(
    tables: Iterable[AlgorithmTable], epsilons: int
) -> dict[type["Engine"], list[Entrant]]:
    """Return the entrants of each engine: algorithms at so many epsilons, if these matter."""
    entrants: dict[type[Engine], list[Entrant]] = {}
    for table in tables:
        levels = range(epsilons if table.private else 1)
        entrants.setdefault(table.engine, []).extend((table, level) for level in levels)
    return entrants


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of an agent, averaged over agents. A request is a message without payload."""

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
    """Time of an agent-round, in those of the paper's kernel: for the report of progress."""

    bytes_of_agent: ClassVar[float] = 130
    bytes_of_neighbour: ClassVar[float] = 16
    """Bytes of an agent's state at one epsilon in one lane, without its neighbours and for each:
    measured of relay in single precision, to say beforehand whether a study fits."""

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
        """Compute once what all batches share."""
        return None

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: Any = None) -> None:
        self.world = world
        self.entrants = entrants
        self.cells: list[Cell] = [(table.label, level) for table, level in entrants]
        shape = len(world.setting.recorded), world.runs
        self.record: dict[Cell, Record] = {
            cell: {name: np.zeros(shape) for name in MEASURED} for cell in self.cells
        }
        for record in self.record.values():
            record["evaluated"][:] = world.honest_agents
            record["alone"][:] = np.nan
        self._answered: dict[Cell, Answered] = {}

    @property
    def work_per_agent_round(self) -> float:
        """Time of an agent-round of all entrants together."""
        return self.work * len(self.entrants)

    @abstractmethod
    def advance(self, chunk: Chunk) -> None:
        """The rounds of this chunk, which follow those done before; record the last if asked."""

    @abstractmethod
    def cost(self, cell: Cell) -> Sequence[Cost]:
        """Return the cost of the latest round, for each run."""

    def measured(self) -> dict[Cell, Record]:
        """Return all that was recorded."""
        return self.record

    def answered(self, cell: Cell) -> Answered:
        """Answers of the latest recorded round, if they are kept; weight 0 if none were noted."""
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
        """Weigh the answers of honest agents by 1, unless they come with weights."""
        if isinstance(answers, Answered):
            return answers
        honest = self.world.honest.astype(np.float64)
        return Answered(np.array(answers, np.float64), honest, class_size)
