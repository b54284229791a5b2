"""What a study measured, as an xarray Dataset with the study's own dimensions.

Dimensions: rule (the algorithm's name), epsilon, degree, t. Epsilon is NaN where every agent has
its own; degree is the mean degree for graphs that have no common one. Attributes carry the whole
scenario, the seed and the version.
"""

from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from colme import __version__
from colme.errors import ConfigError
from colme.sim.scenario import Scenario

FloatArray = NDArray[np.float64]

_DESCRIPTION = {
    "mse": "mean squared error, averaged over agents and runs",
    "mse_se": "standard error of mse",
    "mse_local": "the same of agents that stay alone, on the same data",
    "mse_local_se": "standard error of mse_local",
    "mse_ideal": "Proposition 3, averaged over the runs' graphs and classes",
    "mse_theorem1": "Theorem 1, averaged over the runs' graphs and classes",
    "corollary1_bound": "Corollary 1's bound on the noise variance, averaged likewise",
    "type_one": "share of edges within a class that are not accepted",
    "type_two": "share of edges between classes that are accepted",
    "accepted_size": "mean size of an accepted set, the agent itself included",
    "answering_locally": "share of agents that answer with their local mean",
    "within_tolerance": "share of agents within the scenario's tolerance of their true mean",
    "messages": "messages that an agent sends in a round",
    "payload": "bytes of it: 8 for a mean or a sum of means, 4 for a count or a size",
    "memory": "numbers that an agent keeps from one round to the next",
}


def as_dataset(
    scenario: Scenario,
    rounds: NDArray[np.int64],
    degrees: list[float],
    variables: dict[str, tuple[tuple[str, ...], FloatArray]],
) -> xr.Dataset:
    """Label what was measured."""
    epsilons = scenario.epsilon if scenario.epsilon_per_agent is None else [np.nan]
    dataset = xr.Dataset(
        {
            name: (dims, values, {"description": _DESCRIPTION[name]})
            for name, (dims, values) in variables.items()
        },
        coords={
            "rule": [algorithm.label for algorithm in scenario.algorithms],
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


def save(dataset: xr.Dataset, path: Path) -> None:
    """As NetCDF; the file appears whole or not at all."""
    partial = path.with_suffix(".partial")
    packed = {name: {"zlib": True} for name in dataset.data_vars}
    dataset.to_netcdf(partial, engine="h5netcdf", encoding=packed)
    partial.replace(path)


def load(path: Path) -> xr.Dataset:
    """What `save` wrote; a folder stands for the result in it."""
    if path.is_dir():
        path = path / RESULT
    try:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            loaded = dataset.load()
    except OSError as error:
        raise ConfigError("result", str(path), f"a result of colme simulate ({error})") from None
    if "mse" not in loaded:
        raise ConfigError("result", str(path), "a result of colme simulate")
    return loaded


RESULT = "result.nc"
"""The name of the file in an output folder."""
