"""Random communication graphs, and random placements of agents into classes."""

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from colme.errors import ConfigError
from colme.graph import Graph, IntArray


def random_regular(agents: int, degree: int, generator: Generator) -> Graph:
    """A random graph in which everyone has `degree` neighbours, by Steger and Wormald's pairing.

    Free ends of edges are paired at random; pairs that would make a loop or a double edge go back
    and are paired again. Where none of the ends left can be paired, the whole draw starts over.
    """
    if not 0 <= degree < agents:
        raise ConfigError("degree", degree, f"0 to agents - 1 = {agents - 1}")
    if agents * degree % 2:
        raise ConfigError("degree", degree, f"an even one: {agents} agents x {degree} is odd")
    while True:
        edges = _pair_up(agents, degree, generator)
        if edges is not None:
            return Graph.from_unique_edges(edges, agents)


def _pair_up(agents: int, degree: int, generator: Generator) -> IntArray | None:
    ends = np.repeat(np.arange(agents), degree)
    keys = np.empty(0, dtype=np.int64)  # low * agents + high of the edges so far, sorted
    while len(ends):
        generator.shuffle(ends)
        low, high = np.minimum(ends[::2], ends[1::2]), np.maximum(ends[::2], ends[1::2])
        drawn, first = np.unique(low * agents + high, return_index=True)
        place = np.searchsorted(keys, drawn)
        taken = np.append(keys, -1)[place] == drawn
        new = ~taken & (low[first] != high[first])
        keys = np.insert(keys, place[new], drawn[new])
        again = np.ones(len(low), dtype=bool)
        again[first[new]] = False
        ends = np.concatenate([low[again], high[again]])
        if not new.any() and not _any_pair_left(ends, keys, agents):
            return None
    return np.column_stack(np.divmod(keys, agents))


def _any_pair_left(ends: IntArray, keys: IntArray, agents: int) -> bool:
    left = np.unique(ends)
    low, high = np.triu_indices(len(left), k=1)
    return bool((~np.isin(left[low] * agents + left[high], keys)).any())


def random_classes(agents: int, classes: int, generator: Generator) -> IntArray:
    """Every agent placed into one of the classes, uniformly at random (Sec. V)."""
    return generator.integers(classes, size=agents)


def random_component_sizes(
    agents: int, degree: int, classes: int, draws: int, generator: Generator
) -> Iterator[IntArray]:
    """n_a of each agent, on as many random regular graphs with random placements as asked for."""
    for _ in range(draws):
        graph = random_regular(agents, degree, generator)
        yield graph.component_sizes(random_classes(agents, classes, generator))
