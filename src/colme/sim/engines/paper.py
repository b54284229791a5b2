"""The paper's algorithm, with a decision rule of choice, in the SIMD kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from math import sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import ConfigDict, field_serializer, model_validator

from colme import plugins
from colme.errors import ConfigError, UnknownOption, one_of
from colme.graph import IntArray
from colme.rules.decision import RULES, DecisionRule, Situation, ThresholdRule
from colme.sim.engines.decisions import (
    EdgeThresholds,
    LooksAtMeans,
    PythonRule,
    probe,
    threshold_table,
)
from colme.sim.engines.engine import (
    AlgorithmTable,
    Answered,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    FloatArray,
    Record,
    Setting,
    World,
)
from colme.sim.engines.liars import Liars
from colme.sim.kernel.arrays import (
    COMMON,
    GIVEN,
    ORACLE,
    PER_EDGE,
    Algorithms,
    Array,
    Edges,
    Form,
    RunningMeans,
    aligned,
    at_most,
    new_graph,
    new_schedule,
    rows_for,
    zeros,
)
from colme.sim.kernel.recording import new_kernel_record
from colme.sim.kernel.rounds import edge_totals, new_state, new_truth, simulate, step

MESSAGES_PER_EDGE = 3
BYTES_PER_EDGE = 24
NUMBERS_PER_EDGE = 5
OWN_NUMBERS = 6
"""A mean and its count, a size, a consensus value for each neighbour and round; of each the same
kept, and whether it is accepted; and the agent's own count, sums, consensus, age."""

_ALPHA = {"theorem": (1, 0), "stepped": (10, 1)}  # stride and offset of the kernel's alpha

PYTHON_RULE_WORK = 1_500
"""Agent-rounds of the kernel that take as long as one in which a rule is asked in Python."""

EDGE_THRESHOLDS = 4_000_000
"""Kept at a time, where edges have thresholds of their own and there is a choice."""

_ANYWHERE = Situation(agents=10_000_001, degree=5, epsilon=1)  # to try a rule's options in


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRules:
    """The decision rule of one entrant, in the kernel's form."""

    kind: int
    """COMMON, PER_EDGE, GIVEN or ORACLE."""
    rule: DecisionRule | None
    z: FloatArray
    """[T + 1]: its thresholds among equals, where it has any."""
    alpha: tuple[int, int]
    """Stride and offset of its schedule."""

    def below(self, dtype: Any) -> FloatArray:
        """`z` such that what is accepted is below it, where equality is accepted too."""
        inclusive = isinstance(self.rule, ThresholdRule) and self.rule.inclusive
        return at_most(self.z, dtype) if inclusive else self.z


class Reported:
    """Running means as agents report them at one epsilon, with a noise draw for every sample.

    Those of dishonest agents are lies, and carry no noise.
    """

    def __init__(self, world: World, liars: Liars, level: int, stream: RunningMeans) -> None:
        """`stream` has the shapes."""
        self._world, self._liars = world, liars
        profiles = world.profiles(level)
        self._variance = np.array([[one.sigma2 + one.sigma2_dp for one in run] for run in profiles])
        data, motion = stream.data, stream.motion
        self._reported = stream._replace(
            data=zeros(data.shape, data.dtype),
            noise=zeros(data.shape, data.dtype),
            motion=zeros(motion.shape, motion.dtype),
        )
        self._before = np.zeros((2, *data.shape[1:]), data.dtype)

    def take(self, first: int, last: int, stream: RunningMeans) -> RunningMeans:
        """Return the rounds first..last, which the stream holds, as they are reported."""
        reported, runs, honest = self._reported, self._world.runs, self._world.honest
        for t in range(first, last + 1):
            row = (t - 1) % len(stream.data)
            data, noise = reported.data[row], reported.noise[row]
            data[:], noise[:] = stream.data[row], stream.noise[row]
            sd = np.sqrt(self._variance.T / t)
            lies = self._liars.tell(t, data[:, :runs], self._world.truth_at(t), sd)
            data[:, :runs] = np.where(honest, data[:, :runs], lies)
            noise[:, :runs] *= honest
            now = np.stack([data, noise])
            # How far any agent moved at most: rows are tested again by that.
            reported.motion[row] = np.abs(now - self._before).max(axis=1)
            self._before = now
        return reported


class PaperEngine(Engine):
    """All entrants at once, in the lanes of a register."""

    rounding: ClassVar[float] = 0.03
    bytes_of_agent: ClassVar[float] = 30
    bytes_of_neighbour: ClassVar[float] = 4

    @classmethod
    def prepare(cls, setting: Setting, entrants: Sequence[Entrant]) -> list[PreparedRules]:
        """The thresholds of every entrant: tables over rounds."""
        return [_prepare(setting, table, level) for table, level in entrants]

    def __init__(
        self, world: World, entrants: Sequence[Entrant], prepared: list[PreparedRules]
    ) -> None:
        super().__init__(world, entrants, prepared)
        setting, form = world.setting, world.form
        self._edges = new_graph(world.graph.indptr, world.graph.indices)
        self._algorithms = kernel_algorithms(
            setting, entrants, prepared, self._edges.indices.size, form
        )
        self._schedule = new_schedule(setting.rounds, setting.recorded, tolerance=setting.tolerance)
        # Consensus values begin at 0 (line 1), which is not where the data are.
        self._state = new_state(
            form,
            self._edges,
            self._algorithms,
            world.origin,
            alike=world.mean_groups,
            start=-setting.centre,
            keeps_answers=setting.keeps_answers,
        )
        self._state = self._state._replace(classes=aligned(_kinds(world), np.int32))
        self._reported: dict[int, Reported] = {}
        """By the number of the epsilon, if agents lie."""
        self._truth = new_truth(form, self._edges, world.means, world.honest_in_lanes)
        self._kernel_record = new_kernel_record(form, self._algorithms, len(setting.recorded))
        self._own_thresholds = own_thresholds(
            setting, entrants, prepared, self._edges, self._algorithms
        )
        self._python_rules = {
            k: PythonRule(
                one.rule,
                world.reported_profiles(entrants[k][1]),
                self._edges,
                self._state.given[k][:, : world.runs],
                setting.centre,
            )
            for k, one in enumerate(prepared)
            if one.kind == GIVEN and one.rule is not None
        }

    @property
    def work_per_agent_round(self) -> float:
        """One for each that is compiled; a rule asked in Python takes a thousand times as long."""
        return len(self.entrants) + PYTHON_RULE_WORK * len(self._python_rules)

    @property
    def fusible(self) -> bool:
        """Whether drawing and all rounds can be one compiled loop."""
        return not self._python_rules and self.world.course is None and self.world.liars is None

    def simulate(self, first: int, last: int, stream: RunningMeans, local_error: Array) -> None:
        """Draw the rounds first..last and go through them, with nobody else looking on."""
        stride = self._algorithms.edge_z.shape[2] if self._own_thresholds else last
        for start in range(first, last + 1, stride):
            stop = min(start + stride - 1, last)
            self._fill(start, stop)
            simulate(
                self.world.form,
                start,
                stop,
                self._edges,
                self.world.origin,
                self._truth,
                self._schedule,
                self._algorithms,
                stream,
                self._state,
                self._kernel_record,
                local_error,
            )

    def _fill(self, first: int, last: int) -> None:
        for one in self._own_thresholds.values():
            one.fill(first, last)

    def advance(self, chunk: Chunk) -> None:
        """Each algorithm through the whole chunk; one whose rule is Python's, round by round."""
        if self.world.course is not None:
            self._truth.location[:] = self.world.truth_in_lanes(chunk.last)
        self._fill(chunk.first, chunk.last)
        streams = self._streams(chunk)
        for k, (_, level) in enumerate(self.entrants):
            if k not in self._python_rules:
                self._step(k, chunk.first, chunk.last, streams[level])
                continue
            scale = self._algorithms.scale[self._algorithms.noise[k]]
            for t in range(chunk.first, chunk.last + 1):
                self._python_rules[k].decide(t, streams[level], scale)
                self._step(k, t, t, streams[level])

    def _streams(self, chunk: Chunk) -> dict[int, RunningMeans]:
        """The stream as agents report it, for each epsilon: a lie may depend on the noise."""
        world = self.world
        levels = {level for _, level in self.entrants}
        if world.liars is None:
            return dict.fromkeys(levels, chunk.stream)
        if not self._reported:
            self._reported = {
                level: Reported(world, world.liars, level, chunk.stream) for level in levels
            }
        return {
            level: reported.take(chunk.first, chunk.last, chunk.stream)
            for level, reported in self._reported.items()
        }

    def _step(self, k: int, first: int, last: int, stream: RunningMeans) -> None:
        step(
            self.world.form,
            k,
            first,
            last,
            self._edges,
            self._truth,
            self._schedule,
            self._algorithms,
            stream,
            self._state,
            self._kernel_record,
        )

    def answered(self, cell: Cell) -> Answered:
        """The kernel has them."""
        k = self.cells.index(cell)
        answers, size = self._state.answers[k], self._state.size[k].astype(np.float64)
        return self._as_answered(answers[:, : self.world.runs], size[:, : self.world.runs])

    def cost(self, cell: Cell) -> Sequence[Cost]:
        """Return the cost of a round, the same in all rounds and runs."""
        return cost_in_rounds(self.world)

    def measured(self) -> dict[Cell, Record]:
        """The kernel writes its own record."""
        mine = np.s_[..., : self.world.runs]
        within, between = edge_totals(self._truth, self._state)
        for k, cell in enumerate(self.cells):
            for name, values in self._kernel_record._asdict().items():
                self.record[cell][name] = values[k][mine]
            # Classes and graph stay, so these are the same in every recorded round.
            edges = {"within": within[mine], "between": between[mine]}
            for row in range(len(self.world.setting.recorded)):
                self.note(cell, row, edges)
        return self.record


def cost_in_rounds(world: World) -> Sequence[Cost]:
    """In each run, of three exchanges a round."""
    degree = float(world.graph.degrees.mean())
    one = Cost(
        messages=MESSAGES_PER_EDGE * degree,
        payload=BYTES_PER_EDGE * degree,
        memory=NUMBERS_PER_EDGE * degree + OWN_NUMBERS,
    )
    return [one] * world.runs


class PaperTable(AlgorithmTable):
    """Algorithm 1. What it has beside its own options are those of its rule: theta, delta, ..."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    engine: ClassVar[type[Engine]] = PaperEngine
    allows_liars: ClassVar[bool] = True
    """They tell other means than they have; the oracle knows classes, not who lies."""

    algorithm: Literal["paper"] = "paper"
    rule: str | DecisionRule = "bernstein"
    """bernstein, tight, optimistic, oracle; or one's own: an object, or module:attribute."""
    alpha: Literal["stepped", "theorem"] = "stepped"
    """How much of the past consensus keeps: as for the paper's figure, or its Theorem 1."""

    @model_validator(mode="before")
    @classmethod
    def _with_a_rule_of_ones_own(cls, fields: Any) -> Any:
        rule = fields.get("rule", "bernstein") if isinstance(fields, dict) else "bernstein"
        if isinstance(rule, str) and not plugins.is_own(rule):
            return fields
        options = {key: one for key, one in fields.items() if key not in cls.model_fields}
        kept = {key: one for key, one in fields.items() if key in cls.model_fields}
        return kept | {"rule": plugins.rule_from(rule, options)}

    @model_validator(mode="after")
    def _rule_has_these_options(self) -> Self:
        if isinstance(self.rule, str) and self.rule not in RULES:
            raise ConfigError("rule", self.rule, one_of(self.rule, [*RULES, "module:attribute"]))
        try:
            self.rule_in(_ANYWHERE)
        except UnknownOption as error:
            others = {name for kind in RULES.values() for name in signature(kind).parameters}
            if error.field in others:
                raise
            # No rule has it: a slip in a field of this table, or of the rule.
            known = [*type(self).model_fields, *error.options]
            seen = f"a field called {error.field!r}"
            raise ConfigError(error.field, seen, one_of(error.field, known)) from None
        return self

    def check(self, agents: int, dishonest: int = 0) -> None:
        """Raise ConfigError if the rule's options do not fit so many agents."""
        self.rule_in(Situation(agents=agents, degree=1, epsilon=1))

    @field_serializer("rule")
    def _plain_rule(self, rule: str | DecisionRule) -> Any:
        return rule if isinstance(rule, str) else plugins.plain_rule(rule)

    @property
    def label(self) -> str:
        """Its name, with the rule where it is not the paper's own, tuned as the paper does."""
        rule = self.rule if isinstance(self.rule, str) else plugins.rule_name(self.rule)
        return self.name or ("paper" if self.rule == "bernstein" else f"paper, {rule}")

    def rule_in(self, situation: Situation) -> DecisionRule | None:
        """The rule, tuned to this situation; None for the oracle, which needs to know the truth."""
        options = self.model_extra or {}
        if isinstance(self.rule, DecisionRule):
            return self.rule
        if self.rule == "oracle":
            for option in options:
                raise UnknownOption(option, "oracle", [])
            return None
        return RULES[self.rule].tuned(self.rule, situation, options)


def _kinds(world: World) -> IntArray:
    """[M, lanes]: where an agent's profile is in `Setting.distinct_profiles`."""
    if world.setting.claims is None:
        return world.classes
    classes = len(world.setting.distinct_profiles(0)) // 2
    kinds = world.classes if classes > 1 else np.zeros_like(world.classes)
    return np.where(world.honest_in_lanes, kinds, kinds + classes)


def _prepare(setting: Setting, table: AlgorithmTable, level: int) -> PreparedRules:
    assert isinstance(table, PaperTable)
    profiles = [one for of_class in setting.distinct_profiles(level) for one in of_class]
    strictest = min(profile.epsilon for profile in profiles)
    rule = table.rule_in(Situation(agents=setting.agents, degree=setting.degree, epsilon=strictest))
    z, alpha = np.zeros(setting.rounds + 1), _ALPHA[table.alpha]
    if rule is None:
        return PreparedRules(ORACLE, None, z, alpha)
    if not isinstance(rule, ThresholdRule):
        return PreparedRules(GIVEN, rule, z, alpha)
    try:
        z[1:] = threshold_table(rule, profiles[0], setting.rounds)
        if len(profiles) > 1:
            probe(rule, profiles)
    except LooksAtMeans:
        return PreparedRules(GIVEN, rule, z, alpha)
    return PreparedRules(COMMON if len(profiles) == 1 else PER_EDGE, rule, z, alpha)


def kernel_algorithms(
    setting: Setting,
    entrants: Sequence[Entrant],
    prepared: Sequence[PreparedRules],
    edges: int,
    form: Form,
) -> Algorithms:
    """The kernel's description of all entrants, on a graph of so many edges."""
    per_edge = any(one.kind == PER_EDGE for one in prepared)
    kinds, ends = 1, 1
    if per_edge:
        kinds = len(setting.distinct_profiles(0))
        ends = 1 if len(setting.profiles[0][0]) == 1 else max(edges, 1)
    # Enough rounds for any chunk, and for long stretches where they cost little memory.
    affordable = min(64, EDGE_THRESHOLDS // (ends * kinds**2))
    rows = max(rows_for(setting.agents, form), affordable)
    alpha = np.array([one.alpha for one in prepared], np.int32).reshape(-1, 2)
    stride, offset = alpha.T.copy()
    return Algorithms(
        rule=np.array([one.kind for one in prepared], np.int32),
        noise=np.array([level for _, level in entrants], np.int32),
        stride=stride,
        offset=offset,
        z=np.array([one.below(form[0].dtype) for one in prepared]),
        edge_z=np.zeros((len(entrants), ends, rows if per_edge else 1, kinds**2), form[0].dtype),
        kinds=kinds,
        scale=np.array(
            [
                np.broadcast_to([sqrt(p.sigma2_dp / 2) for p in level[0]], setting.agents)
                for level in setting.profiles
            ]
        ),
    )


def own_thresholds(
    setting: Setting,
    entrants: Sequence[Entrant],
    prepared: Sequence[PreparedRules],
    edges: Edges,
    algorithms: Algorithms,
) -> dict[int, EdgeThresholds]:
    """By the number of the entrant, where edges have thresholds of their own."""
    low = np.repeat(np.arange(setting.agents), np.diff(edges.indptr))
    return {
        k: EdgeThresholds(
            one.rule, setting.distinct_profiles(level), (low, edges.indices), algorithms.edge_z[k]
        )
        for k, ((_, level), one) in enumerate(zip(entrants, prepared, strict=True))
        if one.kind == PER_EDGE and isinstance(one.rule, ThresholdRule)
    }
