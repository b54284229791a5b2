"""Communication graphs: random families, and lists of edges."""

from collections.abc import Iterator
from math import isqrt
from pathlib import Path

import networkx as nx
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from colme.errors import ConfigError
from colme.graph import Graph, IntArray


def random_regular(agents: int, degree: int, generator: Generator) -> Graph:
    """A random graph in which everyone has `degree` neighbours, by Steger and Wormald's pairing.

    Free ends of edges are paired at random; pairs that would make a loop or a double edge go back
    and are paired again. Where none of the ends left can be paired, the whole draw starts over.
    (networkx's takes six times as long at 200 agents of degree 20, three times at 100,000.)
    """
    require_regular(agents, degree)
    while True:
        edges = _pair_up(agents, degree, generator)
        if edges is not None:
            return Graph.from_unique_edges(edges, agents)


def require_degree(agents: int, degree: float) -> None:
    """Refuse a degree that no graph has."""
    if not 0 <= degree < agents:
        raise ConfigError("degree", degree, f"0 to agents - 1 = {agents - 1}")


def require_regular(agents: int, degree: int) -> None:
    """Refuse a degree that not everybody can have."""
    require_degree(agents, degree)
    if agents * degree % 2:
        raise ConfigError("degree", degree, f"an even one: {agents} agents x {degree} is odd")


def require_ring(agents: int, degree: int) -> None:
    """Refuse a degree that has no half."""
    require_degree(agents, degree)
    if degree % 2:
        raise ConfigError("degree", degree, "an even one, half on each side of the ring")


def require_joining(agents: int, degree: int) -> None:
    """Refuse a degree of which nobody who joins could make half."""
    require_degree(agents, degree)
    if degree < 2 or degree % 2:
        raise ConfigError("degree", degree, "an even one, at least 2")


def side_of_grid(agents: int) -> int:
    """Of a square of so many agents."""
    side = isqrt(agents)
    if side * side != agents or side < 3:
        raise ConfigError("agents", agents, "a square number of at least 9, for a grid")
    return side


def _pair_up(agents: int, degree: int, generator: Generator) -> IntArray | None:
    ends = np.repeat(np.arange(agents), degree)
    keys = np.empty(0, dtype=np.int64)  # low * agents + high of the edges so far, sorted
    while len(ends):
        generator.shuffle(ends)
        low, high = np.minimum(ends[::2], ends[1::2]), np.maximum(ends[::2], ends[1::2])
        drawn = low * agents + high
        again = (low == high) | _contains(keys, drawn) | _drawn_before(drawn)
        new = np.sort(drawn[~again])
        keys = np.insert(keys, np.searchsorted(keys, new), new) if len(keys) else new
        ends = np.concatenate([low[again], high[again]])
        if not len(new) and not _any_pair_left(ends, keys, agents):
            return None
    return np.column_stack(np.divmod(keys, agents))


def _drawn_before(drawn: IntArray) -> NDArray[np.bool_]:
    """Which of these are equal to an earlier one. Few are: they are looked at one by one."""
    ordered = np.sort(drawn)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    places = np.flatnonzero(_contains(twice, drawn))
    _, first = np.unique(drawn[places], return_index=True)
    before = np.zeros(len(drawn), dtype=bool)
    before[np.delete(places, first)] = True
    return before


def _any_pair_left(ends: IntArray, keys: IntArray, agents: int) -> bool:
    left = np.unique(ends)
    low, high = np.triu_indices(len(left), k=1)
    return not _contains(keys, left[low] * agents + left[high]).all()


def _contains(keys: IntArray, values: IntArray) -> NDArray[np.bool_]:
    return np.asarray(np.append(keys, -1)[np.searchsorted(keys, values)] == values)


def erdos_renyi(agents: int, degree: float, generator: Generator) -> Graph:
    """Every edge present independently, so that the mean degree is `degree`."""
    require_degree(agents, degree)
    probability = degree / (agents - 1) if agents > 1 else 0.0
    return Graph.from_networkx(nx.fast_gnp_random_graph(agents, probability, _seed(generator)))


def small_world(agents: int, degree: int, rewired: float, generator: Generator) -> Graph:
    """Watts and Strogatz: a ring of near neighbours with a share of the edges rewired."""
    require_ring(agents, degree)
    return Graph.from_networkx(nx.watts_strogatz_graph(agents, degree, rewired, _seed(generator)))


def scale_free(agents: int, degree: int, generator: Generator) -> Graph:
    """Barabasi and Albert: everyone who joins links to degree / 2 others, popular ones first."""
    require_joining(agents, degree)
    return Graph.from_networkx(nx.barabasi_albert_graph(agents, degree // 2, _seed(generator)))


def grid(agents: int) -> Graph:
    """A square grid that closes upon itself, so that everyone has four neighbours."""
    side = side_of_grid(agents)
    return Graph.from_networkx(nx.grid_2d_graph(side, side, periodic=True))


def complete(agents: int) -> Graph:
    """Everyone a neighbour of everyone."""
    return Graph.from_unique_edges(np.stack(np.triu_indices(agents, k=1), axis=1), agents)


def read_edges(path: Path) -> list[tuple[int, int]]:
    """Return the edges in a text file with two agent numbers, counted from 0, on each line."""
    try:
        pairs = np.loadtxt(path, dtype=np.int64, ndmin=2, usecols=(0, 1))
    except OSError as error:
        raise ConfigError("file", str(path), f"a file to read ({error})") from None
    except (ValueError, IndexError):
        raise ConfigError("file", str(path), "two agent numbers on each line") from None
    return [(a, b) for a, b in pairs.tolist()]


def _seed(generator: Generator) -> int:
    return int(generator.integers(2**32))


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
