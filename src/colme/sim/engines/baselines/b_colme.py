"""B-ColME (Galante, Neglia, Leonardi 2024): sums of means passed along a graph, as in a tree.

For every neighbour l and depth h = 0 .. `depth`, agent a receives in round t a sum M[l][h] of means
and a count N[l][h] of the agents in it, h + 1 hops away through l, and each mean is of t - 1 - h
samples:

    M[l][0] = l's mean of the previous round, N[l][0] = 1
    M[l][h] = sum of M[k][h - 1], as l received them in the previous round, over the neighbours
              k other than a that l kept in it; N[l][h] likewise.

Neighbours are dropped as in C-ColME, for good and by each end on its own (see there); a goes on
receiving from l while a keeps l, even if l has dropped a. The estimate is

    (t mean_a + sum of (t - 1 - h) M[l][h]) / (t + sum of (t - 1 - h) N[l][h])

over the neighbours l kept in round t and all h with t - 1 - h > 0.
"""

# mypy: disable-error-code="misc, untyped-decorator"

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

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


class BColme:
    """`depth` is the largest h: 3 in the paper's experiments."""

    def __init__(self, run: Run, *, delta: float, depth: int = 3) -> None:
        self._graph = graph = run.graph
        self._radii, self._depth = Radii.on_a_graph(run, delta), depth
        from_, to = np.repeat(np.arange(graph.agents), graph.degrees), graph.indices
        self._out = from_ < to
        # Every edge once, in order of its first agent, then of its second.
        self._pairs = np.stack([from_[self._out], to[self._out]], axis=1)
        self._kept = np.ones((len(self._pairs), 2))
        self._received = np.zeros((len(self._pairs), 2, 2 * (depth + 1)))
        self._total = np.zeros((2, graph.agents, 2 * (depth + 1)))
        self._mean = np.zeros(graph.agents)

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """See `Baseline`."""
        _advance(
            first,
            data,
            answers,
            self._radii.of_rounds(first - 1, len(data) + 1),
            self._pairs,
            self._kept,
            self._received,
            self._total,
            self._mean,
        )

    def cost(self) -> Cost:
        """From every kept neighbour a sum and a count per depth, and the count of its mean."""
        kept = float(self._kept.sum() / self._graph.agents)
        levels = self._depth + 1
        payload = kept * (levels * (MEAN_BYTES + COUNT_BYTES) + COUNT_BYTES)
        return Cost(messages=kept, payload=payload, memory=2 + kept * (2 * levels + 1))

    def accepted(self) -> Array:
        """Per edge of the graph, whether its first agent keeps the second."""
        accepted = np.zeros(len(self._out), dtype=np.bool_)
        accepted[self._out] = self._kept[:, 0] > 0
        by_second = np.lexsort((self._pairs[:, 0], self._pairs[:, 1]))
        accepted[~self._out] = self._kept[by_second, 1] > 0
        return accepted


class BColmeTable(BaselineTable):
    """How far means are passed on."""

    made: ClassVar[type[Baseline]] = BColme

    algorithm: Literal["b-colme"]
    delta: Delta = 1.0
    """Level of the confidence intervals: smaller makes them wider."""
    depth: int = Field(3, ge=0, le=20)
    """How many hops."""


@jit
def _advance(
    first: int,
    data: Array,
    answers: Array,
    radius: Array,
    pairs: Array,
    kept: Array,
    received: Array,
    total: Array,
    mean: Array,
) -> None:
    """`received[e, 0]` is what the first agent of edge e has from the second; [e, 1] the reverse.

    Entry 2h is a sum of means and 2h + 1 its count. `kept[e, 0]` is 1 if the first agent keeps the
    second, else 0; [e, 1] the reverse. `total` adds up over the kept neighbours, so that "all but
    me" is one subtraction: O(depth) per edge, whatever the degree. `radius` starts with that of the
    round before the first.
    """
    agents, width = len(mean), total.shape[2]
    for i in range(len(data)):
        t = first + i
        theirs, mine = radius[i], radius[i + 1]
        row = data[i]
        before, after = total[(t - 1) % 2], total[t % 2]
        after[:] = 0.0
        for e in range(len(pairs)):
            if kept[e, 0] + kept[e, 1] == 0.0:
                continue
            a, b = pairs[e, 0], pairs[e, 1]
            a_has, b_has = received[e, 0], received[e, 1]
            # A neighbour that is not kept is not in the total, so there is nothing to subtract.
            a_kept, b_kept = kept[e, 0], kept[e, 1]
            for k in range(width - 1, 1, -1):
                from_b = before[b, k - 2] - b_kept * b_has[k - 2]
                b_has[k] = before[a, k - 2] - a_kept * a_has[k - 2]
                a_has[k] = from_b
            a_has[0], a_has[1] = mean[b], 1.0
            b_has[0], b_has[1] = mean[a], 1.0
            if optimistic_distance(row[a], mean[b], mine, theirs) > 0:
                kept[e, 0] = 0.0
            if optimistic_distance(row[b], mean[a], mine, theirs) > 0:
                kept[e, 1] = 0.0
            a_kept, b_kept = kept[e, 0], kept[e, 1]
            for k in range(width):
                after[a, k] += a_kept * a_has[k]
                after[b, k] += b_kept * b_has[k]
        for a in range(agents):
            top, bottom = t * float(row[a]), float(t)
            for h in range(min(width // 2, t - 1)):
                top += (t - 1 - h) * after[a, 2 * h]
                bottom += (t - 1 - h) * after[a, 2 * h + 1]
            answers[i, a] = top / bottom
            mean[a] = row[a]
