"""Who can talk to whom in a study: everybody, so many at random, or the pairs of a list."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from colme.errors import ConfigError, one_of
from colme.graph import Graph
from colme.sim import graphs


@dataclass(frozen=True, slots=True)
class Links:
    """A family of graphs over the sites of a study."""

    sites: int
    degree: int | None = None
    edges: tuple[tuple[int, int], ...] | None = None

    def draw(self, seed: Sequence[int]) -> Graph:
        """Another one for every seed where it is random."""
        if self.edges is not None:
            return Graph.from_edges(self.edges, self.sites)
        if self.degree is not None and self.degree != self.sites - 1:
            return graphs.random_regular(self.sites, self.degree, np.random.default_rng(seed))
        return graphs.complete(self.sites)

    @property
    def words(self) -> str:
        """For people."""
        if self.edges is not None:
            return f"over the {len(self.edges):,} edges given"
        if self.degree is not None:
            return f"over random graphs in which each has {self.degree} neighbours"
        return "each a neighbour of every other"

    @property
    def warnings(self) -> list[str]:
        """Where not everybody can hear of everybody."""
        if self.edges is None:
            return []
        parts = len(np.unique(self.draw([0]).components(np.zeros(self.sites, np.int64))))
        if parts == 1:
            return []
        return [f"The edges leave {parts} parts that hear nothing of each other."]


def links_of(
    names: Sequence[str],
    left_out: Sequence[str],
    *,
    degree: int | None,
    edges: Path | str | Iterable[tuple[str, str]] | None,
) -> Links:
    """Of the sites of these names; edges of those left out are left out with them."""
    if degree is not None and edges is not None:
        raise ConfigError("degree", degree, "a degree or edges, not both")
    if edges is None:
        links = Links(len(names), degree)
        links.draw([0])  # Refuses a degree that no graph has.
        return links
    number = {name: i for i, name in enumerate(names)}
    pairs = _read(Path(edges)) if isinstance(edges, Path | str) else list(edges)
    found = []
    for pair in pairs:
        ends = [str(end) for end in pair]
        for end in ends:
            if end not in number and end not in left_out:
                raise ConfigError("edges", end, f"a site: {one_of(end, list(names))}")
        if all(end in number for end in ends):
            found.append((number[ends[0]], number[ends[1]]))
    links = Links(len(names), edges=tuple(found))
    links.draw([0])
    return links


def _read(path: Path) -> list[tuple[str, str]]:
    """Two sites a line, with a comma, a semicolon or a tab between them."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("edges", str(path), f"a text file to read ({error})") from None
    pairs = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        separator = next((one for one in ",;\t" if one in line), ",")
        ends = [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
        if len(ends) != 2:
            raise ConfigError("edges", f"line {number}: {line}", "two sites with a comma between")
        pairs.append((ends[0], ends[1]))
    return pairs
