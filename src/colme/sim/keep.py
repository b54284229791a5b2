"""What is kept beside averages on request: results of agents, of classes and of runs.

`agents` and `runs` together keep everybody's answer in every run: single trajectories.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import xarray as xr

from colme.errors import ConfigError, one_of
from colme.sim.batch import Drawn
from colme.sim.engines import Cell, Engine, FloatArray
from colme.sim.measures import CELL, AllRuns, record_of

KINDS = ("agents", "classes", "runs")

LARGEST = 2 * 2**30
"""Bytes of results that may be kept; while they are put together it takes twice as much."""

Keep = frozenset[str]


def kinds_to_keep(keep: Iterable[str] | str) -> Keep:
    """Which of `KINDS`: a list, or a text with commas."""
    words = keep.split(",") if isinstance(keep, str) else list(keep)
    kinds = [word.strip() for word in words if word.strip()]
    for kind in kinds:
        if kind not in KINDS:
            raise ConfigError("keep", kind, one_of(kind, KINDS))
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


class Keeper:
    """Of one batch."""

    def __init__(self, keep: Keep, feed: Drawn, cells: Sequence[Cell]) -> None:
        self._keep, self._feed, self._cells = keep, feed, cells
        world = self._world = feed.world
        rows, agents = len(world.setting.recorded), world.setting.agents
        classes = len(world.setting.means)
        shapes: dict[str, tuple[int, ...]] = {}
        if "agents" in keep:
            shapes |= dict.fromkeys(("agent_error", "agent_alone", "agent_runs"), (rows, agents))
        if "classes" in keep:
            shapes |= dict.fromkeys(("class_error", "class_alone", "class_weight"), (rows, classes))
        everybody = (rows, agents, world.runs)
        if answers_kept(keep):
            shapes["answer"] = everybody
        self._of_cell = {
            cell: {name: np.zeros(shape) for name, shape in shapes.items()}
            for cell in dict.fromkeys(cells)
        }
        self._own = np.zeros(everybody if answers_kept(keep) else 0)
        self._truth = np.zeros_like(self._own)

    def take(self, row: int, t: int, means: FloatArray, engines: Sequence[Engine]) -> None:
        """Note a recorded round, after which agents' own means are `means`, [M, runs]."""
        truth = self._world.truth_at(t)
        if answers_kept(self._keep):
            centre = self._world.setting.centre
            self._own[row], self._truth[row] = means + centre, truth + centre
        alone = (means - truth) ** 2
        for engine in engines:
            for cell in engine.record:
                if cell in self._of_cell:
                    self._take(self._of_cell[cell], row, engine, cell, truth, alone)

    def _take(
        self,
        kept: Mapping[str, FloatArray],
        row: int,
        engine: Engine,
        cell: Cell,
        truth: FloatArray,
        alone: FloatArray,
    ) -> None:
        answered = engine.answered(cell)
        asked, error = answered.weight > 0, (answered.values - truth) ** 2
        if "agents" in self._keep:
            kept["agent_error"][row] = (asked * error).sum(axis=1)
            kept["agent_alone"][row] = (asked * alone).sum(axis=1)
            kept["agent_runs"][row] = asked.sum(axis=1)
        if "classes" in self._keep:
            # Those who were asked stand for others, of whom there may be more or fewer.
            for name, values in (("error", error), ("alone", alone), ("weight", 1.0)):
                kept[f"class_{name}"][row] = self._by_class(answered.weight * values)
        if answers_kept(self._keep):
            values = answered.values + self._world.setting.centre
            kept["answer"][row] = np.where(asked, values, np.nan)

    def _by_class(self, values: FloatArray) -> FloatArray:
        placed = self._world.in_runs(self._world.classes).ravel()
        return np.bincount(placed, values.ravel(), len(self._world.setting.means)).astype(float)

    def sums(self, engines: Sequence[Engine]) -> dict[str, FloatArray]:
        """Return what is to be added up, or joined, over batches; a row for each cell."""
        kept = [self._of_cell[cell] for cell in self._cells]
        sums = {name: np.stack([one[name] for one in kept]) for name in kept[0]}
        if "runs" in self._keep:
            alone = self._feed.local_error[..., : self._world.runs]
            record, agents = record_of(engines, self._cells, alone), self._world.honest_agents
            sums |= {"run_error": record["error"] / agents, "run_alone": record["alone"] / agents}
        if answers_kept(self._keep):
            sums |= {"own": self._own, "truth": self._truth}
            sums["class_of"] = self._world.in_runs(self._world.classes).astype(np.float64)
        return sums


def add_to(results: xr.Dataset, keep: Keep, x: AllRuns, names: Sequence[int | str]) -> None:
    """Label what was kept; `names` are the agents'."""
    if "agents" in keep:
        _add_agents(results, x, names)
    if "classes" in keep:
        _add_classes(results, x)
    if "runs" in keep:
        results.coords["run"] = np.arange(x.runs)
        _put(results, "run_mse", "run", _in_a_row(x, "run_error"), "mean squared error of each run")
        _put(results, "run_mse_alone", "run", _in_a_row(x, "run_alone"), "mse_alone of each run")
    if answers_kept(keep):
        _add_answers(results, x)


def _add_agents(results: xr.Dataset, x: AllRuns, names: Sequence[int | str]) -> None:
    results.coords["agent"] = list(names)
    runs = _added_up(x, "agent_runs")
    told = "in how many runs this agent was asked: relay asks some, and nobody asks liars"
    _put(results, "answered", "agent", runs, told)
    results.coords["answered"] = results["answered"]
    with np.errstate(invalid="ignore"):
        error, alone = (_added_up(x, name) / runs for name in ("agent_error", "agent_alone"))
    _put(
        results,
        "agent_mse",
        "agent",
        error,
        "mean squared error of each agent, over the runs in which it was asked",
    )
    _put(results, "agent_mse_alone", "agent", alone, "the same of its own mean")


def _add_classes(results: xr.Dataset, x: AllRuns) -> None:
    weight = _added_up(x, "class_weight")
    results.coords["class_number"] = np.arange(weight.shape[3])
    with np.errstate(invalid="ignore"):
        error, alone = (_added_up(x, name) / weight for name in ("class_error", "class_alone"))
        spread = _by_cell(x, lambda d: x.over_batches(d, "class_error", "class_weight").error)
    _put(
        results,
        "class_mse",
        "class_number",
        error,
        "mean squared error of each class, over its agents and the runs",
    )
    _put(results, "class_mse_se", "class_number", spread, "standard error of class_mse")
    _put(results, "class_mse_alone", "class_number", alone, "the same of their own means")


def _add_answers(results: xr.Dataset, x: AllRuns) -> None:
    def everybody(name: str) -> FloatArray:
        """[runs, M, ...]: the same for every degree."""
        return np.concatenate([part[name] for part in x.sums[0]], axis=-1).T

    answers = np.stack(
        [
            np.concatenate([part["answer"] for part in batches], axis=-1).reshape(
                *x.shape, len(results.agent), x.runs
            )
            for batches in x.sums
        ],
        axis=2,
    )
    results["answer"] = (
        (*CELL[:3], "run", "agent", "t"),
        np.moveaxis(answers, (3, 4, 5), (5, 4, 3)),
        {"description": "what each agent answers in each run; NaN: not asked"},
    )
    place = ("run", "agent", "t")
    results["own_mean"] = place, everybody("own"), {"description": "of its samples"}
    results["truth"] = place, everybody("truth"), {"description": "its true mean"}
    results.coords["class_of"] = place[:2], everybody("class_of").astype(np.int64)


def _put(results: xr.Dataset, name: str, dim: str, values: FloatArray, description: str) -> None:
    results[name] = (*CELL[:3], dim, "t"), values, {"description": description}


def _added_up(x: AllRuns, name: str) -> FloatArray:
    return _by_cell(x, lambda d: x.total(d, name))


def _in_a_row(x: AllRuns, name: str) -> FloatArray:
    return _by_cell(x, lambda d: np.concatenate([part[name] for part in x.sums[d]], axis=-1))


def _by_cell(x: AllRuns, values: Callable[[int], FloatArray]) -> FloatArray:
    """Over `CELL` with what is kept before t; `values` of a degree are [cells, rows, kept]."""
    stacked = np.stack([values(d).reshape(*x.shape, -1) for d in range(len(x.sums))], axis=2)
    return np.moveaxis(stacked, -1, 3)
