"""What a study measured, as an xarray Dataset with the study's own dimensions.

Dimensions: algorithm (its label), epsilon, degree, t. Epsilon is NaN where every agent has
its own; degree is the mean degree for graphs that have no common one. Attributes carry the whole
scenario, the seed and the version.
"""

from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from colme import __version__
from colme.errors import ConfigError
from colme.sim.scenario import Scenario, label_of_today
from colme.sim.study.quantities import QUANTITIES, AllRuns


def as_dataset(
    scenario: Scenario,
    rounds: NDArray[np.int64],
    degrees: list[float],
    all_runs: AllRuns,
) -> xr.Dataset:
    """Label what was measured."""
    epsilons = scenario.epsilon if scenario.epsilon_per_agent is None else [np.nan]
    dataset = xr.Dataset(
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
    return dataset


def save(dataset: xr.Dataset, path: Path | str) -> None:
    """As NetCDF; the file appears whole or not at all."""
    path = Path(path)
    partial = path.with_suffix(".partial")
    packed = {name: {"zlib": True} for name in dataset.data_vars}
    dataset.to_netcdf(partial, engine="h5netcdf", encoding=packed)
    partial.replace(path)


def load(path: Path | str) -> xr.Dataset:
    """What `save` wrote; a folder stands for the result in it."""
    path = Path(path)
    if path.is_dir():
        path = path / RESULT
    try:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            loaded = dataset.load()
    except OSError as error:
        raise ConfigError("result", str(path), f"a result of colme simulate ({error})") from None
    if "mse" not in loaded:
        raise ConfigError("result", str(path), "a result of colme simulate")
    return _upgraded(loaded)


def _upgraded(dataset: xr.Dataset) -> xr.Dataset:
    """Results of 0.1.0, in today's words: it called algorithms rules, and tracking recommended."""
    if "rule" not in dataset.dims:
        return dataset
    labels = [label_of_today(str(label)) for label in dataset["rule"].values]
    return dataset.rename(rule="algorithm").assign_coords(algorithm=labels)


RESULT = "result.nc"
"""The name of the file in an output folder."""
