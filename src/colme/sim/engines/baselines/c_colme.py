"""C-ColME (Galante, Neglia, Leonardi 2024): consensus over a graph that loses its wrong edges.

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
"""

# mypy: disable-error-code="misc, untyped-decorator"

from typing import ClassVar, Literal

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


class CColme:
    """Only `global_reset` looks at the true classes."""

    def __init__(self, run: Run, *, delta: float, global_reset: bool = False) -> None:
        self._graph = graph = run.graph
        self._radii, self._global_reset = Radii.on_a_graph(run, delta), global_reset
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
        _advance(
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
def _advance(
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
