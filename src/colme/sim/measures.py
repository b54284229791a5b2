"""What results hold: every quantity once, with its name, dimensions, meaning and making.

Batches hand over sums over their runs (`Sums`); `AllRuns` adds them up in order, so that the same
runs always give the same bits. What engines measure in each recorded round is `MEASURED`, in
`engines.engine`; a quantity of the answers alone is a `Measure`, which anybody can write.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from colme.experiment.statistics import BatchMean
from colme.sim.batch import Drawn, Sums
from colme.sim.engines import MEASURED, Cell, Engine, FloatArray, Record, World

CELL = ("algorithm", "epsilon", "degree", "t")
DEGREE = ("degree", "t")


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity of all answers in a recorded round, averaged over the runs.

    `simulate(scenario, measures=[Measure(...)])` adds it to the results, with its standard error.
    `of` takes answers, true means and weights, [M, runs] each, and returns a number for each run.
    The weight says for how many agents an answer stands; it is 0 for agents that are not evaluated.
    """

    name: str
    description: str
    of: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


class Measures:
    """Records the measures of a batch."""

    def __init__(self, measures: Sequence[Measure], world: World, cells: Sequence[Cell]) -> None:
        self._measures, self._world, self._cells = measures, world, cells
        shape = len(world.setting.recorded), world.runs
        self._found = {
            one.name: {cell: np.zeros(shape) for cell in cells} for one in self._measures
        }

    def take(self, row: int, t: int, means: FloatArray, engines: Sequence[Engine]) -> None:
        """Measure the answers of round t."""
        truth = self._world.truth_at(t)
        for measure in self._measures:
            for engine in engines:
                for cell in engine.record:
                    answered = engine.answered(cell)
                    found = measure.of(answered.values, truth, answered.weight)
                    self._found[measure.name][cell][row] = found

    def sums(self, engines: Sequence[Engine]) -> dict[str, FloatArray]:
        """Return the sum over runs of each."""
        return {
            name: np.stack([found[cell].sum(axis=-1) for cell in self._cells])
            for name, found in self._found.items()
        }


class Averages:
    """Records what engines measure, agents that stay alone, and the Ideal of whole classes.

    The latter is what agents would answer that knew every agent's class and exact mean, wherever
    they are on the graph. A class has the agents that began with the same mean. No dishonest agent
    is in one.
    """

    def __init__(self, cells: Sequence[Cell], feed: Drawn, closed_forms: Sums) -> None:
        self._cells, self._feed, self._closed_forms = cells, feed, closed_forms
        world = self._world = feed.world
        agents, runs = world.honest.shape
        self._class_error = np.zeros((len(world.setting.recorded), runs))
        # A number for each class of each run.
        self._group = world.in_runs(world.mean_groups) + agents * np.arange(runs)

    def take(self, row: int, t: int, means: FloatArray, engines: Sequence[Engine]) -> None:
        """Measure the Ideal; engines and feed measure all else."""
        world, group = self._world, self._group
        weights = world.counts(t)[:, None] * world.honest
        total, weight = (
            np.bincount(group.ravel(), values.ravel(), group.size)
            for values in (weights * means, weights)
        )
        together = total / np.maximum(weight, 1.0)  # A class of liars alone is not looked at.
        deviation = together[group] - world.truth_at(t)
        self._class_error[row] = (deviation**2 * world.honest).sum(axis=0)

    def sums(self, engines: Sequence[Engine]) -> dict[str, FloatArray]:
        """Return sums over runs, a row for each algorithm at each epsilon, per honest agent."""
        agents, runs = self._world.honest_agents, self._world.runs
        alone = self._feed.local_error[..., :runs]
        record = record_of(engines, self._cells, alone)
        sums = {name: record[name].sum(axis=-1) for name in MEASURED if name != "error"}
        for name in ("alone", "size", "local", "close"):
            sums[name] = sums[name] / agents
        return {
            "runs": np.array(float(runs)),
            "mse": (record["error"] / agents).sum(axis=-1),
            **sums,
            "local_mse": (alone / agents).sum(axis=-1),
            "class_ideal_mse": self._class_error.sum(axis=-1) / agents,
            **self._closed_forms,
        }


def record_of(engines: Sequence[Engine], cells: Sequence[Cell], alone: FloatArray) -> Record:
    """Return all that engines measured, [cells, rows, runs].

    `alone` are the squared errors of agents that stay alone, [rows, runs], for algorithms that
    evaluate all agents.
    """
    measured = {cell: one for engine in engines for cell, one in engine.measured().items()}
    rows = [measured[cell] for cell in cells]
    record = {name: np.stack([one[name] for one in rows]) for name in MEASURED}
    everybody = np.broadcast_to(alone, record["alone"].shape)
    record["alone"] = np.where(np.isnan(record["alone"]), everybody, record["alone"])
    return record


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

    def over_batches(self, degree: int, part: str, whole: str = "runs") -> BatchMean:
        """Return the ratio of two sums over batches: a mean over runs, or a share."""
        above, below = (
            np.array([one[name] for one in self.sums[degree]]) for name in (part, whole)
        )
        return BatchMean(above, below)

    def share(self, part: str, whole: str) -> FloatArray:
        """Return the ratio of totals; NaN if there is nothing to have a share of."""
        return self.by_cell(lambda d: self.over_batches(d, part, whole).value)

    def error(self, part: str, whole: str = "runs") -> FloatArray:
        """Return the standard error of a mean or share."""
        return self.by_cell(lambda d: self.over_batches(d, part, whole).error)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A variable of the results."""

    name: str
    dims: tuple[str, ...]
    description: str
    of: Callable[[AllRuns], FloatArray]


def averaged(name: str, summed: str, description: str) -> tuple[Quantity, Quantity]:
    """A mean over the runs, and its standard error."""
    return (
        Quantity(name, CELL, description, lambda x: x.mean(summed)),
        Quantity(f"{name}_se", CELL, f"standard error of {name}", lambda x: x.error(summed)),
    )


def _share(name: str, part: str, whole: str, description: str) -> tuple[Quantity, Quantity]:
    """A share of what there was in all runs, and its standard error."""
    return (
        Quantity(name, CELL, description, lambda x: x.share(part, whole)),
        Quantity(f"{name}_se", CELL, f"standard error of {name}", lambda x: x.error(part, whole)),
    )


QUANTITIES = (
    *averaged("mse", "mse", "mean squared error, averaged over agents and runs"),
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
        lambda x: x.by_degree(lambda d: x.over_batches(d, "local_mse").error),
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
    *averaged("accepted_size", "size", "mean size of an accepted set, the agent itself included"),
    *averaged("answering_locally", "local", "share of agents that answer with their local mean"),
    *averaged(
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
