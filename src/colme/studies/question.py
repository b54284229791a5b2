"""What a study is asked: whose data, which algorithms at which epsilon, over which graph."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from pydantic import Field

from colme import plugins
from colme.config import Table, validated
from colme.errors import ConfigError, one_of
from colme.graph import IntArray
from colme.rules.release import Profile
from colme.sim.engines import AlgorithmTable, PaperTable, RelayTable
from colme.sim.scenario import AnyAlgorithm
from colme.studies import RUNS, SAMPLES
from colme.studies.sites import FloatArray, Links, Sites

MODES = ("resample", "replay")

ASKED = 150
"""Sites up to which every one answers in every run; of more, as many at a time, in turn: an answer
takes a fit of its own."""

MARKS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
FIRST_MARK = 3
"""Counts at which answers are compared: these, times powers of ten, from the first on."""


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


def fed_rows(counts: IntArray) -> IntArray:
    """Of so many rows, those that are not held out."""
    return counts - counts // 2


def validated_question(
    sites: Sites,
    links: Links,
    *,
    mode: str,
    epsilons: tuple[float, ...],
    algorithm: Any,
    runs: int | None,
    samples: int | None,
    seed: int,
) -> StudyQuestion:
    """Make a question of what the user gave, or raise a ConfigError."""
    if mode not in MODES and not plugins.is_own(mode):
        expected = f"{one_of(mode, MODES)}, or module:attribute of a feed of your own"
        raise ConfigError("mode", mode, expected)
    if mode == "replay":
        if samples is not None:
            expected = "none: a replay has as many as there are rows"
            raise ConfigError("samples", samples, expected)
        samples = int(fed_rows(sites.counts).max())
    question = StudyQuestion(
        sites=sites,
        links=links,
        mode=mode,
        epsilons=epsilons,
        algorithms=_tables(algorithm, mode),
        runs=at_least(2, "runs", RUNS if runs is None else runs),
        samples=at_least(FIRST_MARK, "samples", SAMPLES if samples is None else samples),
        seed=at_least(0, "seed", seed),
    )
    for one in epsilons:  # Refuses noise that can't be made, and bounds that numbers can't tell.
        Profile.bounded(*sites.bounds, epsilon=one)
    return question


def recorded(question: StudyQuestion) -> IntArray:
    """The rounds in which answers are compared, the last one included."""
    last = question.samples
    marks = [round(mark * 10**power) for power in range(len(str(last))) for mark in MARKS]
    if question.paces is not None:
        # Those at which sites have so many on average.
        marks = [round(mark / float(question.paces.mean())) for mark in marks]
    chosen = {mark for mark in marks if FIRST_MARK <= mark < last}
    return np.array(sorted(chosen | {last}))


def epsilons_of(given: Any) -> tuple[float, ...]:
    """Return one or several epsilons."""
    numbers = _numbers(given if isinstance(given, Sequence | np.ndarray) else [given])
    if not numbers or len(set(numbers)) < len(numbers) or not all(one > 0 for one in numbers):
        raise ConfigError("epsilon", given, "different numbers above 0, or inf for no privacy")
    return tuple(numbers)


def bounds_of(given: Any) -> tuple[float, float]:
    """Return two numbers, the lower one first."""
    numbers = _numbers(given)
    if len(numbers) != 2 or not -inf < numbers[0] < numbers[1] < inf:
        raise ConfigError("bounds", given, "two finite numbers, the lower one first")
    return numbers[0], numbers[1]


def _numbers(given: Any) -> list[float]:
    """Return the values as floats, or an empty list if any is not a number."""
    try:
        return [float(one) for one in given]
    except (TypeError, ValueError):
        return []


def at_least(least: int, field: str, given: Any) -> int:
    """A whole number."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise ConfigError(field, given, f"a whole number, at least {least}")
    return int(given)


class _Entrants(Table):
    algorithms: list[AnyAlgorithm] = Field(min_length=1)


def _tables(given: Any, mode: str) -> tuple[AlgorithmTable, ...]:
    several = list(given) if isinstance(given, list | tuple) else [given]
    given_tables = validated(_Entrants, {"algorithms": several}).algorithms
    tables = [_not_knowing(table) for table in given_tables]
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
