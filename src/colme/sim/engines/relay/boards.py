"""Which board holds which record when: keys, the sample that a board has room for, hops.

A release is on its author's board in its own round, on those of the neighbours as well (they are
told in that round), and one hop farther in every round after.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from colme.graph import Graph, IntArray
from colme.protocol.board.record import KEY_SIZE, origin_of_key
from colme.sim.engines.engine import BoolArray, FloatArray

NEVER = np.iinfo(np.int64).max // 4
"""Rounds to somebody to whom there is no path."""


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Boards:
    """The boards of evaluated agents: which origins each holds, and how old their records are."""

    origins: IntArray
    """[O]: the agents whose records are on somebody's board, in order."""
    lag: IntArray
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


def boards_of(
    graph: Graph, names: list[str], measured: IntArray, *, capacity: int, hop: int
) -> Boards:
    """Everybody's records, or the sample that boards have room for; and always the neighbours'."""
    held = np.tile(sampled(graph, names, capacity), (measured.size, 1))
    held[np.arange(measured.size), measured] = True
    for row, agent in enumerate(measured.tolist()):
        held[row, graph.neighbours(agent)] = True
    distance = hops(graph, measured)
    there = held & np.isfinite(distance)
    lag = np.full(distance.shape, NEVER)
    lag[there] = np.maximum(distance[there] * hop - 1, 0)
    origins = np.flatnonzero(there.any(axis=0))
    return Boards(origins=origins, lag=np.ascontiguousarray(lag[:, origins]))
