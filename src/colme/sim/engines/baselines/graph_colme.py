"""ColME on a graph (Galante, Neglia, Leonardi 2024): C-ColME and B-ColME.

C-ColME is consensus over a graph that loses its wrong edges.

In round t agent a compares its own mean of t samples with each kept neighbour's mean of t - 1, and
drops for good those at a positive optimistic distance. In round 1 nobody has been heard of, so
nobody is dropped. Then, with W, sizes and mix as in Private-C-ColME (its Eq. 2 and line 15: sizes
of this round, oneself included; a consensus of 0 before round 1),

    consensus_a = (1 - alpha) mean_a + alpha sum over b of W_ab (previous consensus_b).

The two ends of an edge compare different pairs of means, so one may drop it a round or more before
the other. Each end decides for itself, as in the published code: a goes on using b's consensus
while a keeps b, even if b has dropped a, and W_ab uses the sizes that both announce.

alpha = s / (s + 1), where s is 1 in a round in which the agent's own set changed (and in round 1)
and grows by 1 per round. The variant `global_reset` has one s for the whole network, as in the
published code: s is 1 in the round after one in which anybody's set changed, and in the round
after the last wrong edge went, from when on it only grows. It is told the true classes for that.

B-ColME passes sums of means along the graph, as in a tree.

For every neighbour l and depth h = 0 .. `depth`, agent a receives in round t a sum M[l][h] of means
and a count N[l][h] of the agents in it, h + 1 hops away through l, and each mean is of t - 1 - h
samples:

    M[l][0] = l's mean of the previous round, N[l][0] = 1
    M[l][h] = sum of M[k][h - 1], as l received them in the previous round, over the neighbours
              k other than a that l kept in it; N[l][h] likewise.

Neighbours are dropped as in C-ColME, for good and by each end on its own; a goes on receiving from
l while a keeps l, even if l has dropped a. The estimate is

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


def radii_on(run: Run, delta: float) -> Radii:
    """gamma = delta / (4 r M), with the largest degree as r if the graph is not regular."""
    graph = run.graph
    degree = max(1, int(graph.degrees.max(initial=0)))
    return Radii(run.sigma, delta / (4 * degree * graph.agents))


class CColme:
    """Only `global_reset` looks at the true classes."""

    def __init__(self, run: Run, *, delta: float, global_reset: bool = False) -> None:
        self._graph = graph = run.graph
        self._radii, self._global_reset = radii_on(run, delta), global_reset
        self._ends = graph.indptr[1:].astype(np.int32)
        self._peers = graph.indices.astype(np.int32)
        self._mean = np.zeros(graph.agents)
        self._consensus = np.zeros((2, graph.agents))
        self._share = 1.0 / (graph.degrees + 2)
        self._since = np.zeros(graph.agents)
        self._truth = run.classes.astype(np.int32)
        wrong = int((np.repeat(self._truth, graph.degrees) != self._truth[graph.indices]).sum())
        # The wrong edges left, and whether all were gone or any set changed by the end of the
        # previous round.
        self._network = np.array([wrong, 0, 0])

    def advance(self, first: int, data: Array, noise: Array, answers: Array) -> None:
        """See `Baseline`."""
        radius = self._radii.of_rounds(first - 1, len(data) + 1)
        _advance_consensus(
            first,
            data,
            answers,
            radius,
            self._graph.indptr,
            self._ends,
            self._peers,
            self._mean,
            self._consensus,
            self._share,
            self._since,
            self._global_reset,
            self._truth,
            self._network,
        )

    def cost(self) -> Cost:
        """From every kept neighbour: mean, count and consensus; and, once decided, the set size."""
        kept = float((self._ends - self._graph.indptr[:-1]).mean())
        payload = kept * (2 * MEAN_BYTES + 2 * COUNT_BYTES)
        return Cost(messages=2 * kept, payload=payload, memory=4 + 4 * kept)

    def accepted(self) -> Array:
        """Per edge of the graph, whether its first agent keeps the second."""
        graph = self._graph
        first = np.repeat(np.arange(graph.agents), graph.degrees)
        left = np.arange(len(first)) < np.repeat(self._ends, graph.degrees)
        # Rows are sorted, and so are their kept parts: each kept edge is found by its key.
        edges = first * graph.agents + graph.indices
        kept = (first * graph.agents + self._peers)[left]
        accepted = np.zeros(len(edges), dtype=np.bool_)
        accepted[np.searchsorted(edges, kept)] = True
        return accepted


class CColmeTable(BaselineTable):
    """Whether the whole network starts over when anybody's set changes."""

    made: ClassVar[type[Baseline]] = CColme

    algorithm: Literal["c-colme"]
    delta: Delta = 1.0
    """Level of the confidence intervals: smaller makes them wider."""
    global_reset: bool = False
    """It does. It is told the truth for that."""


@jit
def _advance_consensus(
    first: int,
    data: Array,
    answers: Array,
    radius: Array,
    indptr: Array,
    ends: Array,
    peers: Array,
    mean: Array,
    consensus: Array,
    share: Array,
    since: Array,
    global_reset: bool,
    truth: Array,
    network: Array,
) -> None:
    """The kept neighbours of a are peers[indptr[a] : ends[a]]; `share` is 1 / (size + 1).

    `radius` starts with that of the round before the first.
    """
    agents = len(mean)
    for i in range(len(data)):
        t = first + i
        theirs, mine = radius[i], radius[i + 1]
        row, answer = data[i], answers[i]
        before, after = consensus[(t - 1) % 2], consensus[t % 2]
        if global_reset and not network[1] and (network[2] or network[0] == 0):
            since[:] = t - 1
            network[1] = network[0] == 0
        network[2] = 0
        for a in range(agents):
            x = row[a]
            outside = 0
            for e in range(indptr[a], ends[a]):
                outside += optimistic_distance(x, mean[peers[e]], mine, theirs) > 0
            if outside:
                _drop(a, x, mine, theirs, indptr, ends, peers, mean, truth, network)
                share[a] = 1.0 / (ends[a] - indptr[a] + 2)
                network[2] = 1
                if not global_reset:
                    since[a] = t - 1
        for a in range(agents):
            own, most = before[a], share[a]
            mix = own
            for e in range(indptr[a], ends[a]):
                b = peers[e]
                # The smaller share is that of the larger set: W_ab = 1 / (max size + 1).
                mix += min(most, share[b]) * (before[b] - own)
            s = t - since[a]
            after[a] = (row[a] + s * mix) / (s + 1)
            answer[a] = after[a]
        for a in range(agents):
            mean[a] = row[a]


@jit
def _drop(
    a: int,
    x: float,
    mine: float,
    theirs: float,
    indptr: Array,
    ends: Array,
    peers: Array,
    mean: Array,
    truth: Array,
    network: Array,
) -> None:
    # Order is kept: float addition is not associative, and sums are to be in id order.
    end = indptr[a]
    for e in range(indptr[a], ends[a]):
        b = peers[e]
        if optimistic_distance(x, mean[b], mine, theirs) > 0:
            network[0] -= truth[a] != truth[b]
        else:
            peers[end] = b
            end += 1
    ends[a] = end


class BColme:
    """`depth` is the largest h: 3 in the paper's experiments."""

    def __init__(self, run: Run, *, delta: float, depth: int = 3) -> None:
        self._graph = graph = run.graph
        self._radii, self._depth = radii_on(run, delta), depth
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
        _advance_sums(
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
def _advance_sums(
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
