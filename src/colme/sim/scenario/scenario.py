"""A simulation as one validated object, from Python or from TOML, and its algorithms.

Each algorithm is a table with the options that it has, and no others.
"""

import hashlib
import json
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Annotated, Any, Self, get_args

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    ValidationError,
    model_validator,
)

from colme import plugins
from colme.algorithms import ALIASES, resolved
from colme.config import KindBy, Table, first_of, plain, read_toml, validated
from colme.errors import ConfigError, one_of
from colme.experiment.streams import RandomStream, generator
from colme.graph import Graph, IntArray
from colme.protocol.algorithm import Algorithm
from colme.protocol.rounds.paper import Paper
from colme.relay import Relay
from colme.rules.consensus import stepped_alpha, theorem_alpha
from colme.rules.decision import RULES, DecisionRule
from colme.rules.release import Profile, largest_variance
from colme.sim.engines import TABLES, AlgorithmTable, BoolArray, FloatArray, OwnTable
from colme.sim.graphs import (
    Family,
    GraphFamily,
    Listed,
    OneOrMore,
    RandomRegular,
    random_classes,
)
from colme.sim.scenario.distributions import Data, Empirical, Shape, Uniform, WithSigma
from colme.sim.scenario.liars import AnyLying
from colme.sim.scenario.means import AnyDrift, DrawnMeans, Jump, Means

Epsilon = Annotated[float, Field(gt=0)]
Pace = Annotated[float, Field(gt=0, le=1)]


_BY_NAME: dict[str, type[AlgorithmTable]] = {
    get_args(one.model_fields["algorithm"].annotation)[0]: one for one in TABLES
}
"""Beside these there is whatever has the form module:attribute."""

NAMES = [*ALIASES, *_BY_NAME, *RULES]
"""All that an algorithm may be called. A rule's name stands for the paper's algorithm with it."""

OWN = "module:attribute"


def as_table(value: Any) -> AlgorithmTable:
    """Return the table of a name, an `Algorithm`, a custom object, or fields."""
    if isinstance(value, AlgorithmTable):
        return value
    fields = _as_fields(value)
    if isinstance(fields["algorithm"], str) and fields["algorithm"] in _BY_NAME:
        table: AlgorithmTable = KindBy("algorithm").pick(_BY_NAME, fields)
        return table
    return validated(OwnTable, fields)


def _as_fields(value: Any) -> dict[str, Any]:
    if isinstance(value, Algorithm):
        return _fields_of(value)
    if isinstance(value, str | DecisionRule) or callable(value):
        value = {"algorithm": value}
    if not isinstance(value, dict):
        raise ConfigError("algorithm", value, f"one of {', '.join(NAMES)}, a table or an object")
    fields = {key: one for key, one in value.items() if one is not None}
    if isinstance(fields.get("rule"), str) and fields["rule"] in (*ALIASES, *_BY_NAME):
        # Version 0.1.0 had one word for both, and recommended another algorithm than today's.
        expected = f'a decision rule; for this algorithm, algorithm = "{fields["rule"]}" alone'
        raise ConfigError("rule", fields["rule"], expected)
    algorithm = fields.get("algorithm")
    if algorithm is None:
        named = isinstance(fields.get("rule"), str) and fields["rule"] in RULES
        algorithm = fields["rule"] if named else "paper" if "rule" in fields else "recommended"
    if isinstance(algorithm, str) and algorithm in RULES:
        if fields.get("rule", algorithm) != algorithm:
            expected = f"no rule: {algorithm!r} is the paper's algorithm with that rule"
            raise ConfigError("rule", fields["rule"], expected)
        fields = {"name": algorithm, "rule": algorithm} | fields
        algorithm = "paper"
    if _is_rule(algorithm):
        return {**fields, "algorithm": "paper", "rule": algorithm}
    if isinstance(algorithm, str):
        algorithm = resolved(algorithm)
        if algorithm not in _BY_NAME and not plugins.is_own(algorithm):
            raise ConfigError("algorithm", algorithm, one_of(algorithm, [*NAMES, OWN]))
    return fields | {"algorithm": algorithm}


def _is_rule(value: Any) -> bool:
    """Whether it is a rule of the user's own, which the paper's algorithm can decide by."""
    found = plugins.load("algorithm", value) if plugins.is_own(value) else value
    return isinstance(found, DecisionRule) or (
        isinstance(found, type) and issubclass(found, DecisionRule)
    )


def _fields_of(algorithm: Algorithm) -> dict[str, Any]:
    """An object of the library, as far as the simulator can do what it does."""
    match algorithm:
        case Paper(rule=rule, alpha=alpha) if algorithm == Paper(rule=rule, alpha=alpha):
            names = {stepped_alpha: "stepped", theorem_alpha: "theorem"}
            if alpha in names:
                return {"algorithm": "paper", "rule": rule, "alpha": names[alpha]}
        case Relay(release_squares=squares, capacity=capacity):
            variance = "released" if squares else "known"
            return {"algorithm": "relay", "variance": variance, "capacity": capacity}
    expected = "Paper with one of its own alphas, or Relay"
    raise ConfigError("algorithm", algorithm, expected)


AnyAlgorithm = Annotated[SerializeAsAny[AlgorithmTable], BeforeValidator(as_table)]
"""One of the tables, by its name."""


class Scenario(Table):
    """Everything that a simulation depends on. The same scenario gives the same numbers."""

    agents: int = Field(200, ge=2, le=10_000_000)
    """How many."""
    graph: GraphFamily = RandomRegular()
    """Who is whose neighbour; drawn anew for each batch of runs."""
    means: Means = [0.2, 0.4, 0.8]  # noqa: RUF012 (frozen, and copied by pydantic)
    """Of the classes; or a table that says how everybody's own mean is drawn."""
    classes: list[int] | None = None
    """The class of each agent, 0 for the first mean; if not given, drawn anew for each run."""
    data: Data = Uniform()
    """How samples scatter around a mean."""
    bounds: tuple[float, float] | None = None
    """Common to all. If not given, those of each class's own data, as in the paper: as wide as they
    must be and no wider, around the class's mean."""
    declared: float = Field(1.0, gt=0, lt=inf)
    """The variance that agents declare, as a multiple of the true one."""
    epsilon: Annotated[list[Epsilon], OneOrMore] = Field([1.0], min_length=1)
    """Of every sample (pure, event level, replace-one); several are studied one by one."""
    epsilon_per_agent: list[Epsilon] | None = None
    """Everybody's own, instead."""
    pace_per_agent: list[Pace] | None = None
    """Samples a round: agent a has ceil(pace_a t) of them after round t. One each if not given."""
    liars: AnyLying | None = None
    """Who does not tell what it should, and how; errors are those of the honest."""
    drift: AnyDrift | None = None
    """How means move while they are learned."""
    rounds: int = Field(1000, ge=1)
    """How long: a sample each in every round, unless agents have paces of their own."""
    recorded: Annotated[int, Field(ge=2)] | list[int] | None = None
    """At most so many rounds, evenly spaced on a log scale, or which; if not given, about 150."""
    eventful: bool = True
    """Whether rounds in which something happens, a release or a jump, are recorded besides."""
    runs: int = Field(32, ge=1)
    """How often, with other data, noise and classes."""
    seed: int = Field(1, ge=0)
    """The same scenario with the same seed gives the same numbers."""
    tolerance: float = Field(0.05, gt=0)
    """An answer this near to the truth counts as close to it."""
    algorithms: list[AnyAlgorithm] = Field(
        default_factory=lambda: [as_table("recommended")], min_length=1
    )
    """Those to compare on the same data: names, or tables."""

    def __init__(self, **fields: Any) -> None:
        """Validate keyword arguments; a ConfigError names the first field that is wrong.

        `graph` may also be a Graph or a networkx graph. Arrays and ranges are as good as lists,
        texts as good as paths.
        """
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise first_of(error, type(self)) from None

    @classmethod
    def build(cls, **fields: Any) -> Self:
        """Return `Scenario(**fields)`."""
        return cls(**fields)

    @model_validator(mode="before")
    @classmethod
    def _from_objects(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        graph = given.get("graph")
        if graph is not None and not isinstance(graph, Graph | Family | Mapping | str):
            graph = Graph.from_networkx(graph)
        if isinstance(graph, Graph):
            listed = Listed(family="edges", edges=graph.edges, labels=_names(graph))
            given = {**given, "graph": listed, "agents": graph.agents}
        return plain(given)

    def changed(self, **overrides: Any) -> Self:
        """The same with some fields replaced; of a table, only those given."""
        # The algorithms as they are: an object of one's own need not have a name to be found by.
        fields = self.model_dump(exclude={"algorithms"}) | {"algorithms": self.algorithms}
        return self.build(**_merged(fields, overrides))

    @classmethod
    def load(cls, path: Path | str, **overrides: Any) -> Self:
        """From a TOML file; files and modules that it names are looked for beside it."""
        path = Path(path)
        fields = read_toml("scenario", path)
        plugins.search_in(path.parent)
        for table in ("graph", "data"):
            spec = fields.get(table)
            if isinstance(spec, dict) and isinstance(spec.get("file"), str):
                spec["file"] = path.parent / spec["file"]
        return cls.build(**_merged(fields, overrides))

    @classmethod
    def of_result(cls, result: Any) -> Self:
        """The one that a result, an xarray Dataset, was made with."""
        return cls.build(**json.loads(result.attrs["scenario"]))

    def identity_fields(self) -> dict[str, Any]:
        """Return all that results depend on, as plain data. Two scenarios with equal ones are one.

        Instead of a file's name they have a digest of its contents. `sources` has a digest of the
        source of every module with a rule, baseline or engine of the user's own.
        """
        fields: dict[str, Any] = json.loads(self.model_dump_json())
        for name, table in (("graph", self.graph), ("data", self.data)):
            if isinstance(table, Listed | Empirical) and table.file is not None:
                digest = hashlib.sha256(json.dumps(table.contents).encode()).hexdigest()
                fields[name]["file"] = f"sha256 {digest}"
        return fields | {"sources": plugins.sources(fields["algorithms"])}

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Check what fields ask of each other."""
        labels = [algorithm.label for algorithm in self.algorithms]
        if len(set(labels)) < len(labels):
            raise ConfigError(
                "algorithms", labels, "a different name for each: give one with name = ..."
            )
        for field, values in (("epsilon", self.epsilon), ("degree", self.graph.degrees)):
            if len(set(values)) < len(values):
                raise ConfigError(field, values, "every one once")
        self._check_agents()
        self._check_algorithms()
        self._check_means()
        self._check_unkind()
        self.profiles()
        self._check_options()
        for degree in self.graph.degrees:
            self.graph.check(self.agents, degree)
        return self

    def _check_agents(self) -> None:
        """Whether what each agent has of its own is there for each."""
        for field in ("classes", "epsilon_per_agent", "pace_per_agent"):
            given = getattr(self, field)
            if given is not None and len(given) != self.agents:
                expected = f"one for each of the {self.agents} agents"
                raise ConfigError(field, f"{len(given)} entries", expected)
        if self.classes is not None:
            if isinstance(self.means, DrawnMeans):
                expected = "none, where everybody's mean is drawn"
                raise ConfigError("classes", f"{len(self.classes)} entries", expected)
            if not all(0 <= c < len(self.means) for c in self.classes):
                raise ConfigError("classes", self.classes, f"0 to {len(self.means) - 1}")

    def _check_algorithms(self) -> None:
        """Whether every algorithm can do what is asked of it."""
        for one in self.algorithms:
            for asked, allowed, expected in (
                (
                    self.epsilon_per_agent,
                    not one.needs_one_epsilon,
                    "one epsilon for all, or another algorithm",
                ),
                (
                    self.pace_per_agent,
                    one.allows_paces,
                    "one sample a round for all, or an algorithm that needs no rounds",
                ),
                (
                    self.liars,
                    one.allows_liars,
                    "no liars, or an algorithm for which it is known what they do",
                ),
            ):
                if asked is not None and not allowed:
                    raise ConfigError("algorithms", one.label, expected)

    def _check_unkind(self) -> None:
        """Whether liars and drift leave something to measure."""
        if self.liars is not None and self.liars.among(self.agents) >= self.agents:
            seen = f"{self.liars.among(self.agents)} liars"
            raise ConfigError("liars", seen, f"fewer than the {self.agents} agents")
        if isinstance(self.drift, Jump) and self.drift.by is None and self.reach == 0:
            raise ConfigError("drift.by", None, "a distance: there is no other class to jump to")
        if isinstance(self.recorded, list) and not (
            self.recorded and all(1 <= t <= self.rounds for t in self.recorded)
        ):
            raise ConfigError("recorded", self.recorded, f"rounds from 1 to {self.rounds}")
        if not self.eventful and self.recorded is None:
            raise ConfigError("eventful", False, "so many recorded rounds beside it")

    def _check_means(self) -> None:
        """Whether the data go with the means, and numbers can tell samples apart there."""
        if isinstance(self.means, DrawnMeans) and self.data.follows_mean:
            expected = "data of the same shape for every mean, or a list of means"
            raise ConfigError("data.distribution", type(self.data).__name__.lower(), expected)
        sigma = self.data.sigma if isinstance(self.data, WithSigma) else None
        if isinstance(sigma, list) and len(sigma) != len(self.class_means):
            expected = f"one for all, or one for each of the {len(self.class_means)} classes"
            raise ConfigError("data.sigma", f"{len(sigma)} entries", expected)
        ends = self._ends_of_means
        if not all(np.isfinite(mean) for mean in ends) or not np.isfinite(self.centre):
            raise ConfigError("means", self.means, "finite numbers")
        spacing = np.spacing(max(abs(mean) for mean in ends))
        if any(
            (high - low) / 2**21 < spacing for low, high in (one.support for one in self.shapes)
        ):
            expected = "data whose range has room for 2^21 numbers there"
            raise ConfigError("means", self.means, expected)

    def _check_options(self) -> None:
        """Whether an algorithm's own options fit this many agents."""
        for number, table in enumerate(self.algorithms):
            try:
                table.check(self.agents, self.liars.among(self.agents) if self.liars else 0)
            except ConfigError as error:
                error.field = f"algorithms.{number}.{error.field}"
                raise

    @property
    def class_means(self) -> list[float]:
        """Of the classes; where everybody's is drawn there is one class, around the centre."""
        return [self.means.centre] if isinstance(self.means, DrawnMeans) else self.means

    @property
    def _ends_of_means(self) -> list[float]:
        """The least and the largest that can occur are among them."""
        if isinstance(self.means, DrawnMeans):
            return [self.means.centre - self.means.reach, self.means.centre + self.means.reach]
        return self.means

    @property
    def largest_degree(self) -> float:
        """Neighbours of an agent, about, on the densest of the graphs."""
        return max(self.graph.mean_degree(self.agents, one) for one in self.graph.degrees)

    @property
    def reach(self) -> float:
        """How far from the centre a mean can be, before any drift."""
        return max(abs(mean - self.centre) for mean in self._ends_of_means)

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each class's data."""
        return [self.data.around(mean, number) for number, mean in enumerate(self.class_means)]

    @property
    def centre(self) -> float:
        """The middle of the means, about which the simulator computes.

        Single precision has room for the differences between means, not for what they share.
        """
        return (min(self._ends_of_means) + max(self._ends_of_means)) / 2

    def profiles(self) -> list[list[list[Profile]]]:
        """For each epsilon to study, for each class, every agent's profile, or one that all share.

        sigma_a and beta_a are the agent's own, as in the paper: those of its class. Classes that
        are alike share a list, so that many of them take no more room.
        """
        shapes = self.shapes
        half_range = max(hi - lo for lo, hi in (shape.support for shape in shapes)) / 2
        if self.bounds is not None:
            lo, hi = self.bounds
            half_range = (hi - lo) / 2
            self._check_bounds(shapes)
        levels = [[epsilon] for epsilon in self.epsilon]
        if self.epsilon_per_agent is not None:
            levels = [self.epsilon_per_agent]
        kinds = {(shape.sigma2, shape.beta): shape for shape in shapes}
        of_kinds = [
            {
                kind: [self._profile(shape, half_range, epsilon) for epsilon in level]
                for kind, shape in kinds.items()
            }
            for level in levels
        ]
        return [[of[shape.sigma2, shape.beta] for shape in shapes] for of in of_kinds]

    def _profile(self, shape: Shape, half_range: float, epsilon: float) -> Profile:
        profile = Profile(
            bounds=(-half_range, half_range), sigma2=shape.sigma2, beta=shape.beta, epsilon=epsilon
        )
        if self.declared == 1:
            return profile
        largest = largest_variance(*profile.bounds) / shape.sigma2
        if self.declared > largest:
            raise ConfigError("declared", self.declared, f"at most {largest:g}, as bounds allow")
        return profile.with_variance(self.declared * shape.sigma2)

    def _check_bounds(self, shapes: list[Shape]) -> None:
        assert self.bounds is not None
        lo, hi = self.bounds
        means = self._ends_of_means
        each = zip(means, shapes * len(means) if len(shapes) == 1 else shapes, strict=True)
        for mean, shape in each:
            if not lo <= mean + shape.support[0] <= mean + shape.support[1] <= hi:
                seen = f"data of mean {mean:g} outside of [{lo:g}, {hi:g}]"
                raise ConfigError("bounds", seen, "bounds that hold all data")

    @property
    def midpoints(self) -> list[float]:
        """The middle of each class's bounds: of its own data, or of the common bounds."""
        if self.bounds is not None:
            return [sum(self.bounds) / 2] * len(self.class_means)
        return [
            mean + sum(shape.support) / 2
            for mean, shape in zip(self.class_means, self.shapes, strict=True)
        ]

    def draw_classes(self, run: int) -> IntArray:
        """Where each agent belongs, in one run."""
        if self.classes is not None:
            return np.asarray(self.classes)
        if isinstance(self.means, DrawnMeans):
            return np.zeros(self.agents, np.int64)
        drawn = generator(self.seed, RandomStream.CLASSES, run)
        return random_classes(self.agents, len(self.means), drawn)

    def draw_means(self, run: int) -> FloatArray:
        """Everybody's mean at the beginning of one run."""
        if isinstance(self.means, DrawnMeans):
            return self.means.draw(self.agents, generator(self.seed, RandomStream.MEANS, run))
        return np.asarray(self.means)[self.draw_classes(run)]

    def draw_honest(self, run: int) -> BoolArray:
        """Who does not lie, in one run."""
        honest = np.ones(self.agents, np.bool_)
        if self.liars is not None:
            lots = generator(self.seed, RandomStream.LIARS, run)
            honest[lots.choice(self.agents, self.liars.among(self.agents), replace=False)] = 0
        return honest

    def draw_graph(self, degree: int, batch: int) -> Graph:
        """The graph that a batch of runs shares."""
        drawn = generator(self.seed, RandomStream.GRAPH, degree, batch)
        return self.graph.draw(self.agents, degree, drawn)


def _names(graph: Graph) -> list[int] | list[str] | None:
    """Of the agents, where they are not just their numbers."""
    if graph.labels is None or graph.labels == tuple(range(graph.agents)):
        return None
    return list(graph.labels)  # type: ignore[return-value]  # of one kind, as they were


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
        now.get(tag, before.get(tag)) == before.get(tag)
        for tag in ("family", "distribution", "kind")
    )
