"""The sites of a study, their values within the bounds, and the graph over which they talk."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colme.errors import ConfigError, one_of
from colme.graph import Graph
from colme.sim import graphs
from colme.studies.read import BadRows, Read

FloatArray = NDArray[np.float64]

CLIPPED = 0.01
"""Share of all rows above which clipping is warned of."""

TOO_WIDE = 10.0
"""Bounds this many times wider than the data are warned of."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sites:
    """The sites that take part, their values, and what was left out."""

    names: tuple[str, ...]
    values: tuple[FloatArray, ...]
    """Values of each site, clipped to the bounds, in their order."""
    bounds: tuple[float, float]
    rows: int
    """Rows of the whole table."""
    bad: tuple[BadRows, ...]
    left_out: tuple[tuple[str, int], ...]
    """Sites with too few rows, and how many they have."""
    min_samples: int
    warnings: tuple[str, ...]

    @property
    def means(self) -> FloatArray:
        """Mean of each site: the truth of a study that resamples."""
        return np.array([values.mean() for values in self.values])

    @property
    def variances(self) -> FloatArray:
        """Variance of a value drawn from each site."""
        return np.array([values.var() for values in self.values])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each site."""
        return np.array([values.size for values in self.values])

    @property
    def half_range(self) -> float:
        """L, half the width of the bounds."""
        return (self.bounds[1] - self.bounds[0]) / 2

    @property
    def midpoint(self) -> float:
        """Midpoint of the bounds."""
        return (self.bounds[0] + self.bounds[1]) / 2


def sites_of(
    read: Read, *, bounds: tuple[float, float], min_samples: int, epsilons: Sequence[float]
) -> Sites:
    """Return the sites with enough rows, their values clipped to the bounds."""
    lo, hi = bounds
    kept = {name: given for name, given in read.values.items() if given.size >= min_samples}
    if len(kept) < 2:
        sizes = sorted((given.size for given in read.values.values()), reverse=True)
        largest = ", ".join(map(str, sizes[:3])) or "none"
        seen = f"{len(kept)} with {min_samples} rows or more (rows of the largest: {largest})"
        if read.bad:
            seen += f", not used: {'; '.join(map(str, read.bad))}"
        raise ConfigError(
            "sites", seen, "two sites or more (relay needs six): add rows, or lower min_samples"
        )
    raw = np.concatenate(list(kept.values()))
    return Sites(
        names=tuple(kept),
        values=tuple(np.clip(given, lo, hi) for given in kept.values()),
        bounds=(float(lo), float(hi)),
        rows=read.rows,
        bad=read.bad,
        left_out=tuple(
            (name, given.size) for name, given in read.values.items() if name not in kept
        ),
        min_samples=min_samples,
        warnings=(
            *_clipping(kept, raw, lo, hi),
            *_width(raw, lo, hi, epsilons),
            *_flat(kept),
        ),
    )


def _clipping(kept: dict[str, FloatArray], raw: FloatArray, lo: float, hi: float) -> list[str]:
    """Warn of the bias of clipped values, which no number of samples removes."""
    below, above = float(np.mean(raw < lo)), float(np.mean(raw > hi))
    if below + above <= CLIPPED:
        return []
    moved = {
        name: abs(float(np.clip(given, lo, hi).mean() - given.mean()))
        for name, given in kept.items()
    }
    worst = max(moved, key=lambda name: moved[name])
    average = sum(moved.values()) / len(moved)
    return [
        f"The bounds {lo:g} to {hi:g} clip {below + above:.1%} of all rows ({below:.1%} below,"
        f" {above:.1%} above). A site learns the mean of its clipped values, alone or together."
        f" That mean is off by {average:.3g} on average, and by {moved[worst]:.3g} at {worst}."
        " This study compares all answers with the clipped mean."
    ]


def _width(raw: FloatArray, lo: float, hi: float, epsilons: Sequence[float]) -> list[str]:
    """Warn of noise for a range that the data do not use."""
    spread = float(raw.max() - raw.min())
    if spread == 0 or hi - lo < TOO_WIDE * spread:
        return []
    times = (hi - lo) / spread
    private = [epsilon for epsilon in epsilons if isfinite(epsilon)]
    same = ""
    if private:
        smaller = ", ".join(f"{epsilon / times:.2g}" for epsilon in private)
        given = ", ".join(f"{epsilon:g}" for epsilon in private)
        same = f", as if epsilon were {smaller} instead of {given}"
    return [
        f"The bounds {lo:g} to {hi:g} are {times:.0f} times as wide as the data. The noise is"
        f" proportional to the bounds, so it is {times:.0f} times as large as narrow bounds would"
        f" need{same}. Choose narrower bounds from public knowledge, not from these data."
    ]


def _flat(kept: dict[str, FloatArray]) -> list[str]:
    flat = [name for name, given in kept.items() if given.min() == given.max()]
    if not flat:
        return []
    some = ", ".join(flat[:5]) + (", ..." if len(flat) > 5 else "")
    return [
        f"The same value in every row: {some}. The own mean of such a site is exact from the first"
        " sample on, so it can't gain."
    ]


@dataclass(frozen=True, slots=True)
class Links:
    """The graph over the sites of a study, or a family of random ones."""

    sites: int
    degree: int | None = None
    edges: tuple[tuple[int, int], ...] | None = None

    def draw(self, seed: Sequence[int]) -> Graph:
        """Draw the graph; a random one depends on the seed."""
        if self.edges is not None:
            return Graph.from_edges(self.edges, self.sites)
        if self.degree is not None and self.degree != self.sites - 1:
            return graphs.random_regular(self.sites, self.degree, np.random.default_rng(seed))
        return graphs.complete(self.sites)

    @property
    def words(self) -> str:
        """The graph, for people."""
        if self.edges is not None:
            return f"over the {len(self.edges):,} edges given"
        if self.degree is not None:
            return f"over random graphs in which each has {self.degree} neighbours"
        return "each a neighbour of every other"

    @property
    def warnings(self) -> list[str]:
        """A warning if some sites can't reach all others."""
        if self.edges is None:
            return []
        parts = len(np.unique(self.draw([0]).components(np.zeros(self.sites, np.int64))))
        if parts == 1:
            return []
        return [f"The edges leave {parts} parts that can't reach each other."]


def links_of(
    names: Sequence[str],
    left_out: Sequence[str],
    *,
    degree: int | None,
    edges: Path | str | Iterable[tuple[str, str]] | None,
) -> Links:
    """Return the graph over the sites `names`, without the edges of sites that are left out."""
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
    """Read two sites per line, separated by a comma, a semicolon or a tab."""
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
