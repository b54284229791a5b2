"""Which board holds which record when, and which records cross an edge.

A release is on its author's board in its own round, on those of the neighbours as well (they are
told in that round), and one hop farther in every round after.

A record crosses every edge once, from the end that has it earlier. Where both have it in the same
round they both send it, the first time; then the one with the smaller name does, and the other has
no need to. Records are counted on some edges, in all rounds.
"""

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from colme.graph import Graph, IntArray
from colme.protocol.board.messages import LARGEST_BATCH
from colme.protocol.board.record import KEY_SIZE, RECORD_SIZE, origin_of_key
from colme.sim.engines.engine import BoolArray, Cost, FloatArray

NEVER = np.iinfo(np.int64).max // 4
"""Rounds to somebody to whom there is no path."""

COUNTED = 64
"""Edges on which it is counted, at most."""

FEWEST_COUNTED = 8
HOPS_KEPT = 16_000_000
"""From the ends of these edges to everybody: with more agents it is counted on fewer of them."""

LENGTH_BYTES = 3
"""Bytes before a record in a message: its kind and length."""

FRAME_BYTES = 40
"""Bytes around a message: 5 of gRPC, 9 of HTTP/2, 22 of TLS 1.3, 4 for its kind and length."""


def draw_origins(agents: int, generator: Generator) -> list[str]:
    """A key for each agent, and what it is called by."""
    keys = generator.bytes(KEY_SIZE * agents)
    return [origin_of_key(keys[i : i + KEY_SIZE]) for i in range(0, len(keys), KEY_SIZE)]


def sampled(graph: Graph, names: list[str], capacity: int) -> BoolArray:
    """[M]: agents whose records stay on all boards they reach: the smallest names of a part."""
    chosen = np.ones(graph.agents, np.bool_)
    if graph.agents > capacity:
        order = np.argsort(names)
        part = graph.components(np.zeros(graph.agents, np.int64))[order]
        for one in np.unique(part):
            chosen[order[np.flatnonzero(part == one)[capacity:]]] = False
    return chosen


def hops(graph: Graph, agents: IntArray) -> FloatArray:
    """[agents given, M]: the least number of edges to everybody; inf where there is no path."""
    edges = np.ones(graph.indices.size, np.int8)
    matrix = csr_array((edges, graph.indices, graph.indptr), shape=(graph.agents,) * 2)
    return np.asarray(dijkstra(matrix, unweighted=True, indices=agents))


class Boards:
    """The boards of evaluated agents: which origins each holds, and how old their records are.

    A board holds everybody's records, or the sample that it has room for, and always those of the
    agent and its neighbours.
    """

    def __init__(
        self, graph: Graph, names: list[str], measured: IntArray, *, capacity: int, hop: int
    ) -> None:
        held = np.tile(sampled(graph, names, capacity), (measured.size, 1))
        held[np.arange(measured.size), measured] = True
        for row, agent in enumerate(measured.tolist()):
            held[row, graph.neighbours(agent)] = True
        distance = hops(graph, measured)
        there = held & np.isfinite(distance)
        lag = np.full(distance.shape, NEVER)
        lag[there] = np.maximum(distance[there] * hop - 1, 0)
        self.origins = np.flatnonzero(there.any(axis=0))
        """[O]: the agents whose records are on somebody's board, in order."""
        self.lag = np.ascontiguousarray(lag[:, self.origins])
        """[measured, O]: rounds from a release to its being there; `NEVER` where it never is."""

    @property
    def longest(self) -> int:
        """The largest of all lags."""
        there = self.lag[self.lag < NEVER]
        return int(there.max(initial=0))

    def held(self, t: int, rounds: IntArray, closed: IntArray) -> IntArray:
        """[measured, O]: the block whose release is on each board after round t; -1: none.

        `rounds` [H, O] are those of the last H releases, that of block k at k % H; `closed` [O] are
        the blocks so far.
        """
        newest = np.broadcast_to(closed - 1, self.lag.shape).copy()
        column = np.broadcast_to(np.arange(closed.size), self.lag.shape)
        while True:
            late = (newest >= 0) & (rounds[newest % len(rounds), column] + self.lag > t)
            if not late.any():
                return newest
            newest -= late


class Traffic:
    """Records sent in one batch: all its runs release in the same rounds."""

    def __init__(
        self,
        graph: Graph,
        names: list[str],
        rounds: int,
        generator: Generator,
        *,
        capacity: int,
        hop: int,
        counted: int = COUNTED,
    ) -> None:
        counted = min(counted, max(FEWEST_COUNTED, HOPS_KEPT // (2 * graph.agents)))
        first = np.repeat(np.arange(graph.agents), graph.degrees)
        once = np.flatnonzero(first < graph.indices)
        picked = once
        if once.size > counted:
            picked = np.sort(generator.choice(once, counted, replace=False))
        self.edges = np.stack((first[picked], graph.indices[picked]))
        """[2, edges]: the two ends of each on which it is counted."""
        self._edges_per_agent = once.size / graph.agents
        self._hop = hop
        # [2, edges, M]: hops until each end has it.
        near = hops(graph, self.edges.ravel()).reshape(2, picked.size, graph.agents)
        kept = sampled(graph, names, capacity)
        # Nobody passes on what boards have no room for; its author tells it to its neighbours.
        passed_on = np.isfinite(near) & (kept | (near == 0))
        mine = np.array([names[a] < names[b] for a, b in self.edges.T.tolist()], np.bool_)
        # The end that goes on telling where both have the same news.
        tells = np.stack((mine, ~mine))[:, :, None]
        both = near == near[::-1]
        self._at_first = self._delays(near, passed_on & ((near < near[::-1]) | both), rounds)
        self._later = self._delays(near, passed_on & ((near < near[::-1]) | (both & tells)), rounds)
        self._released = np.zeros(graph.agents, np.bool_)
        # After the last round: what comes too late, or never.
        self._sent = np.zeros((2, picked.size, rounds + 2), np.uint16)
        self.records = self._sent[:, :, :-1]
        """[2, edges, rounds + 1]: sent by the first end of each, and by the second."""
        self._counted_to = 0

    def release(self, agents: IntArray, rounds: IntArray) -> None:
        """These agents have released, each in its round; of one agent the earlier comes first."""
        _, first = np.unique(agents, return_index=True)
        new = np.zeros(agents.size, np.bool_)
        new[first] = ~self._released[agents[first]]
        self._released[agents] = True
        delay = self._later[agents]
        delay[new] = self._at_first[agents[new]]
        length = self._sent.shape[2]
        at = np.minimum(rounds[:, None] + delay, length - 1)
        at += np.arange(delay.shape[1]) * length
        np.add.at(self._sent.reshape(-1), at.ravel(), np.uint16(1))

    def _delays(self, near: FloatArray, sends: BoolArray, rounds: int) -> IntArray:
        """[M, 2 * edges]: rounds until an end sends a release; beyond all if never."""
        delays = np.where(sends, near * self._hop, rounds + 1).astype(np.int32)
        return np.ascontiguousarray(delays.reshape(-1, delays.shape[2]).T)

    def since_last(self, t: int, memory: float) -> Cost:
        """Per agent and round, up to round t since it was last asked for."""
        records = self.records[:, :, self._counted_to + 1 : t + 1]
        rounds = max(1, t - self._counted_to) * max(1, records.shape[1])
        self._counted_to = t
        messages = -(-records.astype(np.int64) // LARGEST_BATCH)
        size = records.sum() * (RECORD_SIZE + LENGTH_BYTES) + messages.sum() * FRAME_BYTES
        share = self._edges_per_agent / rounds
        return Cost(messages=messages.sum() * share, payload=size * share, memory=memory)
