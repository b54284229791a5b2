"""Private-ColME (Yakimenka et al. 2023, 2024): everyone releases every round, to everyone.

Agent a releases the mean of its samples with a Laplace draw added to each. b is in a's class if
their releases of this round pass the Bernstein test (the rule of Private-C-ColME, without a graph);
the estimate weighs a's exact mean, of variance sigma2 / t, and the releases of its class, of
variance (sigma2 + sigma2_dp) / t, by the inverse of their variances. a's own release tells a
nothing new and is left out.
"""

# mypy: disable-error-code="misc, untyped-decorator"

from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from colme.inference.compiled import jit
from colme.rules.decision import Bernstein, nearest_paper_theta, theta_from
from colme.rules.release import Release, laplace_scale
from colme.sim.engines.baselines.base import (
    COUNT_BYTES,
    MEAN_BYTES,
    Baseline,
    BaselineTable,
    Run,
)
from colme.sim.engines.engine import Cost
from colme.sim.kernel.arrays import Array


class PrivateColme:
    """`theta` is the level of the test by round; the paper's is that of the graph's mean degree."""

    def __init__(self, run: Run, *, theta: Any) -> None:
        self._profile = profile = run.profile
        if theta == "paper":
            theta = nearest_paper_theta(float(run.graph.degrees.mean()), profile.epsilon)
        self._rule = Bernstein(theta_from(theta))
        self._scale = laplace_scale(profile.half_range, profile.epsilon)
        released = profile.sigma2 + profile.sigma2_dp
        # The weight of a release where one's own mean weighs 1.
        self._weight = profile.sigma2 / released if released else 1.0
        self._released = np.zeros(run.graph.agents)
        self._threshold = np.inf

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """See `Baseline`."""
        thresholds = np.array([self.threshold(first + i) for i in range(len(data))])
        if len(data):
            self._threshold = thresholds[-1]
        _advance(data, noise, answers, thresholds, self._scale, self._weight, self._released)

    def threshold(self, t: int) -> float:
        """z: how far apart the releases of round t of one class may be."""
        profile = self._profile
        variance, beta = profile.released_variance(t, t), profile.released_parameter(t, t)
        release = Release(count=t, mean=0.0, variance=variance, beta=beta)
        return self._rule.threshold(release, release)

    def cost(self) -> Cost:
        """A release with its count from every other agent."""
        others = len(self._released) - 1
        payload = others * (MEAN_BYTES + COUNT_BYTES)
        return Cost(messages=others, payload=payload, memory=3 + 2 * others)

    def accepted(self) -> Array:
        """[a, b]: whether b is in a's class."""
        x = self._released
        accepted: Array = np.abs(x[:, None] - x[None, :]) < self._threshold
        np.fill_diagonal(accepted, True)
        return accepted


class PrivateColmeTable(BaselineTable):
    """theta as of the paper's Bernstein rule."""

    made: ClassVar[type[Baseline]] = PrivateColme
    private: ClassVar[bool] = True
    needs_one_epsilon: ClassVar[bool] = True
    """All agents share one profile."""

    algorithm: Literal["private-colme"]
    theta: Any = "paper"
    """A function of the round, by name."""

    @model_validator(mode="after")
    def _theta_is_one(self) -> Self:
        if self.theta != "paper":
            theta_from(self.theta)
        return self


@jit
def _advance(
    data: Array,
    noise: Array,
    answers: Array,
    thresholds: Array,
    scale: float,
    weight: float,
    released: Array,
) -> None:
    agents = len(released)
    top, bottom = np.empty(agents), np.empty(agents)
    for i in range(len(data)):
        for a in range(agents):
            released[a] = data[i, a] + scale * noise[i, a]
        top[:] = 0.0
        bottom[:] = 0.0
        for b in range(agents):
            # In two parts, around b itself; each takes several agents at a time.
            _add(released[:b], released[b], thresholds[i], top[:b], bottom[:b])
            _add(released[b + 1 :], released[b], thresholds[i], top[b + 1 :], bottom[b + 1 :])
        for a in range(agents):
            answers[i, a] = (data[i, a] + weight * top[a]) / (1.0 + weight * bottom[a])


@jit
def _add(released: Array, other: float, threshold: float, top: Array, bottom: Array) -> None:
    for a in range(len(released)):
        accepted = abs(released[a] - other) < threshold
        top[a] += other if accepted else 0.0
        bottom[a] += 1.0 if accepted else 0.0
