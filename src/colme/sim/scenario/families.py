"""Who can talk to whom: a table for each family of graphs, with the options that it has."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from numpy.random import Generator, default_rng
from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from colme.configuration import Table, of_kind
from colme.errors import ConfigError
from colme.graph import Graph
from colme.sim import graphs


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

    @property
    def contents(self) -> Sequence[tuple[int, int]] | None:
        """Edges in the file that it reads; None if it reads no file."""
        return None

    def with_file_read(self) -> Self:
        """Return the same family, without a file."""
        return self

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


class RandomRegular(WithDegree):
    """Everyone has the same number of neighbours, drawn at random: the paper's graphs."""

    family: Literal["random-regular"] = "random-regular"

    def check(self, agents: int, degree: int) -> None:
        """The ends of edges have to come in pairs."""
        graphs.require_regular(agents, degree)

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """By pairing free ends."""
        return graphs.random_regular(agents, degree, generator)


class ErdosRenyi(WithDegree):
    """Every edge is there with the same probability."""

    family: Literal["erdos-renyi"]

    def check(self, agents: int, degree: int) -> None:
        """Any degree will do that there can be."""
        graphs.require_degree(agents, degree)

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """Of this mean degree."""
        return graphs.erdos_renyi(agents, degree, generator)


class SmallWorld(WithDegree):
    """A ring of near neighbours, a share of the edges rewired (Watts and Strogatz)."""

    family: Literal["small-world"]
    rewired: float = Field(0.1, ge=0, le=1)
    """Of the edges, that lead anywhere."""

    def check(self, agents: int, degree: int) -> None:
        """The ring has two sides."""
        graphs.require_ring(agents, degree)

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """With half of the neighbours on each side of the ring."""
        return graphs.small_world(agents, degree, self.rewired, generator)


class ScaleFree(WithDegree):
    """Who joins links to the popular (Barabasi and Albert)."""

    family: Literal["scale-free"]

    def check(self, agents: int, degree: int) -> None:
        """Who joins makes half of the degree."""
        graphs.require_joining(agents, degree)

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """Of this mean degree."""
        return graphs.scale_free(agents, degree, generator)


class Grid(Family):
    """A square grid that closes upon itself."""

    family: Literal["grid"]

    def mean_degree(self, agents: int, degree: int) -> float:
        """To four sides."""
        return 4

    def check(self, agents: int, degree: int) -> None:
        """It is a square."""
        graphs.side_of_grid(agents)

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """Four neighbours each."""
        return graphs.grid(agents)


class Complete(Family):
    """Everyone a neighbour of everyone."""

    family: Literal["complete"]

    def mean_degree(self, agents: int, degree: int) -> float:
        """All the others."""
        return agents - 1

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """All edges there can be."""
        return graphs.complete(agents)


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
            self._read = graphs.read_edges(self.file)
        return self

    @property
    def contents(self) -> Sequence[tuple[int, int]] | None:
        """Edges in the file."""
        return self._read

    def mean_degree(self, agents: int, degree: int) -> float:
        """As the edges have it."""
        return 2 * len(self._read or self.edges or []) / agents

    def check(self, agents: int, degree: int) -> None:
        """Whether all edges are between two of these agents."""
        self.draw(agents, degree, default_rng(0))

    def draw(self, agents: int, degree: int, generator: Generator) -> Graph:
        """The same every time."""
        if self.labels is not None and len(set(self.labels)) != agents:
            seen = f"{len(set(self.labels))} different ones"
            raise ConfigError("graph.labels", seen, f"one for each of the {agents} agents")
        return Graph.from_edges(self._read or self.edges or [], agents)

    def with_file_read(self) -> Self:
        """As a list of edges."""
        if self._read is None:
            return self
        return type(self)(family="edges", edges=self._read, labels=self.labels)

    def names(self, agents: int) -> list[int] | list[str]:
        """As their labels say."""
        return super().names(agents) if self.labels is None else self.labels


GraphFamily = Annotated[
    Annotated[
        RandomRegular | ErdosRenyi | SmallWorld | ScaleFree | Grid | Complete | Listed,
        Field(discriminator="family"),
    ],
    BeforeValidator(of_kind("family", "random-regular")),
]
"""One of them, by its name."""
