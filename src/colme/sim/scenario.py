"""A study as one validated object, from Python or from TOML."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.random import Generator
from pydantic import BeforeValidator, Field, model_validator

from colme.configuration import Table, read_toml, validated
from colme.errors import ConfigError
from colme.graph import Graph, IntArray
from colme.rules.consensus import AlphaSchedule, stepped_alpha, theorem_alpha
from colme.rules.decision import (
    Bernstein,
    OptimisticDistance,
    PowerTheta,
    nearest_paper_theta,
)
from colme.rules.release import Profile
from colme.sim import graphs
from colme.sim.distributions import (
    Bernoulli,
    Beta,
    Distribution,
    Empirical,
    Normal,
    Shape,
    TruncatedNormal,
    Uniform,
)


def _as_list(value: object) -> object:
    return list(value) if isinstance(value, list | tuple) else [value]


OneOrMore = BeforeValidator(_as_list)
Epsilon = Annotated[float, Field(gt=0)]


class GraphSpec(Table):
    """Who can talk to whom."""

    family: Literal[
        "random-regular", "erdos-renyi", "small-world", "scale-free", "grid", "complete", "edges"
    ] = "random-regular"
    degree: Annotated[list[int], OneOrMore] = Field([5], min_length=1)
    rewired: float = Field(0.1, ge=0, le=1)
    file: Path | None = None
    edges: list[tuple[int, int]] | None = None

    @property
    def degrees(self) -> list[int]:
        """The degrees to study, for families that have one; else a single placeholder."""
        return self.degree if self.family not in ("grid", "complete", "edges") else [0]

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """A graph of this family."""
        match self.family:
            case "random-regular":
                return graphs.random_regular(agents, degree, generator)
            case "erdos-renyi":
                return graphs.erdos_renyi(agents, degree, generator)
            case "small-world":
                return graphs.small_world(agents, degree, self.rewired, generator)
            case "scale-free":
                return graphs.scale_free(agents, degree, generator)
            case "grid":
                return graphs.grid(agents)
            case "complete":
                return graphs.complete(agents)
            case "edges":
                if self.edges is not None:
                    return Graph.from_edges(self.edges, agents)
                if self.file is not None:
                    return graphs.read_edges(self.file, agents)
                raise ConfigError("graph", "family 'edges'", "a file or a list of edges with it")


class DataSpec(Table):
    """What the agents see."""

    distribution: Literal[
        "uniform", "bernoulli", "beta", "normal", "truncated-normal", "empirical"
    ] = "uniform"
    sigma: float = 0.5
    concentration: float = 2.0
    half_range: float = 1.0
    values: list[float] | None = None
    file: Path | None = None

    def resolved(self) -> Distribution:
        """The distribution itself."""
        match self.distribution:
            case "uniform":
                return Uniform(self.sigma)
            case "bernoulli":
                return Bernoulli()
            case "beta":
                return Beta(self.concentration)
            case "normal":
                return Normal(self.sigma)
            case "truncated-normal":
                return TruncatedNormal(self.sigma, self.half_range)
            case "empirical":
                return Empirical(tuple(self._sample()))

    def _sample(self) -> list[float]:
        if self.values is not None:
            return self.values
        if self.file is None:
            raise ConfigError(
                "data", "distribution 'empirical'", "a file or a list of values with it"
            )
        try:
            return [float(word) for word in self.file.read_text().split()]
        except OSError as error:
            raise ConfigError("data.file", str(self.file), f"a file to read ({error})") from None
        except ValueError as error:
            raise ConfigError("data.file", str(self.file), f"numbers only ({error})") from None


class ThetaSpec(Table):
    """theta_t = min(2, scale / t^exponent)."""

    scale: float = Field(gt=0)
    exponent: float = Field(ge=0)


class AlgorithmSpec(Table):
    """How the agents decide and mix: as recommended, Private-C-ColME with a rule, or a baseline.

    theta is for the Bernstein rule and Private-ColME, delta for all others that decide but the
    recommended one, which has nothing to tune: only a variance that is known or comes with the
    releases. Of the baselines, ColME has weights and may be restricted, C-ColME may have a global
    reset, B-ColME has a depth. `paper` is the paper's own algorithm: its Bernstein rule.
    """

    name: str = ""
    rule: Literal[
        "recommended",
        "paper",
        "bernstein",
        "optimistic",
        "oracle",
        "local",
        "ideal",
        "colme",
        "c-colme",
        "b-colme",
        "private-colme",
    ] = "recommended"
    theta: Literal["paper"] | ThetaSpec = "paper"
    delta: float = Field(1.0, gt=0, le=1)
    alpha: Literal["stepped", "theorem"] = "stepped"
    release: Literal["every-sample"] = "every-sample"
    weights: Literal["simple", "soft", "aggressive"] = "simple"
    restricted: bool = False
    global_reset: bool = False
    depth: int = Field(3, ge=0, le=20)
    variance: Literal["known", "released"] = "known"

    @model_validator(mode="before")
    @classmethod
    def _paper_is_its_bernstein_rule(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and fields.get("rule") == "paper":
            return {"name": "paper"} | fields | {"rule": "bernstein"}
        return fields

    @property
    def label(self) -> str:
        """What the results call it."""
        return self.name or self.rule

    @property
    def in_kernel(self) -> bool:
        """Whether it is Private-C-ColME."""
        return self.rule in ("oracle", "bernstein", "optimistic")

    @property
    def recommended(self) -> bool:
        """Whether it is the recommended one; what is neither is a baseline."""
        return self.rule == "recommended"

    @property
    def private(self) -> bool:
        """Whether its noise depends on epsilon."""
        return self.in_kernel or self.recommended or self.rule == "private-colme"

    @property
    def alpha_schedule(self) -> AlphaSchedule:
        """The schedule itself."""
        return {"stepped": stepped_alpha, "theorem": theorem_alpha}[self.alpha]

    def bernstein(self, degree: float, epsilon: float) -> Bernstein:
        """The Bernstein rule with its theta for this degree and epsilon."""
        if isinstance(self.theta, ThetaSpec):
            return Bernstein(PowerTheta(self.theta.scale, self.theta.exponent))
        return Bernstein(nearest_paper_theta(degree, epsilon))

    def optimistic(self, agents: int, degree: int) -> OptimisticDistance:
        """The optimistic distance rule for a network of this size."""
        return OptimisticDistance(degree=degree, agents=agents, delta=self.delta)


class Scenario(Table):
    """Everything that a simulation depends on. The same scenario gives the same numbers."""

    agents: int = Field(200, ge=2, le=10_000_000)
    graph: GraphSpec = GraphSpec()
    means: list[float] = Field([0.2, 0.4, 0.8], min_length=1)
    classes: list[int] | None = None
    data: DataSpec = DataSpec()
    bounds: tuple[float, float] | None = None
    epsilon: Annotated[list[Epsilon], OneOrMore] = Field([1.0], min_length=1)
    epsilon_per_agent: list[Epsilon] | None = None
    rounds: int = Field(1000, ge=1)
    runs: int = Field(32, ge=1)
    seed: int = Field(1, ge=0)
    tolerance: float = Field(0.05, gt=0)
    algorithms: list[AlgorithmSpec] = Field([AlgorithmSpec()], min_length=1)

    @classmethod
    def build(cls, **fields: Any) -> Self:
        """From keyword arguments; `graph` may also be a Graph or a networkx graph."""
        graph = fields.get("graph")
        if graph is not None and not isinstance(graph, Graph | GraphSpec | Mapping):
            graph = Graph.from_networkx(graph)
        if isinstance(graph, Graph):
            edges = [(a, b) for a in range(graph.agents) for b in graph.neighbours(a) if a < b]
            fields |= {"graph": GraphSpec(family="edges", edges=edges), "agents": graph.agents}
        scenario = validated(cls, fields)
        scenario._check()
        return scenario

    def changed(self, **overrides: Any) -> Self:
        """The same with some fields replaced; of a table, only those given."""
        return self.build(**_merged(self.model_dump(), overrides))

    @classmethod
    def load(cls, path: Path, **overrides: Any) -> Self:
        """From a TOML file; file names in it are relative to it."""
        fields = read_toml("scenario", path)
        for table in ("graph", "data"):
            spec = fields.get(table)
            if isinstance(spec, dict) and isinstance(spec.get("file"), str):
                spec["file"] = path.parent / spec["file"]
        return cls.build(**_merged(fields, overrides))

    def _check(self) -> None:
        labels = [algorithm.label for algorithm in self.algorithms]
        if len(set(labels)) < len(labels):
            raise ConfigError("algorithms", labels, "a different name for each")
        if self.classes is not None:
            if len(self.classes) != self.agents:
                expected = f"one for each of the {self.agents} agents"
                raise ConfigError("classes", f"{len(self.classes)} entries", expected)
            if not all(0 <= c < len(self.means) for c in self.classes):
                raise ConfigError("classes", self.classes, f"0 to {len(self.means) - 1}")
        if self.epsilon_per_agent is not None and any(
            algorithm.rule == "private-colme" for algorithm in self.algorithms
        ):
            raise ConfigError("algorithms", "private-colme", "one epsilon for all, or another rule")
        if self.epsilon_per_agent is not None and len(self.epsilon_per_agent) != self.agents:
            seen = f"{len(self.epsilon_per_agent)} entries"
            raise ConfigError(
                "epsilon_per_agent", seen, f"one for each of the {self.agents} agents"
            )
        self.profiles()
        for degree in self.graph.degrees:
            self.graph.draw(self.agents, degree, np.random.default_rng(0))

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each class's data."""
        distribution = self.data.resolved()
        return [distribution.around(mean) for mean in self.means]

    def profiles(self) -> list[list[Profile]]:
        """For each epsilon to study, the profile of every agent, or one that all share.

        Where classes differ in variance or range, the largest is what is public about all of them.
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
                Profile(
                    bounds=(-half_range, half_range),
                    sigma2=max(shape.sigma2 for shape in shapes),
                    beta=max(shape.beta for shape in shapes),
                    epsilon=epsilon,
                )
                for epsilon in level
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
    merged = dict(fields)
    for key, value in overrides.items():
        nested = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if nested else value
    return merged
