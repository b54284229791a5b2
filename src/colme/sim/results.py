"""What a simulation measured, as an xarray Dataset: made, saved, loaded, summed up, as a table.

Dimensions: algorithm (its label), epsilon, degree, t. Epsilon is NaN where every agent has
its own; degree is the mean degree for graphs that have no common one. Attributes carry the whole
scenario, the seed, the number of runs and batches, and the version.

Any Dataset has the accessor `colme` (`result.colme.summary`, `result.colme.table("agents")`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from colme import __version__
from colme.errors import ConfigError, one_of
from colme.rules.release import level
from colme.sim.measures import AllRuns, Keep, Measure, quantities
from colme.sim.scenario import Scenario

RESULT = "result.nc"
"""The name of the file in an output folder."""

TABLES = {
    "averages": (),
    "agents": ("agent",),
    "classes": ("class_number",),
    "runs": ("run",),
    "answers": ("run", "agent"),
}
"""Tables of a result, and the dimensions each has beside algorithm, epsilon, degree and t."""

_CELL = ("algorithm", "epsilon", "degree")
_SUMMED_UP = ["mse", "mse_se", "mse_alone", "mse_ideal"]


def as_dataset(
    scenario: Scenario,
    degrees: Sequence[float],
    all_runs: AllRuns,
    keep: Keep = frozenset(),
    measures: Sequence[Measure] = (),
) -> xr.Dataset:
    """Label what was measured."""
    epsilons = scenario.epsilon if scenario.epsilon_per_agent is None else [np.nan]
    coords: dict[str, Any] = {
        "algorithm": [algorithm.label for algorithm in scenario.algorithms],
        "epsilon": np.asarray(epsilons, dtype=np.float64),
        "degree": np.asarray(degrees, dtype=np.float64),
        "t": all_runs.recorded.astype(np.int64),
    }
    if "agents" in keep:
        coords["agent"] = list(scenario.graph.names(scenario.agents))
    if "classes" in keep:
        coords["class_number"] = np.arange(len(scenario.class_means))
        coords["class_mean"] = "class_number", list(scenario.class_means)
    if "runs" in keep:
        coords["run"] = np.arange(scenario.runs)
    dataset = xr.Dataset(
        {
            one.name: (one.dims, one.of(all_runs), {"description": one.description})
            for one in quantities(keep, measures)
        },
        coords,
        {
            "title": "colme simulation",
            "colme_version": __version__,
            "scenario": scenario.model_dump_json(),
            "seed": scenario.seed,
            "runs": scenario.runs,
            "batches": len(all_runs.sums[0]),
        },
    )
    dataset["epsilon"].attrs["description"] = (
        "privacy of each sample: pure epsilon-DP, event level, replace-one"
    )
    return dataset.set_coords([name for name in ("answered", "class_of") if name in dataset])


def save(dataset: xr.Dataset, path: Path | str) -> None:
    """Write NetCDF; the file appears whole or not at all."""
    path = Path(path)
    partial = path.with_suffix(".partial")
    packed = {name: {"zlib": True} for name in dataset.data_vars}
    dataset.to_netcdf(partial, engine="h5netcdf", encoding=packed)
    partial.replace(path)


def load(path: Path | str) -> xr.Dataset:
    """Read what `save` wrote; a folder stands for the result in it."""
    path = Path(path)
    if path.is_dir():
        if not (path / RESULT).exists():
            there = ", ".join(sorted(one.name for one in path.glob("*.nc")))
            inside = f"one of these in it: {there}" if there else f"there is no {RESULT} in it"
            raise ConfigError("result", str(path), f"the folder of a colme simulate ({inside})")
        path = path / RESULT
    if not path.exists():
        raise ConfigError("result", str(path), "a result of colme simulate (no such file)")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            loaded = dataset.load()
    except OSError:
        # The library's words are about its calls.
        expected = "a result of colme simulate (this is no NetCDF file, or can't be read)"
        raise ConfigError("result", str(path), expected) from None
    if "mse" not in loaded:
        raise ConfigError("result", str(path), "a result of colme simulate")
    if "rule" in loaded.dims:
        expected = "a result of this version: those of 0.1.0 are not read, so simulate again"
        raise ConfigError("result", str(path), expected)
    return loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One algorithm at one epsilon and degree, after the last round."""

    algorithm: str
    epsilon: float
    degree: float
    mse: float
    standard_error: float
    over_local: float
    over_ideal: float
    """NaN where there is no Ideal: where the truth drifts."""

    HEADINGS = ("algorithm", "epsilon", "degree", "MSE", "±", "MSE / Local", "MSE / Ideal")

    @property
    def words(self) -> tuple[str, ...]:
        """Cells of a table, as `HEADINGS` say."""
        return (
            self.algorithm,
            "each its own" if np.isnan(self.epsilon) else level(self.epsilon),
            f"{self.degree:g}",
            f"{self.mse:.3e}",
            f"{self.standard_error:.0e}",
            f"{self.over_local:.3g}",
            "-" if np.isnan(self.over_ideal) else f"{self.over_ideal:.3g}",
        )


@xr.register_dataset_accessor("colme")  # type: ignore[no-untyped-call]
class Accessor:
    """What colme adds to a Dataset, as `result.colme`; a notebook shows it as a summary.

    Examples
    --------
    >>> from colme import Scenario, simulate
    >>> result = simulate(Scenario.build(agents=10, graph={"degree": 3}, rounds=20, runs=2))
    >>> result.colme.title
    'After 20 rounds, 2 runs'
    """

    def __init__(self, result: xr.Dataset) -> None:
        self._result = result

    @property
    def title(self) -> str:
        """Rounds and runs, and which errors are of few agents.

        An algorithm whose answers are expensive is evaluated at some agents only. Its standard
        errors come from as few, and are rough themselves.
        """
        result = self._result
        text = f"After {int(result.t[-1]):,} rounds, {result.attrs['runs']} runs"
        if "evaluated" not in result:  # of an earlier version
            return text
        fewest = result.evaluated.isel(t=-1).min(("epsilon", "degree"))
        few = [
            f"{label} at {number:g}"
            for label, number in zip(fewest.algorithm.values, fewest.values.tolist(), strict=True)
            if number < fewest.max()
        ]
        return f"{text}; evaluated agents of a run: {', '.join(few)}" if few else text

    @cached_property
    def summary(self) -> list[SummaryRow]:
        """A row for each algorithm, epsilon and degree, after the last round."""
        end = self._result[_SUMMED_UP].isel(t=-1)
        return [
            SummaryRow(
                algorithm=cell.algorithm,
                epsilon=cell.epsilon,
                degree=cell.degree,
                mse=cell.mse,
                standard_error=cell.mse_se,
                over_local=cell.mse / cell.mse_alone,
                over_ideal=cell.mse / cell.mse_ideal,
            )
            for cell in end.to_dataframe(dim_order=_CELL).reset_index().itertuples()
        ]

    def table(self, of: str = "averages") -> Any:
        """Return a pandas DataFrame: a row for each place, a column for each quantity.

        `of` is averages; or agents, classes, runs or answers, if they were kept.
        """
        if of not in TABLES:
            raise ConfigError("of", of, one_of(of, list(TABLES)))
        variables = self._result.data_vars.items()
        own = {*TABLES[of]}
        chosen = [name for name, one in variables if {*one.dims} - {*_CELL, "t"} == own]
        if not chosen:
            kinds = "agents,runs" if of == "answers" else of
            raise ConfigError("of", of, f"a result for which they were kept: keep={kinds}")
        part = self._result[chosen]
        order = [dim for dim in (*_CELL, *TABLES[of], "t") if dim in part.dims]
        return part.to_dataframe(dim_order=order).reset_index()

    def to_csv(self, path: Path | str, *, of: str = "averages") -> None:
        """Write a table as CSV; the file appears whole or not at all."""
        path = Path(path)
        partial = path.with_name(f"{path.name}.partial")
        self.table(of).to_csv(partial, index=False)
        partial.replace(path)

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        rows = "".join(line(row.words, "td") for row in self.summary)
        head = line(SummaryRow.HEADINGS, "th")
        return f"<table><caption>{escape(self.title)}</caption>{head}{rows}</table>"
