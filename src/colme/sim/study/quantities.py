"""What results hold: every quantity once, with its name, dimensions, meaning and making.

Batches hand over sums over their runs (`Sums`); `AllRuns` adds them up in order, so that the same
runs always give the same bits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from colme.sim.engines import MEASURED, FloatArray, Record

Sums = Mapping[str, FloatArray]
"""Of one batch: `runs`, and sums over them."""

CELL = ("algorithm", "epsilon", "degree", "t")
DEGREE = ("degree", "t")


def sums_of(record: Record, agents: int) -> dict[str, FloatArray]:
    """What was measured, [cells, rows, runs], summed over runs; per agent where it is theirs."""
    mse = record["error"] / agents
    sums = {name: record[name].sum(axis=-1) for name in MEASURED if name != "error"}
    for name in ("alone", "size", "local", "close"):
        sums[name] = sums[name] / agents
    return {"mse": mse.sum(axis=-1), **sums}


@dataclass(frozen=True, slots=True)
class AllRuns:
    """All batches of all degrees: `sums[degree][batch]`."""

    sums: Sequence[Sequence[Sums]]
    runs: int
    recorded: FloatArray
    shape: tuple[int, ...]
    """Algorithms, epsilons, recorded rounds."""

    def total(self, degree: int, name: str) -> FloatArray:
        """Over all runs."""
        return np.asarray(np.sum([part[name] for part in self.sums[degree]], axis=0))

    def by_cell(self, values: Callable[[int], FloatArray]) -> FloatArray:
        """Over `CELL`."""
        degrees = range(len(self.sums))
        return np.stack([values(d).reshape(self.shape) for d in degrees], axis=2)

    def by_degree(self, values: Callable[[int], FloatArray]) -> FloatArray:
        """Over degrees first."""
        return np.stack([values(d) for d in range(len(self.sums))])

    def mean(self, name: str) -> FloatArray:
        """Of a cell, over the runs."""
        return self.by_cell(lambda d: self.total(d, name) / self.runs)

    def mean_of_degree(self, name: str) -> FloatArray:
        """Of what does not depend on the algorithm."""
        return self.by_degree(lambda d: self.total(d, name) / self.runs)

    def share(self, part: str, whole: str) -> FloatArray:
        """NaN where there is nothing to have a share of."""
        with np.errstate(invalid="ignore"):
            return self.by_cell(lambda d: self.total(d, part) / self.total(d, whole))

    def error_of_mean(self, name: str) -> FloatArray:
        """The standard error of `mean`."""
        return self.by_cell(lambda d: _standard_error(self.sums[d], name))

    def error_of_share(self, part: str, whole: str) -> FloatArray:
        """That of `share`."""
        with np.errstate(invalid="ignore"):
            return self.by_cell(lambda d: ratio_error(self.sums[d], part, whole))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A variable of the results."""

    name: str
    dims: tuple[str, ...]
    description: str
    of: Callable[[AllRuns], FloatArray]


def _averaged(name: str, summed: str, description: str) -> tuple[Quantity, Quantity]:
    """A mean over the runs, and its standard error."""
    return (
        Quantity(name, CELL, description, lambda x: x.mean(summed)),
        Quantity(
            f"{name}_se", CELL, f"standard error of {name}", lambda x: x.error_of_mean(summed)
        ),
    )


def _share(name: str, part: str, whole: str, description: str) -> tuple[Quantity, Quantity]:
    """A share of what there was in all runs, and its standard error."""
    return (
        Quantity(name, CELL, description, lambda x: x.share(part, whole)),
        Quantity(
            f"{name}_se", CELL, f"standard error of {name}", lambda x: x.error_of_share(part, whole)
        ),
    )


QUANTITIES = (
    *_averaged("mse", "mse", "mean squared error, averaged over agents and runs"),
    Quantity(
        "mse_local",
        DEGREE,
        "the same of agents that stay alone, on the same data",
        lambda x: x.mean_of_degree("local_mse"),
    ),
    Quantity(
        "mse_local_se",
        DEGREE,
        "standard error of mse_local",
        lambda x: x.by_degree(lambda d: _standard_error(x.sums[d], "local_mse")),
    ),
    Quantity(
        "mse_alone",
        CELL,
        "mse_local of the agents that mse is of, where not all were asked",
        lambda x: x.mean("alone"),
    ),
    Quantity(
        "evaluated",
        CELL,
        "agents of a run whose answers were computed, on average: mse is of these",
        lambda x: x.mean("evaluated"),
    ),
    Quantity(
        "mse_ideal",
        DEGREE,
        "Proposition 3, averaged over the runs' graphs and classes",
        lambda x: x.mean_of_degree("ideal")[:, None] / x.recorded,
    ),
    Quantity(
        "mse_class_ideal",
        DEGREE,
        "of all exact means of one's class together, wherever they are, on the same data",
        lambda x: x.mean_of_degree("class_ideal_mse"),
    ),
    Quantity(
        "mse_theorem1",
        ("epsilon", *DEGREE),
        "Theorem 1, averaged over the runs' graphs and classes",
        lambda x: x.mean_of_degree("theorem1").T[..., None] / x.recorded,
    ),
    Quantity(
        "corollary1_bound",
        ("degree",),
        "Corollary 1's bound on the noise variance, averaged likewise",
        lambda x: x.mean_of_degree("bound"),
    ),
    *_share("type_one", "missed", "within", "share of edges within a class that are not accepted"),
    *_share("type_two", "mixed_up", "between", "share of edges between classes that are accepted"),
    *_averaged("accepted_size", "size", "mean size of an accepted set, the agent itself included"),
    *_averaged("answering_locally", "local", "share of agents that answer with their local mean"),
    *_averaged(
        "within_tolerance",
        "close",
        "share of agents within the scenario's tolerance of their true mean",
    ),
    *_share(
        "coverage",
        "covered",
        "intervals",
        "share of 95% intervals that hold the true mean, where an algorithm tells them",
    ),
    Quantity(
        "messages", CELL, "messages that an agent sends in a round", lambda x: x.mean("messages")
    ),
    Quantity(
        "payload",
        CELL,
        "bytes of it: 8 for a mean or a sum of means, 4 for a count or a size",
        lambda x: x.mean("payload"),
    ),
    Quantity(
        "memory",
        CELL,
        "numbers that an agent keeps from one round to the next",
        lambda x: x.mean("memory"),
    ),
)


def ratio_error(parts: Sequence[Sums], top: str, bottom: str) -> FloatArray:
    """The standard error of a ratio of totals, each of which differs from batch to batch."""
    above, below = (np.array([part[name] for part in parts]) for name in (top, bottom))
    total = below.sum(axis=0)
    if len(parts) == 1:
        return np.full_like(total, np.nan)
    deviations = above - above.sum(axis=0) / total * below
    spread = (deviations**2).sum(axis=0) * len(parts) / (len(parts) - 1)
    return np.asarray(np.sqrt(spread) / total)


def _standard_error(parts: Sequence[Sums], name: str) -> FloatArray:
    """Runs of a batch share a graph, so batches, not runs, are what is independent."""
    runs = np.array([part["runs"] for part in parts])
    values = np.array([part[name] for part in parts])
    total = runs.sum()
    mean = values.sum(axis=0) / total
    if len(parts) == 1:
        return np.full_like(mean, np.nan)
    deviations = values - runs.reshape(-1, *(1,) * mean.ndim) * mean
    spread = (deviations**2).sum(axis=0) * len(parts) / (len(parts) - 1)
    return np.asarray(np.sqrt(spread) / total)
