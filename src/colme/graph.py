"""An undirected graph without self-loops, as sorted neighbour lists."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from colme.errors import ConfigError

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Agents 0 .. agents - 1; the neighbours of a are `indices[indptr[a]:indptr[a + 1]]`."""

    indptr: IntArray
    indices: IntArray

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[int, int]], agents: int) -> Self:
        """From pairs of agents, each edge given once or in both directions."""
        pairs = np.array(sorted({(min(e), max(e)) for e in edges}), dtype=np.int64).reshape(-1, 2)
        if pairs.size and (pairs[:, 0] == pairs[:, 1]).any():
            raise ConfigError("edges", "a self-loop", "edges between two different agents")
        if pairs.size and not (pairs.min() >= 0 and pairs.max() < agents):
            raise ConfigError("edges", int(pairs.max()), f"agents numbered 0 to {agents - 1}")
        return cls.from_unique_edges(pairs, agents)

    @classmethod
    def from_unique_edges(cls, pairs: IntArray, agents: int) -> Self:
        """From an (edges, 2) array that holds each edge once."""
        both = np.concatenate([pairs, pairs[:, ::-1]])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        indptr = np.searchsorted(both[:, 0], np.arange(agents + 1))
        return cls(indptr, np.ascontiguousarray(both[:, 1]))

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """From a networkx graph; its nodes are numbered in their own order."""
        number = {node: i for i, node in enumerate(graph.nodes)}
        return cls.from_edges(((number[a], number[b]) for a, b in graph.edges), len(number))

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
