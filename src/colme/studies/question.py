"""What a study is asked: the sites of a table, the graph between them, algorithms and epsilons.

`prepare` reads and checks everything, before anything is computed.
"""

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from colme import plugins
from colme.columns import BadRows, Read, read
from colme.config import Table, plain, validated
from colme.errors import ConfigError, one_of
from colme.graph import Graph, IntArray
from colme.rules.release import Profile
from colme.sim import graphs
from colme.sim.engines import AlgorithmTable, PaperTable, RelayTable
from colme.sim.graphs import OneOrMore
from colme.sim.scenario import AnyAlgorithm, Epsilon
from colme.studies import MIN_SAMPLES, RUNS, SAMPLES

FloatArray = NDArray[np.float64]

CLIPPED = 0.01
"""Share of all rows above which clipping is warned of."""

TOO_WIDE = 10.0
"""Bounds this many times wider than the data are warned of."""

MODES = ("resample", "replay")

ASKED = 150
"""Sites up to which every one answers in every run; of more, as many at a time, in turn: an answer
takes a fit of its own."""

MARKS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
FIRST_MARK = 3
"""Counts at which answers are compared: these, times powers of ten, from the first on."""


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
        warnings=tuple(_warnings(kept, lo, hi, epsilons)),
    )


def _warnings(
    kept: Mapping[str, FloatArray], lo: float, hi: float, epsilons: Sequence[float]
) -> Iterator[str]:
    """Warn of the bias of clipped values, of noise for an unused range, of sites that can't gain.

    No number of samples removes that bias. Neither a value nor an extreme of the data is quoted.
    """
    raw = np.concatenate(list(kept.values()))
    below, above = float(np.mean(raw < lo)), float(np.mean(raw > hi))
    if below + above > CLIPPED:
        moved = {
            name: abs(float(np.clip(given, lo, hi).mean() - given.mean()))
            for name, given in kept.items()
        }
        worst = max(moved, key=lambda name: moved[name])
        average = sum(moved.values()) / len(moved)
        yield (
            f"The bounds {lo:g} to {hi:g} clip {below + above:.1%} of all rows ({below:.1%} below,"
            f" {above:.1%} above). A site learns the mean of its clipped values, alone or together."
            f" That mean is off by {average:.3g} on average, and by {moved[worst]:.3g} at {worst}."
            " This study compares all answers with the clipped mean."
        )
    spread = float(raw.max() - raw.min())
    if spread > 0 and hi - lo >= TOO_WIDE * spread:
        times = (hi - lo) / spread
        same, private = "", [epsilon for epsilon in epsilons if isfinite(epsilon)]
        if private:
            smaller = ", ".join(f"{epsilon / times:.2g}" for epsilon in private)
            given = ", ".join(f"{epsilon:g}" for epsilon in private)
            same = f", as if epsilon were {smaller} instead of {given}"
        yield (
            f"The bounds {lo:g} to {hi:g} are {times:.0f} times as wide as the data. The noise is"
            f" proportional to the bounds, so it is {times:.0f} times as large as narrow bounds"
            f" would need{same}. Choose narrower bounds from public knowledge, not from these data."
        )
    flat = [name for name, rows in kept.items() if rows.min() == rows.max()]
    if flat:
        some = ", ".join(flat[:5]) + (", ..." if len(flat) > 5 else "")
        yield (
            f"The same value in every row: {some}. The own mean of such a site is exact from the"
            " first sample on, so it can't gain."
        )


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
    links = Links(len(names), degree)
    if edges is not None:
        pairs = _pairs_in(Path(edges)) if isinstance(edges, Path | str) else edges
        links = Links(len(names), edges=tuple(_numbered(pairs, names, left_out)))
    links.draw([0])  # Refuses a degree, or edges, that no graph has.
    return links


def _numbered(
    pairs: Iterable[tuple[str, str]], names: Sequence[str], left_out: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield the numbers of both sites of a pair, if both take part."""
    number = {name: i for i, name in enumerate(names)}
    for pair in pairs:
        a, b = map(str, pair)
        for end in (a, b):
            if end not in number and end not in left_out:
                raise ConfigError("edges", end, f"a site: {one_of(end, list(names))}")
        if a in number and b in number:
            yield number[a], number[b]


def _pairs_in(path: Path) -> list[tuple[str, str]]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyQuestion:
    """All that a study depends on, validated: the same question has the same result."""

    sites: Sites
    links: Links
    mode: str
    """One of `MODES`, or the name of a custom feed."""
    epsilons: tuple[float, ...]
    algorithms: tuple[AlgorithmTable, ...]
    runs: int
    samples: int
    """At each site, at the end: so many rounds. Of a replay, at the site with the most rows."""
    seed: int

    @property
    def facts(self) -> dict[str, Any]:
        """All that the answer depends on, as plain data: of rows and edges, a hash."""
        rows = hashlib.sha256(repr(self.sites.names).encode())
        for values in self.sites.values:
            rows.update(values.tobytes())
        edges = self.links.edges
        algorithms = [json.loads(table.model_dump_json()) for table in self.algorithms]
        return {
            "rows": rows.hexdigest()[:16],
            "bounds": list(self.sites.bounds),
            "degree": self.links.degree,
            "edges": edges and hashlib.sha256(repr(edges).encode()).hexdigest()[:16],
            "mode": self.mode,
            "sources": plugins.sources({"rule": self.mode, "algorithms": algorithms}),
            "epsilon": list(self.epsilons),
            "algorithms": algorithms,
            "runs": self.runs,
            "samples": self.samples,
            "seed": self.seed,
        }

    @property
    def profiles(self) -> list[Profile]:
        """One for each epsilon: nothing is known but the bounds, about their midpoint."""
        half_range = self.sites.half_range
        return [Profile.bounded(-half_range, half_range, epsilon=one) for one in self.epsilons]

    @property
    def paces(self) -> FloatArray | None:
        """[sites]: samples a round, where rows are replayed."""
        if self.mode != "replay":
            return None
        fed = fed_rows(self.sites.counts)
        return np.asarray(fed / fed.max())


class _Options(Table):
    """Options of a study that can be checked without its data."""

    bounds: list[float]
    epsilon: Annotated[list[Epsilon], OneOrMore] = Field(min_length=1)
    algorithms: Annotated[list[AnyAlgorithm], OneOrMore] = Field(min_length=1)
    min_samples: int = Field(ge=2)
    samples: int = Field(ge=FIRST_MARK)
    runs: int = Field(ge=2)
    seed: int = Field(ge=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.bounds) != 2 or not -inf < self.bounds[0] < self.bounds[1] < inf:
            raise ConfigError("bounds", self.bounds, "two finite numbers, the lower one first")
        if len(set(self.epsilon)) < len(self.epsilon):
            raise ConfigError("epsilon", self.epsilon, "each once")
        return self


def fed_rows(counts: IntArray) -> IntArray:
    """Of so many rows, those that are not held out."""
    return counts - counts // 2


def prepare(
    data: Any,
    *,
    site: str | None = None,
    value: str | None = None,
    bounds: Any,
    epsilon: Any,
    mode: str | type = "resample",
    time: str | None = None,
    min_samples: int = MIN_SAMPLES,
    degree: int | None = None,
    edges: Any = None,
    algorithm: Any = "recommended",
    samples: int | None = None,
    runs: int | None = None,
    seed: int = 1,
) -> StudyQuestion:
    """Read and check everything; raise a ConfigError if something is wrong. See `study`."""
    mode = plugins.text_of(mode)
    replays = mode == "replay"
    if plugins.is_own(mode):
        plugins.load("mode", mode)  # refused before anything is read
    elif mode not in MODES:
        expected = f"{one_of(mode, MODES)}, or module:attribute of a feed of your own"
        raise ConfigError("mode", mode, expected)
    if replays and min_samples < 4:
        raise ConfigError("min_samples", min_samples, "at least 4 in a replay")
    if time is not None and not replays:
        raise ConfigError("time", time, "mode replay: rows that are drawn again have no order")
    if samples is not None and replays:
        raise ConfigError("samples", samples, "none: a replay has as many as there are rows")
    asked = validated(
        _Options,
        plain(
            {
                "bounds": bounds,
                "epsilon": epsilon,
                "algorithms": algorithm,
                "min_samples": min_samples,
                "samples": SAMPLES if samples is None else samples,
                "runs": RUNS if runs is None else runs,
                "seed": seed,
            }
        ),
    )
    within = asked.bounds[0], asked.bounds[1]
    sites = sites_of(
        read(data, site=site, value=value, time=time),
        bounds=within,
        min_samples=asked.min_samples,
        epsilons=asked.epsilon,
    )
    left_out = [name for name, _ in sites.left_out]
    links = links_of(sites.names, left_out, degree=degree, edges=edges)
    for one in asked.epsilon:  # refuses noise that can't be made, bounds that numbers can't tell
        Profile.bounded(*within, epsilon=one)
    return StudyQuestion(
        sites=sites,
        links=links,
        mode=mode,
        epsilons=tuple(asked.epsilon),
        algorithms=_tables(asked.algorithms, mode),
        runs=asked.runs,
        samples=int(fed_rows(sites.counts).max()) if replays else asked.samples,
        seed=asked.seed,
    )


def recorded(question: StudyQuestion) -> IntArray:
    """The rounds in which answers are compared, the last one included."""
    last = question.samples
    marks = [round(mark * 10**power) for power in range(len(str(last))) for mark in MARKS]
    if question.paces is not None:
        # Those at which sites have so many on average.
        marks = [round(mark / float(question.paces.mean())) for mark in marks]
    chosen = {mark for mark in marks if FIRST_MARK <= mark < last}
    return np.array(sorted(chosen | {last}))


def _tables(given: Sequence[AlgorithmTable], mode: str) -> tuple[AlgorithmTable, ...]:
    tables = [_not_knowing(table) for table in given]
    for table in tables:
        if mode == "replay" and not table.allows_paces:
            expected = "relay: at a pace of their own sites have no rounds in common"
            raise ConfigError("algorithm", table.label, expected)
    labels = [table.label for table in tables]
    if len(set(labels)) < len(labels):
        raise ConfigError("algorithm", labels, "each once")
    return tuple(tables)


def _not_knowing(table: AlgorithmTable) -> AlgorithmTable:
    """The same, where nobody knows a variance."""
    match table:
        case RelayTable():
            return table.model_copy(update={"variance": "released"})
        case PaperTable(rule=rule) if rule != "oracle":
            return table
        case AlgorithmTable(algorithm="local"):
            return table
        case _:
            expected = "relay, paper or one of its rules, local: others need to know more"
            raise ConfigError("algorithm", table.label, expected)
