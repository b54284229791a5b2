"""Communication graphs: the paper's random regular ones, and every family of a scenario.

A family is a table of a scenario with the options that it has: `check` says whether there is such a
graph, without drawing one, and `draw` draws it. Only the paper's graphs have a generator of their
own here, since networkx takes several times as long; the others are networkx's, which is imported
when one of them is drawn.
"""

from collections.abc import Iterator, Sequence
from math import isqrt
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from colme.config import KindBy, Table
from colme.errors import ConfigError
from colme.graph import Graph, IntArray


def random_regular(agents: int, degree: int, generator: Generator) -> Graph:
    """Return a random graph in which all agents have `degree` neighbours.

    Steger and Wormald's pairing: free ends of edges are paired at random; pairs that would make a
    loop or a double edge go back and are paired again. If none of the ends left can be paired, the
    whole draw starts over. (networkx's takes six times as long at 200 agents of degree 20, three
    times at 100,000.)
    """
    RandomRegular().check(agents, degree)
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


def _as_list(value: object) -> object:
    return list(value) if isinstance(value, list | tuple) else [value]


OneOrMore = BeforeValidator(_as_list)
"""One value stands for a list of it."""

Degrees = Annotated[list[int], OneOrMore, Field(min_length=1)]


class Family(Table):
    """What all families offer."""

    @property
    def degrees(self) -> list[int]:
        """The degrees to study, for families that have one; else a single placeholder."""
        return [0]

    def mean_degree(self, agents: int, degree: int) -> float:
        """Neighbours of an agent, about: for a guess at the memory it takes."""
        return degree

    def check(self, agents: int, degree: int) -> None:
        """Whether there is such a graph. One of millions takes minutes to draw: none is drawn."""

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """A graph of this family."""
        raise NotImplementedError

    def names(self, agents: int) -> list[int] | list[str]:
        """What the agents are called, in order."""
        return list(range(agents))


class WithDegree(Family):
    """Families whose agents have so many neighbours each, or so many on average."""

    degree: Degrees = [5]  # noqa: RUF012 (frozen, and copied by pydantic)
    """How many neighbours; several are studied one by one."""

    @property
    def degrees(self) -> list[int]:
        """A study of its own for each."""
        return self.degree

    def check(self, agents: int, degree: int) -> None:
        """Refuse a degree that no graph has."""
        if not 0 <= degree < agents:
            raise ConfigError("degree", degree, f"0 to agents - 1 = {agents - 1}")


class RandomRegular(WithDegree):
    """Everyone has the same number of neighbours, drawn at random: the paper's graphs."""

    family: Literal["random-regular"] = "random-regular"

    def check(self, agents: int, degree: int) -> None:
        """The ends of edges have to come in pairs."""
        super().check(agents, degree)
        if agents * degree % 2:
            raise ConfigError("degree", degree, f"an even one: {agents} agents x {degree} is odd")

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """By pairing free ends."""
        return random_regular(agents, degree, generator)


class ErdosRenyi(WithDegree):
    """Every edge is there with the same probability, so that the mean degree is `degree`."""

    family: Literal["erdos-renyi"]

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """Of this mean degree."""
        import networkx as nx

        probability = degree / (agents - 1)
        return Graph.from_networkx(nx.fast_gnp_random_graph(agents, probability, _seed(generator)))


class SmallWorld(WithDegree):
    """A ring of near neighbours, a share of the edges rewired (Watts and Strogatz)."""

    family: Literal["small-world"]
    rewired: float = Field(0.1, ge=0, le=1)
    """Of the edges, that lead anywhere."""

    def check(self, agents: int, degree: int) -> None:
        """The ring has two sides."""
        super().check(agents, degree)
        if degree % 2:
            raise ConfigError("degree", degree, "an even one, half on each side of the ring")

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """With half of the neighbours on each side of the ring."""
        import networkx as nx

        seed = _seed(generator)
        return Graph.from_networkx(nx.watts_strogatz_graph(agents, degree, self.rewired, seed))


class ScaleFree(WithDegree):
    """Who joins links to degree / 2 others, popular ones first (Barabasi and Albert)."""

    family: Literal["scale-free"]

    def check(self, agents: int, degree: int) -> None:
        """Who joins makes half of the degree."""
        super().check(agents, degree)
        if degree < 2 or degree % 2:
            raise ConfigError("degree", degree, "an even one, at least 2")

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """Of this mean degree."""
        import networkx as nx

        return Graph.from_networkx(nx.barabasi_albert_graph(agents, degree // 2, _seed(generator)))


class Grid(Family):
    """A square grid that closes upon itself, so that everyone has four neighbours."""

    family: Literal["grid"]

    def mean_degree(self, agents: int, degree: int) -> float:
        """To four sides."""
        return 4

    def check(self, agents: int, degree: int) -> None:
        """It is a square."""
        if isqrt(agents) ** 2 != agents or agents < 9:
            raise ConfigError("agents", agents, "a square number of at least 9, for a grid")

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """Four neighbours each."""
        import networkx as nx

        side = isqrt(agents)
        return Graph.from_networkx(nx.grid_2d_graph(side, side, periodic=True))


class Complete(Family):
    """Everyone a neighbour of everyone."""

    family: Literal["complete"]

    def mean_degree(self, agents: int, degree: int) -> float:
        """All the others."""
        return agents - 1

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """All edges there can be."""
        return complete(agents)


class Listed(Family):
    """Edges as given, in a list or a file."""

    family: Literal["edges"]
    file: Path | None = None
    """Two agents a line, numbered from 0,"""
    edges: list[tuple[int, int]] | None = None
    """or pairs of them."""
    labels: list[int] | list[str] | None = None
    """What the agents are called, in order; their numbers if not given."""

    _read: list[tuple[int, int]] | None = PrivateAttr(None)
    """Contents of the file, read once: an edit while runs are computed must not mix two graphs."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.file is None) == (self.edges is None):
            raise ConfigError("family", "edges", "a file or a list of edges with it")
        if self.file is not None:
            self._read = _read_edges(self.file)
        return self

    @property
    def contents(self) -> Sequence[tuple[int, int]]:
        """Edges of the list or the file."""
        return self._read or self.edges or []

    def mean_degree(self, agents: int, degree: int) -> float:
        """As the edges have it."""
        return 2 * len(self.contents) / agents

    def check(self, agents: int, degree: int) -> None:
        """Whether all edges are between two of these agents."""
        self.draw(agents, degree, default_rng(0))

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """The same every time."""
        if self.labels is not None and len(set(self.labels)) != agents:
            seen = f"{len(set(self.labels))} different ones"
            raise ConfigError("graph.labels", seen, f"one for each of the {agents} agents")
        return Graph.from_edges(self.contents, agents)

    def names(self, agents: int) -> list[int] | list[str]:
        """As their labels say."""
        return super().names(agents) if self.labels is None else self.labels


GraphFamily = Annotated[
    RandomRegular | ErdosRenyi | SmallWorld | ScaleFree | Grid | Complete | Listed,
    KindBy("family", default="random-regular"),
]
"""One of them, by its name."""


def complete(agents: int) -> Graph:
    """Return the graph in which everyone is a neighbour of everyone."""
    return Graph.from_unique_edges(np.stack(np.triu_indices(agents, k=1), axis=1), agents)


def _read_edges(path: Path) -> list[tuple[int, int]]:
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
