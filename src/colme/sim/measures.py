"""What results hold: every variable once, with its name, dimensions, meaning and making.

Batches hand over sums over their runs (`Sums`); `AllRuns` adds them up in order, so that the same
runs always give the same bits. What engines measure in each recorded round is `MEASURED`, in
`engines.engine`; a quantity of the answers alone is a `Measure`, which anybody can write.

Averages are always there (`QUANTITIES`). Results of agents, of classes and of runs are kept on
request (`KEPT`); those of agents and runs together keep everybody's answer in every run: single
trajectories.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colme.errors import ConfigError, one_of
from colme.experiment.statistics import BatchMean
from colme.sim.batch import Drawn, Sums
from colme.sim.engines import MEASURED, Answered, Cell, Engine, FloatArray, World

DEGREE = ("degree", "t")
PLACE = ("algorithm", "epsilon", "degree")
CELL = (*PLACE, "t")
AGENT = (*PLACE, "agent", "t")
CLASS = (*PLACE, "class_number", "t")
RUN = (*PLACE, "run", "t")

LARGEST = 2 * 2**30
"""Bytes of results that may be kept; while they are put together it takes twice as much."""

Keep = frozenset[str]


def kinds_to_keep(keep: Iterable[str] | str) -> Keep:
    """Return which kinds of `KEPT` are asked for, by a list or a text with commas."""
    words = keep.split(",") if isinstance(keep, str) else list(keep)
    kinds = [word.strip() for word in words if word.strip()]
    for kind in kinds:
        if kind not in KEPT:
            raise ConfigError("keep", kind, one_of(kind, list(KEPT)))
    return frozenset(kinds)


def answers_kept(keep: Keep) -> bool:
    """Whether everybody's answers are, run by run."""
    return {"agents", "runs"} <= keep


def require_room(
    keep: Keep, *, cells: int, rows: int, agents: int, classes: int, runs: int
) -> None:
    """Refuse what would not fit, before anything is computed; `cells` are of all degrees."""
    numbers = cells * rows * 3 * agents * ("agents" in keep)
    numbers += cells * rows * 3 * classes * ("classes" in keep)
    numbers += cells * rows * 2 * runs * ("runs" in keep)
    numbers += (cells + 2) * rows * runs * agents * answers_kept(keep)
    if 8 * numbers > LARGEST:
        seen = f"{','.join(sorted(keep))}: {8 * numbers / 2**30:.1f} GiB"
        expected = f"at most {LARGEST / 2**30:g} GiB: fewer recorded rounds, runs or algorithms"
        raise ConfigError("keep", seen, expected)


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


class AnswerRecorder:
    """Records what is made of all answers: custom measures, and what is kept beside averages."""

    def __init__(
        self, measures: Sequence[Measure], keep: Keep, world: World, cells: Sequence[Cell]
    ) -> None:
        self._measures, self._keep, self._world, self._cells = measures, keep, world, cells
        self._found: dict[str, dict[Cell, list[FloatArray]]] = {}
        """By name and cell, an array for each recorded round."""
        self._own: list[FloatArray] = []
        self._truth: list[FloatArray] = []

    def take(self, row: int, t: int, means: FloatArray, engines: Sequence[Engine]) -> None:
        """Note round t, after which agents' own means are `means`, [M, runs]."""
        truth, centre = self._world.truth_at(t), self._world.setting.centre
        for engine in engines:
            for cell in engine.record:
                for name, found in self._of(engine.answered(cell), truth, means):
                    self._found.setdefault(name, {}).setdefault(cell, []).append(found)
        if answers_kept(self._keep):
            self._own.append(means + centre)
            self._truth.append(truth + centre)

    def _of(
        self, answered: Answered, truth: FloatArray, means: FloatArray
    ) -> Iterator[tuple[str, FloatArray]]:
        for one in self._measures:
            of_runs = np.zeros(self._world.runs)
            of_runs += one.of(answered.values, truth, answered.weight)
            yield one.name, of_runs.sum()
        asked = answered.weight > 0
        error, alone = (answered.values - truth) ** 2, (means - truth) ** 2
        if "agents" in self._keep:
            yield "agent_error", (asked * error).sum(axis=1)
            yield "agent_alone", (asked * alone).sum(axis=1)
            yield "agent_runs", asked.sum(axis=1)
        if "classes" in self._keep:
            # Those who were asked stand for others, of whom there may be more or fewer.
            yield "class_error", self._by_class(answered.weight * error)
            yield "class_alone", self._by_class(answered.weight * alone)
            yield "class_weight", self._by_class(answered.weight)
        if answers_kept(self._keep):
            yield "answer", np.where(asked, answered.values + self._world.setting.centre, np.nan)

    def _by_class(self, values: FloatArray) -> FloatArray:
        placed = self._world.in_runs(self._world.classes).ravel()
        return np.bincount(placed, values.ravel(), len(self._world.setting.means)).astype(float)

    def sums(self, engines: Sequence[Engine]) -> dict[str, FloatArray]:
        """Return what is to be added up, or joined, over batches; a row for each cell."""
        sums = {
            name: np.array([rows[cell] for cell in self._cells], np.float64)
            for name, rows in self._found.items()
        }
        if answers_kept(self._keep):
            sums |= {"own": np.array(self._own), "truth": np.array(self._truth)}
            sums["class_of"] = self._world.in_runs(self._world.classes).astype(np.float64)
        return sums


class Averages:
    """Records what engines measure, agents that stay alone, and the Ideal of whole classes.

    The latter is what agents would answer that knew every agent's class and exact mean, wherever
    they are on the graph. A class has the agents that began with the same mean. No dishonest agent
    is in one.
    """

    def __init__(self, cells: Sequence[Cell], feed: Drawn, closed_forms: Sums, keep: Keep) -> None:
        self._cells, self._feed, self._closed_forms = cells, feed, closed_forms
        self._keep = keep
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
        measured = {cell: one for engine in engines for cell, one in engine.measured().items()}
        rows = [measured[cell] for cell in self._cells]
        record = {name: np.stack([one[name] for one in rows]) for name in MEASURED}
        # Algorithms that evaluate all agents leave it to the feed how far these are off alone.
        record["alone"] = np.where(np.isnan(record["alone"]), alone, record["alone"])
        sums = {name: record[name].sum(axis=-1) for name in MEASURED if name != "error"}
        for name in ("alone", "size", "local", "close"):
            sums[name] = sums[name] / agents
        if "runs" in self._keep:
            sums |= {f"run_{name}": record[name] / agents for name in ("error", "alone")}
        return {
            "runs": np.array(float(runs)),
            "mse": (record["error"] / agents).sum(axis=-1),
            **sums,
            "local_mse": (alone / agents).sum(axis=-1),
            "class_ideal_mse": self._class_error.sum(axis=-1) / agents,
            **self._closed_forms,
        }


@dataclass(frozen=True, slots=True)
class AllRuns:
    """All batches of all degrees: `sums[degree][batch]`."""

    sums: Sequence[Sequence[Sums]]
    recorded: FloatArray
    shape: tuple[int, ...]
    """Algorithms, epsilons, recorded rounds."""

    def by_cell(self, values: Callable[[int], FloatArray]) -> FloatArray:
        """Over `CELL`, with what is kept before t; a degree's values are [cells, rows, kept]."""
        of_degrees = [values(degree) for degree in range(len(self.sums))]
        stacked = np.stack(
            [found.reshape(*self.shape, *found.shape[2:]) for found in of_degrees], axis=2
        )
        return np.moveaxis(stacked, 3, -1)

    def over_batches(self, degree: int, part: str, whole: str = "runs") -> BatchMean:
        """Return the ratio of two sums over batches: a mean over runs, or a share."""
        above, below = (
            np.array([one[name] for one in self.sums[degree]]) for name in (part, whole)
        )
        return BatchMean(above, below)

    def of_degrees(self, part: str) -> FloatArray:
        """Return the mean over runs of what does not depend on the algorithm, for each degree."""
        degrees = range(len(self.sums))
        return np.stack([self.over_batches(degree, part).value for degree in degrees])

    def share(self, part: str, whole: str = "runs") -> FloatArray:
        """Return the ratio of totals, a mean over runs or a share; NaN of nothing."""
        return self.by_cell(lambda d: self.over_batches(d, part, whole).value)

    def error(self, part: str, whole: str = "runs") -> FloatArray:
        """Return the standard error of a mean or share."""
        return self.by_cell(lambda d: self.over_batches(d, part, whole).error)

    def joined(self, degree: int, name: str) -> FloatArray:
        """Return what has the runs last, of all runs."""
        return np.concatenate([part[name] for part in self.sums[degree]], axis=-1)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A variable of the results."""

    name: str
    dims: tuple[str, ...]
    description: str
    of: Callable[[AllRuns], NDArray[Any]]


def averaged(
    name: str, part: str, description: str, *, whole: str = "runs", dims: tuple[str, ...] = CELL
) -> tuple[Quantity, Quantity]:
    """A mean over the runs, or a share of what there was in all of them, and its standard error."""
    return (
        Quantity(name, dims, description, lambda x: x.share(part, whole)),
        Quantity(f"{name}_se", dims, f"standard error of {name}", lambda x: x.error(part, whole)),
    )


QUANTITIES = (
    *averaged("mse", "mse", "mean squared error, averaged over agents and runs"),
    Quantity(
        "mse_local",
        DEGREE,
        "the same of agents that stay alone, on the same data",
        lambda x: x.of_degrees("local_mse"),
    ),
    Quantity(
        "mse_local_se",
        DEGREE,
        "standard error of mse_local",
        lambda x: np.stack([x.over_batches(d, "local_mse").error for d in range(len(x.sums))]),
    ),
    Quantity(
        "mse_alone",
        CELL,
        "mse_local of the agents that mse is of, where not all were asked",
        lambda x: x.share("alone"),
    ),
    Quantity(
        "evaluated",
        CELL,
        "agents of a run whose answers were computed, on average: mse is of these",
        lambda x: x.share("evaluated"),
    ),
    Quantity(
        "mse_ideal",
        DEGREE,
        "Proposition 3, averaged over the runs' graphs and classes",
        lambda x: x.of_degrees("ideal")[:, None] / x.recorded,
    ),
    Quantity(
        "mse_class_ideal",
        DEGREE,
        "of all exact means of one's class together, wherever they are, on the same data",
        lambda x: x.of_degrees("class_ideal_mse"),
    ),
    Quantity(
        "mse_theorem1",
        ("epsilon", *DEGREE),
        "Theorem 1, averaged over the runs' graphs and classes",
        lambda x: x.of_degrees("theorem1").T[..., None] / x.recorded,
    ),
    Quantity(
        "corollary1_bound",
        ("degree",),
        "Corollary 1's bound on the noise variance, averaged likewise",
        lambda x: x.of_degrees("bound"),
    ),
    *averaged(
        "type_one", "missed", "share of edges within a class that are not accepted", whole="within"
    ),
    *averaged(
        "type_two", "mixed_up", "share of edges between classes that are accepted", whole="between"
    ),
    *averaged("accepted_size", "size", "mean size of an accepted set, the agent itself included"),
    *averaged("answering_locally", "local", "share of agents that answer with their local mean"),
    *averaged(
        "within_tolerance",
        "close",
        "share of agents within the scenario's tolerance of their true mean",
    ),
    *averaged(
        "coverage",
        "covered",
        "share of 95% intervals that hold the true mean, where an algorithm tells them",
        whole="intervals",
    ),
    Quantity(
        "messages", CELL, "messages that an agent sends in a round", lambda x: x.share("messages")
    ),
    Quantity(
        "payload",
        CELL,
        "bytes of it: 8 for a mean or a sum of means, 4 for a count or a size",
        lambda x: x.share("payload"),
    ),
    Quantity(
        "memory",
        CELL,
        "numbers that an agent keeps from one round to the next",
        lambda x: x.share("memory"),
    ),
)

KEPT = {
    "agents": (
        Quantity(
            "answered",
            AGENT,
            "in how many runs this agent was asked: relay asks some, and nobody asks liars",
            lambda x: x.by_cell(lambda d: x.over_batches(d, "agent_runs").above.sum(axis=0)),
        ),
        Quantity(
            "agent_mse",
            AGENT,
            "mean squared error of each agent, over the runs in which it was asked",
            lambda x: x.share("agent_error", "agent_runs"),
        ),
        Quantity(
            "agent_mse_alone",
            AGENT,
            "the same of its own mean",
            lambda x: x.share("agent_alone", "agent_runs"),
        ),
    ),
    "classes": (
        *averaged(
            "class_mse",
            "class_error",
            "mean squared error of each class, over its agents and the runs",
            whole="class_weight",
            dims=CLASS,
        ),
        Quantity(
            "class_mse_alone",
            CLASS,
            "the same of their own means",
            lambda x: x.share("class_alone", "class_weight"),
        ),
    ),
    "runs": (
        Quantity(
            "run_mse",
            RUN,
            "mean squared error of each run",
            lambda x: x.by_cell(lambda d: x.joined(d, "run_error")),
        ),
        Quantity(
            "run_mse_alone",
            RUN,
            "mse_alone of each run",
            lambda x: x.by_cell(lambda d: x.joined(d, "run_alone")),
        ),
    ),
}
"""What is kept on request, by its kind."""

ANSWERS = (
    Quantity(
        "answer",
        (*PLACE, "run", "agent", "t"),
        "what each agent answers in each run; NaN: not asked",
        lambda x: x.by_cell(lambda d: x.joined(d, "answer").swapaxes(2, 3)),
    ),
    # The same for every degree.
    Quantity("own_mean", ("run", "agent", "t"), "of its samples", lambda x: x.joined(0, "own").T),
    Quantity("truth", ("run", "agent", "t"), "its true mean", lambda x: x.joined(0, "truth").T),
    Quantity(
        "class_of",
        ("run", "agent"),
        "number of its class",
        lambda x: x.joined(0, "class_of").T.astype(np.int64),
    ),
)
"""What is kept if agents and runs are."""


def quantities(keep: Keep, measures: Iterable[Measure]) -> list[Quantity]:
    """Return all variables of a result with these kinds and measures of the user's own."""
    own = [pair for one in measures for pair in averaged(one.name, one.name, one.description)]
    kept = [one for kind, of_kind in KEPT.items() if kind in keep for one in of_kind]
    return [*QUANTITIES, *own, *kept, *(ANSWERS if answers_kept(keep) else ())]
