"""What a study measured, as an xarray Dataset with the study's own dimensions.

Dimensions: algorithm (its label), epsilon, degree, t. Epsilon is NaN where every agent has
its own; degree is the mean degree for graphs that have no common one. Attributes carry the whole
scenario, the seed and the version.
"""

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from colme import __version__
from colme.errors import ConfigError
from colme.sim.scenario import Scenario
from colme.sim.study import kept, tables
from colme.sim.study.kept import Keep
from colme.sim.study.overview import SummaryRow, is_whole, summary, title
from colme.sim.study.quantities import QUANTITIES, AllRuns


class Results(xr.Dataset):  # type: ignore[no-untyped-call]  # xarray's hook
    """An xarray Dataset that a notebook shows with its summary first."""

    __slots__ = ()

    def table(self, of: str = "averages") -> Any:
        """A pandas DataFrame: of averages; or of agents, classes, runs, answers, where kept."""
        return tables.table(self, of)

    def to_csv(self, path: Path | str, *, of: str = "averages") -> None:
        """The same as a file."""
        tables.save_csv(self, path, of=of)

    def _repr_html_(self) -> str:
        everything: str = super()._repr_html_()
        return _summed_up(self) + everything if is_whole(self) else everything


def _summed_up(result: xr.Dataset) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    rows = "".join(line(row.words, "td") for row in summary(result))
    head = line(SummaryRow.HEADINGS, "th")
    return f"<table><caption>{escape(title(result))}</caption>{head}{rows}</table>"


def as_dataset(
    scenario: Scenario,
    rounds: NDArray[np.int64],
    degrees: list[float],
    all_runs: AllRuns,
    keep: Keep = frozenset(),
) -> Results:
    """Label what was measured."""
    epsilons = scenario.epsilon if scenario.epsilon_per_agent is None else [np.nan]
    dataset = Results(
        {
            one.name: (one.dims, one.of(all_runs), {"description": one.description})
            for one in QUANTITIES
        },
        coords={
            "algorithm": [algorithm.label for algorithm in scenario.algorithms],
            "epsilon": np.asarray(epsilons, dtype=np.float64),
            "degree": np.asarray(degrees, dtype=np.float64),
            "t": rounds,
        },
        attrs={
            "title": "colme study",
            "colme_version": __version__,
            "scenario": scenario.model_dump_json(),
            "seed": scenario.seed,
            "runs": scenario.runs,
        },
    )
    dataset["epsilon"].attrs["description"] = (
        "privacy of each sample: pure epsilon-DP, event level, replace-one"
    )
    kept.add_to(dataset, keep, all_runs, scenario.graph.names(scenario.agents))
    if "classes" in keep:
        dataset.coords["class_mean"] = "class_number", list(scenario.class_means)
    return dataset


def save(dataset: xr.Dataset, path: Path | str) -> None:
    """As NetCDF; the file appears whole or not at all."""
    path = Path(path)
    partial = path.with_suffix(".partial")
    packed = {name: {"zlib": True} for name in dataset.data_vars}
    dataset.to_netcdf(partial, engine="h5netcdf", encoding=packed)
    partial.replace(path)


def load(path: Path | str) -> Results:
    """What `save` wrote; a folder stands for the result in it."""
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
    return Results(loaded.data_vars, loaded.coords, loaded.attrs)


RESULT = "result.nc"
"""The name of the file in an output folder."""
