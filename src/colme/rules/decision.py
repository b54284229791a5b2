"""Is this neighbour in my class? Every rule is symmetric in the two releases."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import inf, log, sqrt
from typing import Any, ClassVar, Self

from colme.errors import ConfigError, UnknownOption
from colme.rules.bernstein import larger, root, simple_threshold, threshold
from colme.rules.release import Profile, Release

Theta = Callable[[int], float]
"""The level of a test, by the time t."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a rule may be tuned to: how many agents, how many neighbours each, their privacy."""

    agents: int
    degree: float
    epsilon: float


def made_with(kind: Callable[..., Any], name: str, options: Mapping[str, Any]) -> Any:
    """Return what a class or a function of this name makes of options; errors are about these."""
    known = list(inspect.signature(kind).parameters)
    for option in options:
        if option not in known:
            raise UnknownOption(option, name, known)
    try:
        return kind(**options)
    except TypeError as error:
        seen = f"{name} with {dict(options)}"
        raise ConfigError("rule", seen, f"other options ({error})") from None


class DecisionRule(ABC):
    """chi of Sec. III-C. Symmetric: both ends of an edge decide alike, from the same releases.

    A rule of one's own is a subclass, most often of `ThresholdRule`; its fields, those of a frozen
    dataclass, are part of what neighbours have to agree on.
    """

    __slots__ = ()

    @classmethod
    def tuned(cls, name: str, situation: Situation, options: Mapping[str, Any]) -> Self:
        """The rule with these fields, as a configuration has them; `name` is its name there.

        What they leave open is as suits the situation.
        """
        given = {
            option: theta_from(value) if option == "theta" else value
            for option, value in options.items()
            if (option, value) != ("theta", "paper")
        }
        rule: Self = made_with(cls, name, cls.suited(situation) | given)
        return rule

    @classmethod
    def suited(cls, situation: Situation) -> dict[str, Any]:
        """Fields that follow from the situation where nobody gives them."""
        return {}

    @abstractmethod
    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        """Whether `peer` looks to be of my class."""

    def parameter(self, profile: Profile, count: int, blocks: int) -> float:
        """The Bernstein parameter that a release has to carry for this rule: Lemma 3's."""
        return profile.released_parameter(count, blocks)


class ThresholdRule(DecisionRule):
    """Every rule but the oracle: two means that differ by less than a threshold look alike."""

    __slots__ = ()

    inclusive: ClassVar[bool] = False
    """Whether a difference of exactly the threshold is accepted."""

    @abstractmethod
    def threshold(self, mine: Release, theirs: Release) -> float:
        """z, from what the two releases carry. One that does not look at their means is a table
        over rounds for the simulator, which then runs at full speed."""

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        """|difference| < z, or <= z where the rule is inclusive."""
        distance, z = abs(mine.mean - theirs.mean), self.threshold(mine, theirs)
        return distance <= z if self.inclusive else distance < z


@dataclass(frozen=True, slots=True)
class PowerTheta:
    """theta_t = min(2, scale / t^exponent): slow enough that z vanishes, yet tending to 0."""

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        if not 0 < self.scale < inf:
            raise ConfigError("theta.scale", self.scale, "a finite number greater than 0")
        if not 0 <= self.exponent < inf:
            raise ConfigError("theta.exponent", self.exponent, "a finite number, at least 0")

    def __call__(self, t: int) -> float:
        """theta at time t."""
        return min(2.0, self.scale / float(t**self.exponent))


INVERSE_THETA = PowerTheta(1, 1)
"""theta_t = 1/t: needs no tuning."""

PAPER_THETA: Mapping[tuple[int, float], PowerTheta] = {
    (5, 1): PowerTheta(3, 1 / 8),
    (5, 2): PowerTheta(3, 1 / 7),
    (5, 4): PowerTheta(3, 1 / 7),
    (5, inf): PowerTheta(3, 1 / 7),
    (20, 1): PowerTheta(3, 1 / 7),
    (20, 2): PowerTheta(3, 1 / 6),
    (20, 4): PowerTheta(3, 1 / 5),
    (20, inf): PowerTheta(3, 1 / 5),
}
"""Sec. V: the schedules fine-tuned for Figure 1, by (degree r, epsilon)."""


def paper_theta(degree: int, epsilon: float) -> PowerTheta:
    """The schedule of Sec. V for a degree and an epsilon that Figure 1 shows."""
    try:
        return PAPER_THETA[degree, epsilon]
    except KeyError:
        known = ", ".join(f"({r}, {e:g})" for r, e in PAPER_THETA)
        raise ConfigError("(degree, epsilon)", (degree, epsilon), f"one of {known}") from None


def nearest_paper_theta(degree: float, epsilon: float) -> PowerTheta:
    """The schedule of Sec. V; beyond its table, the entry nearest in epsilon and then in degree."""

    def distance(entry: tuple[int, float]) -> tuple[float, float]:
        known_degree, known_epsilon = entry
        return abs(1 / epsilon - 1 / known_epsilon), abs(log(max(degree, 1) / known_degree))

    return PAPER_THETA[min(PAPER_THETA, key=distance)]


def theta_from(value: Any) -> Theta:
    """A schedule as configurations have it, scale and exponent, or itself."""
    if callable(value):
        schedule: Theta = value
        return schedule
    if not isinstance(value, Mapping) or value.keys() != {"scale", "exponent"}:
        raise ConfigError("theta", value, "'paper', or a table with scale and exponent")
    for option, seen in value.items():
        if isinstance(seen, bool) or not isinstance(seen, int | float):
            raise ConfigError(f"theta.{option}", seen, "a number")
    return PowerTheta(float(value["scale"]), float(value["exponent"]))


@dataclass(frozen=True, slots=True)
class Bernstein(ThresholdRule):
    """The paper's hypothesis test: |difference| < z_theta (Sec. III-C.1)."""

    theta: Theta

    @classmethod
    def suited(cls, situation: Situation) -> dict[str, Any]:
        """theta of Sec. V, or of the nearest entry of its table."""
        return {"theta": nearest_paper_theta(situation.degree, situation.epsilon)}

    def threshold(self, mine: Release, theirs: Release) -> float:
        """z of Sec. III-C.1, with each side's own variance and parameter."""
        # One t for a pair: the smaller count, so that both ends agree on theta.
        theta = self.theta(min(mine.count, theirs.count))
        return simple_threshold(theta, mine.variance + theirs.variance, mine.beta + theirs.beta)


@dataclass(frozen=True, slots=True)
class TightBernstein(ThresholdRule):
    """The first threshold of Sec. II-D, with parameters that do not add up: no tuning needed.

    With v the variances and b the larger of the tight parameters, z = b s + sqrt(b^2 s^2 + 2 (v_a +
    v_b) s) holds the type-I error at theta, s = ln(2 / theta); theta = 1 / t serves everywhere.
    """

    theta: Theta = INVERSE_THETA

    def threshold(self, mine: Release, theirs: Release) -> float:
        """z, from releases that carry their tight parameter."""
        theta = self.theta(min(mine.count, theirs.count))
        return threshold(theta, mine.variance + theirs.variance, larger(mine.beta, theirs.beta))

    def parameter(self, profile: Profile, count: int, blocks: int) -> float:
        """What a release has to carry for this rule."""
        return profile.tight_parameter(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimisticDistance(ThresholdRule):
    """|difference| - beta_delta(a) - beta_delta(b) <= 0, adjusted for noise (Sec. III-C.2)."""

    inclusive: ClassVar[bool] = True

    degree: int
    agents: int
    delta: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.delta <= 1:
            raise ConfigError("delta", self.delta, "a number in (0, 1]")
        if not 1 <= self.degree < self.agents:
            raise ConfigError("degree", self.degree, f"1 to agents - 1 = {self.agents - 1}")

    @classmethod
    def suited(cls, situation: Situation) -> dict[str, Any]:
        """For a network of this size; where degrees differ, their mean is r."""
        return {"degree": max(1, round(situation.degree)), "agents": situation.agents}

    def radius(self, release: Release) -> float:
        """beta-tilde_delta of Sec. III-C.2; `variance` is its (sigma2 + sigma2_dp) / t."""
        t = release.count
        gamma = self.delta / (4 * self.degree * self.agents)
        return root(2 * release.variance * (1 + 1 / t) * log(sqrt(t + 1) / gamma))

    def threshold(self, mine: Release, theirs: Release) -> float:
        """beta_delta(a) + beta_delta(b)."""
        return self.radius(mine) + self.radius(theirs)


@dataclass(frozen=True, slots=True)
class Oracle(DecisionRule):
    """Knows the truth: the benchmark of Theorem 1. For simulation only."""

    classmates: frozenset[str]

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        """Whether the peer is in my class."""
        return peer in self.classmates


_TRIALS = [
    Release(count=count, mean=mean, variance=variance / count, beta=0.3 / count)
    for count, mean, variance in ((1, 0.0, 2.0), (7, 0.25, 0.5), (7, 0.5, 0.125), (100, -3.0, 8.0))
]


def require_sound(rule: DecisionRule) -> None:
    """Try a rule on a few releases: its decisions must be the same from both ends.

    A threshold must be a number, finite and at least 0. What a rule of one's own gets wrong shows
    here, in words, and not as strange numbers later.
    """
    for mine, theirs in product(_TRIALS, repeat=2):
        there: Any
        try:
            if isinstance(rule, ThresholdRule):
                there, back = rule.threshold(mine, theirs), rule.threshold(theirs, mine)
            else:
                there, back = rule.accepts("b", mine, theirs), rule.accepts("a", theirs, mine)
        except Exception as error:
            seen = f"{type(rule).__name__}, which raised {type(error).__name__}: {error}"
            raise ConfigError("rule", seen, "a decision for any two releases") from error
        number = isinstance(there, int | float) and not isinstance(there, bool)
        if isinstance(rule, ThresholdRule) and not (number and 0 <= there < inf):
            seen = f"a threshold of {there!r}"
            raise ConfigError("rule", seen, "a finite number, at least 0")
        if there != back and not isinstance(rule, Oracle):
            seen = f"{type(rule).__name__}: {there} one way, {back} the other"
            raise ConfigError("rule", seen, "the same from both ends of an edge")


RULES: Mapping[str, type[DecisionRule]] = {
    "bernstein": Bernstein,
    "tight": TightBernstein,
    "optimistic": OptimisticDistance,
    "oracle": Oracle,
}
"""Their names in configurations."""
