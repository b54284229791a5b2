"""A study as one validated object, from Python or from TOML."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, TypeAdapter

from colme import naming
from colme.configuration import Table, read_toml, validated
from colme.errors import ConfigError
from colme.graph import Graph, IntArray
from colme.rules.decision import Situation
from colme.rules.release import Profile
from colme.sim import graphs
from colme.sim.engines import PaperTable
from colme.sim.scenario import legacy
from colme.sim.scenario.algorithms import AnyAlgorithm
from colme.sim.scenario.distributions import Data, Shape, Uniform
from colme.sim.scenario.families import Family, GraphFamily, Listed, OneOrMore, RandomRegular

Epsilon = Annotated[float, Field(gt=0)]


def _recommended() -> list[AnyAlgorithm]:
    return [TypeAdapter(AnyAlgorithm).validate_python("recommended")]


class Scenario(Table):
    """Everything that a simulation depends on. The same scenario gives the same numbers."""

    agents: int = Field(200, ge=2, le=10_000_000)
    graph: GraphFamily = RandomRegular()
    means: list[float] = Field([0.2, 0.4, 0.8], min_length=1)
    classes: list[int] | None = None
    data: Data = Uniform()
    bounds: tuple[float, float] | None = None
    epsilon: Annotated[list[Epsilon], OneOrMore] = Field([1.0], min_length=1)
    epsilon_per_agent: list[Epsilon] | None = None
    rounds: int = Field(1000, ge=1)
    runs: int = Field(32, ge=1)
    seed: int = Field(1, ge=0)
    tolerance: float = Field(0.05, gt=0)
    algorithms: list[AnyAlgorithm] = Field(default_factory=_recommended, min_length=1)

    @classmethod
    def build(cls, **fields: Any) -> Self:
        """From keyword arguments; `graph` may also be a Graph or a networkx graph."""
        graph = fields.get("graph")
        if graph is not None and not isinstance(graph, Graph | Family | Mapping | str):
            graph = Graph.from_networkx(graph)
        if isinstance(graph, Graph):
            edges = [(a, b) for a in range(graph.agents) for b in graph.neighbours(a) if a < b]
            fields |= {"graph": Listed(family="edges", edges=edges), "agents": graph.agents}
        scenario = validated(cls, legacy.upgraded(fields))
        scenario._check()
        return scenario

    def changed(self, **overrides: Any) -> Self:
        """The same with some fields replaced; of a table, only those given."""
        # The algorithms as they are: an object of one's own need not have a name to be found by.
        fields = self.model_dump(exclude={"algorithms"}) | {"algorithms": self.algorithms}
        return self.build(**_merged(fields, overrides))

    @classmethod
    def load(cls, path: Path, **overrides: Any) -> Self:
        """From a TOML file; files and modules that it names are looked for beside it."""
        fields = read_toml("scenario", path)
        naming.search_in(path.parent)
        for table in ("graph", "data"):
            spec = fields.get(table)
            if isinstance(spec, dict) and isinstance(spec.get("file"), str):
                spec["file"] = path.parent / spec["file"]
        return cls.build(**_merged(fields, overrides))

    @classmethod
    def of_result(cls, result: Any) -> Self:
        """The one that a result, an xarray Dataset, was made with."""
        return cls.build(**json.loads(result.attrs["scenario"]))

    def _check(self) -> None:
        labels = [algorithm.label for algorithm in self.algorithms]
        if len(set(labels)) < len(labels):
            raise ConfigError(
                "algorithms", labels, "a different name for each: give one with name = ..."
            )
        if self.classes is not None:
            if len(self.classes) != self.agents:
                expected = f"one for each of the {self.agents} agents"
                raise ConfigError("classes", f"{len(self.classes)} entries", expected)
            if not all(0 <= c < len(self.means) for c in self.classes):
                raise ConfigError("classes", self.classes, f"0 to {len(self.means) - 1}")
        for one in self.algorithms if self.epsilon_per_agent is not None else ():
            if one.needs_one_epsilon:
                expected = "one epsilon for all, or another algorithm"
                raise ConfigError("algorithms", one.label, expected)
        if self.epsilon_per_agent is not None and len(self.epsilon_per_agent) != self.agents:
            seen = f"{len(self.epsilon_per_agent)} entries"
            raise ConfigError(
                "epsilon_per_agent", seen, f"one for each of the {self.agents} agents"
            )
        self._check_means()
        self.profiles()
        self._check_rules()
        for degree in self.graph.degrees:
            self.graph.draw(self.agents, degree, np.random.default_rng(0))

    def _check_means(self) -> None:
        """Whether numbers can tell samples apart where the means are."""
        if not all(np.isfinite(mean) for mean in self.means) or not np.isfinite(self.centre):
            raise ConfigError("means", self.means, "finite numbers")
        spacing = np.spacing(max(abs(mean) for mean in self.means))
        if any(
            (high - low) / 2**21 < spacing for low, high in (one.support for one in self.shapes)
        ):
            expected = "data whose range has room for 2^21 numbers there"
            raise ConfigError("means", self.means, expected)

    def _check_rules(self) -> None:
        """Whether a rule's own options fit this many agents."""
        for number, table in enumerate(self.algorithms):
            if isinstance(table, PaperTable):
                situation = Situation(agents=self.agents, degree=1, epsilon=1)
                try:
                    table.rule_in(situation)
                except ConfigError as error:
                    error.field = f"algorithms.{number}.{error.field}"
                    raise

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each class's data."""
        return [self.data.around(mean) for mean in self.means]

    @property
    def centre(self) -> float:
        """The middle of the means, about which the simulator computes.

        Single precision has room for the differences between means, not for what they share.
        """
        return (min(self.means) + max(self.means)) / 2

    def profiles(self) -> list[list[list[Profile]]]:
        """For each epsilon to study, for each class, every agent's profile, or one that all share.

        sigma_a and beta_a are the agent's own, as in the paper: those of its class.
        """
        shapes = self.shapes
        half_range = max(hi - lo for lo, hi in (shape.support for shape in shapes)) / 2
        if self.bounds is not None:
            lo, hi = self.bounds
            half_range = (hi - lo) / 2
            for mean, shape in zip(self.means, shapes, strict=True):
                if not lo <= mean + shape.support[0] <= mean + shape.support[1] <= hi:
                    seen = f"data of mean {mean:g} outside of [{lo:g}, {hi:g}]"
                    raise ConfigError("bounds", seen, "bounds that hold all data")
        levels = [[epsilon] for epsilon in self.epsilon]
        if self.epsilon_per_agent is not None:
            levels = [self.epsilon_per_agent]
        return [
            [
                [
                    Profile(
                        bounds=(-half_range, half_range),
                        sigma2=shape.sigma2,
                        beta=shape.beta,
                        epsilon=epsilon,
                    )
                    for epsilon in level
                ]
                for shape in shapes
            ]
            for level in levels
        ]

    @property
    def midpoints(self) -> list[float]:
        """The middle of each class's bounds: of its own data, or of the common bounds."""
        if self.bounds is not None:
            return [sum(self.bounds) / 2] * len(self.means)
        return [
            mean + sum(shape.support) / 2
            for mean, shape in zip(self.means, self.shapes, strict=True)
        ]

    def draw_classes(self, run: int) -> IntArray:
        """Where each agent belongs, in one run."""
        if self.classes is not None:
            return np.asarray(self.classes)
        generator = np.random.default_rng([self.seed, _CLASSES, run])
        return graphs.random_classes(self.agents, len(self.means), generator)

    def draw_graph(self, degree: int, batch: int) -> Graph:
        """The graph that a batch of runs shares."""
        return self.graph.draw(
            self.agents, degree, np.random.default_rng([self.seed, _GRAPH, degree, batch])
        )


_GRAPH, _CLASSES = 1, 2  # so that graphs and classes come from unrelated random streams


def _merged(fields: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Of a table, the fields given replace those that were; another kind of table, all of them."""
    merged = dict(fields)
    for key, value in overrides.items():
        before = merged.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping) and _alike(before, value):
            merged[key] = _merged(before, value)
        else:
            merged[key] = value
    return merged


def _alike(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two tables are of one kind."""
    return all(
        now.get(tag, before.get(tag)) == before.get(tag) for tag in ("family", "distribution")
    )
