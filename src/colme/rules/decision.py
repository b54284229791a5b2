"""Is this neighbour in my class? Every rule is symmetric in the two releases."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Protocol

from colme.errors import ConfigError
from colme.rules.bernstein import simple_threshold, threshold
from colme.rules.release import Profile, Release


class DecisionRule(Protocol):
    """chi of Sec. III-C."""

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        """Whether `peer` looks to be of my class."""
        ...

    def parameter(self, profile: Profile, count: int, blocks: int) -> float:
        """The Bernstein parameter that a release has to carry for this rule."""
        ...


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


@dataclass(frozen=True, slots=True)
class Bernstein:
    """The paper's hypothesis test: |difference| < z_theta (Sec. III-C.1)."""

    theta: Callable[[int], float]

    def threshold(self, mine: Release, theirs: Release) -> float:
        """z of Sec. III-C.1, with each side's own variance and parameter."""
        # One t for a pair: the smaller count, so that both ends agree on theta.
        theta = self.theta(min(mine.count, theirs.count))
        return simple_threshold(theta, mine.variance + theirs.variance, mine.beta + theirs.beta)

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        """chi_a(b; theta)."""
        return abs(mine.mean - theirs.mean) < self.threshold(mine, theirs)

    def parameter(self, profile: Profile, count: int, blocks: int) -> float:
        """Lemma 3's."""
        return profile.released_parameter(count, blocks)


@dataclass(frozen=True, slots=True)
class TightBernstein:
    """The first threshold of Sec. II-D, with parameters that do not add up: no tuning needed.

    With v the variances and b the larger of the tight parameters, z = b s + sqrt(b^2 s^2 + 2 (v_a +
    v_b) s) holds the type-I error at theta, s = ln(2 / theta); theta = 1 / t serves everywhere.
    """

    theta: Callable[[int], float] = INVERSE_THETA

    def threshold(self, mine: Release, theirs: Release) -> float:
        """z, from releases that carry their tight parameter."""
        theta = self.theta(min(mine.count, theirs.count))
        return threshold(theta, mine.variance + theirs.variance, max(mine.beta, theirs.beta))

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        """Whether the means may be the same."""
        return abs(mine.mean - theirs.mean) < self.threshold(mine, theirs)

    def parameter(self, profile: Profile, count: int, blocks: int) -> float:
        """What a release has to carry for this rule."""
        return profile.tight_parameter(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimisticDistance:
    """|difference| - beta_delta(a) - beta_delta(b) <= 0, adjusted for noise (Sec. III-C.2)."""

    degree: int
    agents: int
    delta: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.delta <= 1:
            raise ConfigError("delta", self.delta, "a number in (0, 1]")
        if not 1 <= self.degree < self.agents:
            raise ConfigError("degree", self.degree, f"1 to agents - 1 = {self.agents - 1}")

    def radius(self, release: Release) -> float:
        """beta-tilde_delta of Sec. III-C.2; `variance` is its (sigma2 + sigma2_dp) / t."""
        t = release.count
        gamma = self.delta / (4 * self.degree * self.agents)
        return sqrt(2 * release.variance * (1 + 1 / t) * log(sqrt(t + 1) / gamma))

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        """chi-tilde_a(b; delta)."""
        return abs(mine.mean - theirs.mean) <= self.radius(mine) + self.radius(theirs)

    def parameter(self, profile: Profile, count: int, blocks: int) -> float:
        """Lemma 3's."""
        return profile.released_parameter(count, blocks)


@dataclass(frozen=True, slots=True)
class Oracle:
    """Knows the truth: the benchmark of Theorem 1. For simulation only."""

    classmates: frozenset[str]

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        """Whether the peer is in my class."""
        return peer in self.classmates

    def parameter(self, profile: Profile, count: int, blocks: int) -> float:
        """Lemma 3's."""
        return profile.released_parameter(count, blocks)
