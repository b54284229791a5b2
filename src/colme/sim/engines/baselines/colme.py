"""ColME (Asadi, Bellet, Maillard, Tommasi 2022): ask one agent per round, remember all of them.

In round t agent a takes its sample, asks one agent b for its present (mean, count), which replaces
what a remembered of b, recomputes its class from memory and estimates from it. Whoever a has not
asked yet has count 0: its interval is infinite, so it is in the class, and it weighs nothing.
Exclusion is reversible: the class is never stored.

Turns go 0, 1, ..., M - 1, 0, ... without a itself, and start at 0. A restricted turn goes to the
next agent of the class as a's own new sample leaves it, before asking. If that is nobody, a asks
nobody in this round. Both are as in the published code, which would loop forever in the last case.
"""

# mypy: disable-error-code="misc, untyped-decorator"

from functools import partial
from typing import ClassVar, Final, Literal

import numpy as np

from colme.inference.compiled import jit
from colme.sim.engines.baselines.base import (
    COUNT_BYTES,
    MEAN_BYTES,
    Baseline,
    BaselineTable,
    Delta,
    Radii,
    Run,
    optimistic_distance,
)
from colme.sim.engines.engine import Cost
from colme.sim.kernel.arrays import Array

SIMPLE: Final = 0
SOFT: Final = 1
AGGRESSIVE: Final = 2
WEIGHTS: Final = {"simple": SIMPLE, "soft": SOFT, "aggressive": AGGRESSIVE}


class Colme:
    """`weights` is "simple", "soft" or "aggressive"; `restricted` asks only within the class."""

    def __init__(
        self,
        run: Run,
        *,
        delta: float,
        restricted: bool = False,
        weights: str = "simple",
    ) -> None:
        agents = run.graph.agents
        self._radii_after = Radii(run.sigma, delta / (8 * agents)).of_rounds
        self._restricted, self._weights = restricted, WEIGHTS[weights]
        # What a remembers of b is at [b, a]: a loop over a then takes several agents at a time.
        self._means = np.zeros((agents, agents))
        self._counts = np.zeros((agents, agents))
        self._radii = np.full((agents, agents), np.inf)
        self._asked = np.full(agents, -1)
        self._queries = min(1.0, agents - 1.0)

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """See `Baseline`."""
        self._queries = _advance(
            first,
            data,
            answers,
            self._radii_after(first, len(data)),
            self._restricted,
            self._weights,
            self._means,
            self._counts,
            self._radii,
            self._asked,
        )

    def cost(self) -> Cost:
        """A request and its reply; a mean and a count of everybody, and whose turn it is."""
        agents = len(self._asked)
        payload = self._queries * (MEAN_BYTES + COUNT_BYTES)
        return Cost(messages=2 * self._queries, payload=payload, memory=2 * agents + 1)

    def accepted(self) -> Array:
        """[a, b]: whether b is in a's class."""
        own, radius = self._means.diagonal(), self._radii.diagonal()
        distance = (
            np.abs(self._means - own) - np.where(np.isfinite(radius), radius, 0) - self._radii
        )
        accepted: Array = distance.T <= 0
        return accepted


class ColmeTable(BaselineTable):
    """How estimates are weighed, and whether only the class is asked."""

    made: ClassVar[type[Baseline]] = Colme

    algorithm: Literal["colme"]
    delta: Delta = 1.0
    """Level of the confidence intervals: smaller makes them wider."""
    weights: Literal["simple", "soft", "aggressive"] = "simple"
    """As the authors call them."""
    restricted: bool = False
    """Only those that look alike are asked."""


@jit
def _advance(
    first: int,
    data: Array,
    answers: Array,
    radius: Array,
    restricted: bool,
    weights: int,
    means: Array,
    counts: Array,
    radii: Array,
    asked: Array,
) -> float:
    """Returns the queries per agent of the last round."""
    agents = len(asked)
    own, top, bottom = np.empty(agents), np.empty(agents), np.empty(agents)
    queries = 0
    for i in range(len(data)):
        mine, t = radius[i], float(first + i)
        for a in range(agents):
            own[a] = data[i, a]
            means[a, a], counts[a, a], radii[a, a] = own[a], t, mine
        queries = 0
        for a in range(agents):
            b = asked[a]
            for _ in range(agents):
                b = b + 1 if b + 1 < agents else 0
                if b != a and not (
                    restricted and optimistic_distance(own[a], means[b, a], mine, radii[b, a]) > 0
                ):
                    means[b, a], counts[b, a], radii[b, a] = own[b], t, mine
                    asked[a] = b
                    queries += 1
                    break
        top[:] = 0.0
        bottom[:] = 0.0
        for b in range(agents):
            if weights == SIMPLE:
                _add_simple(own, mine, means[b], counts[b], radii[b], top, bottom)
            else:
                aggressive = weights == AGGRESSIVE
                _add_soft(own, mine, means[b], counts[b], radii[b], top, bottom, aggressive)
        for a in range(agents):
            answers[i, a] = top[a] / bottom[a]
    return queries / agents


@jit
def _add_simple(
    own: Array, mine: float, means: Array, counts: Array, radii: Array, top: Array, bottom: Array
) -> None:
    for a in range(len(own)):
        in_class = optimistic_distance(own[a], means[a], mine, radii[a]) <= 0
        weight = counts[a] if in_class else 0.0
        top[a] += weight * means[a]
        bottom[a] += weight


# With Python's check for a division by zero, the loop would take one agent at a time.
@partial(jit, error_model="numpy")
def _add_soft(
    own: Array,
    mine: float,
    means: Array,
    counts: Array,
    radii: Array,
    top: Array,
    bottom: Array,
    aggressive: bool,
) -> None:
    for a in range(len(own)):
        # Of an agent never heard of, any finite radius will do: its count is 0.
        theirs = min(radii[a], 1e300)
        overlap = min(own[a] + mine, means[a] + theirs) - max(own[a] - mine, means[a] - theirs)
        union = max(own[a] + mine, means[a] + theirs) - min(own[a] - mine, means[a] - theirs)
        in_class = optimistic_distance(own[a], means[a], mine, radii[a]) <= 0
        enough = (not aggressive) or min(mine, theirs) <= overlap
        weight = counts[a] * overlap / union if in_class and enough else 0.0
        top[a] += weight * means[a]
        bottom[a] += weight
