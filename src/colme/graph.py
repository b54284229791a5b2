"""An undirected graph without self-loops, as sorted neighbour lists."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from colme.errors import ConfigError

IntArray = NDArray[np.int64]

Labels = tuple[int, ...] | tuple[str, ...]
"""What agents are called by whoever made the graph."""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Agents 0 .. agents - 1; the neighbours of a are `indices[indptr[a]:indptr[a + 1]]`."""

    indptr: IntArray
    indices: IntArray
    labels: Labels | None = None
    """Of the agents, in order; None: their numbers are all the names they have."""

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[int, int]], agents: int) -> Self:
        """From pairs of agents, each edge given once or in both directions."""
        pairs = np.array(sorted({(min(e), max(e)) for e in edges}), dtype=np.int64).reshape(-1, 2)
        if pairs.size and (pairs[:, 0] == pairs[:, 1]).any():
            raise ConfigError("edges", "a self-loop", "edges between two different agents")
        outside = pairs[(pairs < 0) | (pairs >= agents)]
        if outside.size:
            raise ConfigError("edges", int(outside[0]), f"agents numbered 0 to {agents - 1}")
        return cls.from_unique_edges(pairs, agents)

    @classmethod
    def from_unique_edges(cls, pairs: IntArray, agents: int) -> Self:
        """From an (edges, 2) array that holds each edge once."""
        low, high = pairs[:, 0], pairs[:, 1]
        # One number for each end of an edge: to sort those takes a tenth of sorting pairs.
        ends = np.concatenate([low * agents + high, high * agents + low])
        ends.sort()
        indptr = np.zeros(agents + 1, np.int64)
        np.cumsum(np.bincount(low, minlength=agents), out=indptr[1:])
        indptr[1:] += np.cumsum(np.bincount(high, minlength=agents))
        ends -= np.repeat(np.arange(agents) * agents, np.diff(indptr))
        return cls(indptr, ends)

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """From a networkx graph; integer nodes in their order, others as they come.

        What its nodes are called is kept as `labels`.
        """
        if not hasattr(graph, "is_directed"):
            raise ConfigError("graph", type(graph).__name__, "a networkx graph")
        if graph.is_directed():
            expected = "an undirected one, as edges carry messages both ways: graph.to_undirected()"
            raise ConfigError("graph", "a directed graph", expected)
        nodes = list(graph.nodes)
        labels: Labels
        if all(isinstance(node, Integral) for node in nodes):
            nodes = sorted(nodes)
            labels = tuple(map(int, nodes))
        else:
            labels = tuple(map(str, nodes))
        if len(set(labels)) < len(labels):
            raise ConfigError("graph", "two nodes of one name", "nodes whose names differ as text")
        number = {node: i for i, node in enumerate(nodes)}
        # Called, as the edges of a multigraph are then pairs, too.
        edges = ((number[a], number[b]) for a, b in graph.edges())
        return replace(cls.from_edges(edges, len(number)), labels=labels)

    def __repr__(self) -> str:
        return f"<Graph: {self.agents:,} agents, {len(self.indices) // 2:,} edges>"

    @property
    def agents(self) -> int:
        """How many there are."""
        return len(self.indptr) - 1

    @property
    def degrees(self) -> IntArray:
        """How many neighbours each agent has."""
        return np.diff(self.indptr)

    def neighbours(self, agent: int) -> IntArray:
        """The neighbours of one agent, in order."""
        return self.indices[self.indptr[agent] : self.indptr[agent + 1]]

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Each once, the smaller end first, in order."""
        return [(a, int(b)) for a in range(self.agents) for b in self.neighbours(a) if a < b]

    def components(self, classes: Sequence[int] | IntArray) -> IntArray:
        """The smallest member of a's connected component among the agents of its own class."""
        labels = np.asarray(classes)
        if len(labels) != self.agents:
            raise ConfigError("classes", f"{len(labels)} entries", f"one for each of {self.agents}")
        a = np.repeat(np.arange(self.agents), self.degrees)
        b = self.indices
        within = labels[a] == labels[b]
        a, b = a[within], b[within]
        # Every agent points at a smaller one of its component; roots meet along edges and merge.
        root = np.arange(self.agents)
        while (root[a] != root[b]).any():
            np.minimum.at(root, root[a], root[b])
            while (root[root] != root).any():
                root = root[root]
        return root

    def component_sizes(self, classes: Sequence[int] | IntArray) -> IntArray:
        """n_a: the size of a's connected component among the agents of its own class."""
        root = self.components(classes)
        return np.bincount(root, minlength=self.agents)[root]
