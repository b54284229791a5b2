"""The interface, table and engine of all baselines, and the confidence radius that three share.

A custom baseline is an object from Python, or `module:attribute`; so is a custom engine.
"""

# mypy: disable-error-code="misc, untyped-decorator"

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Annotated, Any, ClassVar, Final, Protocol, Self

import numpy as np
from pydantic import ConfigDict, Field, field_serializer, model_validator

from colme import plugins
from colme.errors import ConfigError
from colme.graph import Graph, IntArray
from colme.inference.compiled import jit
from colme.rules.release import Profile
from colme.sim.engines.engine import (
    ANSWERS,
    AlgorithmTable,
    BoolArray,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    World,
    of_answers,
    of_decisions,
)
from colme.sim.kernel.arrays import Array

MEAN_BYTES: Final = 8
COUNT_BYTES: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run at one epsilon, for which a baseline is made."""

    graph: Graph
    classes: IntArray
    """The true classes. Only baselines whose papers assume this knowledge look at it."""
    profile: Profile
    """One for all, as their papers have it: with the largest variance of any class."""

    @property
    def sigma(self) -> float:
        """The standard deviation of a sample."""
        return sqrt(self.profile.sigma2)


class Baseline(Protocol):
    """An algorithm that continues from one chunk of rounds to the next."""

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """Run the rounds first, first + 1, ...: one row each, one column per agent.

        `data` and `noise` are running means, of an agent's samples and of its Laplace(0, 1) draws;
        every agent has one sample per round. Every agent's estimates go into `answers`.
        """
        ...

    def cost(self) -> Cost:
        """Return the cost of the latest round; before any round, that of the first."""
        ...

    def accepted(self) -> Array | None:
        """Decisions per edge of the graph, or as a matrix (row: the agent deciding), or None."""
        ...


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
        self._baselines: dict[Cell, list[Baseline]] = {}
        for cell, (table, level) in zip(self.cells, entrants, strict=True):
            assert isinstance(table, BaselineTable)
            profile = world.setting.widest(level)
            self._baselines[cell] = [
                table.make(Run(world.graph, self._classes[:, run], profile))
                for run in range(world.runs)
            ]
        self._answers = {cell: np.zeros(world.honest.shape) for cell in self._baselines}
        """All answers of the latest recorded round, by cell."""

    def advance(self, chunk: Chunk) -> None:
        """All entrants on the data of one run, then on the next."""
        for run in range(self.world.runs):
            data = np.ascontiguousarray(chunk.data[:, :, run], dtype=np.float64) + self._centre
            noise = np.ascontiguousarray(chunk.noise[:, :, run])
            answers = np.empty_like(data)
            for cell, baselines in self._baselines.items():
                baselines[run].advance(chunk.first, data, noise, answers)
                if chunk.row is not None:
                    measured = self._measured(
                        chunk.last, run, baselines[run], answers[-1], data[-1]
                    )
                    self._answers[cell][:, run] = measured.pop(ANSWERS) - self._centre
                    for name, value in measured.items():
                        self.record[cell][name][chunk.row, run] = value
        if chunk.row is not None:
            for cell in self._baselines:
                self.note(cell, chunk.row, {ANSWERS: self._answers[cell]})

    def cost(self, cell: Cell) -> Sequence[Cost]:
        """Return the cost that each baseline counts."""
        return [baseline.cost() for baseline in self._baselines[cell]]

    def _measured(
        self, t: int, run: int, baseline: Baseline, answers: Array, local: Array
    ) -> dict[str, Any]:
        world = self.world
        truth, honest = world.truth_at(t)[:, run] + self._centre, world.honest[:, run]
        values = of_answers(answers, local, truth, world.setting.tolerance, honest)
        return values | self._decisions(baseline.accepted(), self._classes[:, run], honest)

    def _decisions(
        self, accepted: Array | None, classes: IntArray, honest: BoolArray
    ) -> dict[str, Any]:
        """Measure decisions about edges, or, without a graph, about all ordered pairs."""
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

    @property
    def made(self) -> Any:
        """What makes a baseline, called with a run and the options."""
        raise NotImplementedError

    @property
    def options(self) -> dict[str, Any]:
        """All fields but those of every algorithm."""
        return {key: one for key, one in self if key not in AlgorithmTable.model_fields}

    def make(self, run: Run) -> Baseline:
        """Make the baseline of one run, before its first round."""
        baseline: Baseline = self.made(run, **self.options)
        return baseline


class OwnTable(BaselineTable):
    """What it has beside a name are options, with which the object is called.

    An engine is a subclass of `Engine`; it finds its options in its entrant. Anything else that can
    be called takes a `Run`, and the options, and makes a `Baseline`.
    """

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    private: ClassVar[bool] = True

    @property
    def engine(self) -> type[Engine]:
        """The object itself, or the one that runs baselines."""
        made = self.made
        return made if isinstance(made, type) and issubclass(made, Engine) else BaselineEngine

    @property
    def needs_one_epsilon(self) -> bool:
        """A baseline is told one profile; an engine can ask for everybody's."""
        return self.engine is BaselineEngine

    @property
    def allows_paces(self) -> bool:
        """A baseline is not told them; an engine can ask for everybody's counts."""
        return self.engine is not BaselineEngine

    @property
    def allows_liars(self) -> bool:
        """A baseline is shown samples; an engine can ask what liars tell."""
        return self.engine is not BaselineEngine

    @model_validator(mode="after")
    def _can_be_called(self) -> Self:
        if not callable(self.made):
            expected = "an Engine, a callable that makes a Baseline of a Run, or module:attribute"
            raise ConfigError("algorithm", self.algorithm, expected)
        return self

    @field_serializer("algorithm")
    def _plain_algorithm(self, algorithm: Any) -> str:
        return plugins.text_of(algorithm)

    @property
    def label(self) -> str:
        """Its name, or that of the object."""
        return self.name or plugins.text_of(self.algorithm).rpartition(":")[2]

    @property
    def made(self) -> Any:
        """The object itself."""
        text = self.algorithm
        return plugins.load("algorithm", text) if isinstance(text, str) else text


Delta = Annotated[float, Field(gt=0, le=1)]
"""The confidence level of the three, as an option."""


@dataclass(frozen=True, slots=True)
class Radii:
    """Confidence radii: beta_gamma(n) = sigma sqrt((2/n) (1 + 1/n) ln(sqrt(n + 1) / gamma))."""

    sigma: float
    gamma: float

    def __post_init__(self) -> None:
        if not 0 < self.sigma < inf:
            raise ConfigError("sigma", self.sigma, "a finite number greater than 0")

    def after(self, count: int) -> float:
        """Infinite for n = 0: of an agent never heard of, anything may be true."""
        if count <= 0:
            return inf
        n, gamma = count, self.gamma
        return self.sigma * sqrt(2 / n * (1 + 1 / n) * log(sqrt(n + 1) / gamma))

    def of_rounds(self, first: int, rounds: int) -> Array:
        """The radius after `first` samples, after one more, ...: `rounds` of them."""
        return np.array([self.after(first + i) for i in range(rounds)])


@jit
def optimistic_distance(mean_a: float, mean_b: float, radius_a: float, radius_b: float) -> float:
    """The least distance of the true means; b looks to be of a's class iff this is <= 0."""
    return abs(mean_a - mean_b) - radius_a - radius_b
