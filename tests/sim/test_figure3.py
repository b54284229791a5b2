"""The committed figure 3: relay against Local, both Ideals and the bars of its bytes."""

from pathlib import Path

import pytest
import xarray as xr

from colme.sim.figures import figure3
from colme.sim.figures.traffic import average_bytes
from colme.sim.scenario import Scenario
from colme.sim.study import load

DATA = Path(__file__).parents[2] / "docs" / "figure3" / "figure3.nc"


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    return load(DATA)


def test_the_committed_data_are_this_study(data: xr.Dataset) -> None:
    assert Scenario.of_result(data) == figure3.study()
    assert data.t.size <= 80


def test_nobody_is_worse_off_than_alone_at_any_recorded_round(data: xr.Dataset) -> None:
    """On average over the agents, at every epsilon and degree: to 1%, where all answer alone."""
    relay = data.sel(algorithm="relay")
    assert float((relay.mse / relay.mse_alone).max()) < 1.01


def test_it_ends_ten_times_below_what_proposition_3_allows_within_a_class(data: xr.Dataset) -> None:
    """At degree 5, at every epsilon, privately too; and near the Ideal of the whole class."""
    end = data.isel(t=-1).sel(algorithm="relay")
    assert float((end.mse / end.mse_ideal).sel(degree=5).max()) < 0.1
    assert float((end.mse / end.mse_class_ideal).max()) < 1.2


def test_a_few_hundred_samples_do(data: xr.Dataset) -> None:
    relay = data.sel(algorithm="relay", epsilon=1)
    for t, bar in ((30, 0.95), (100, 0.6), (300, 0.1)):
        assert float((relay.mse / relay.mse_alone).sel(t=t).max()) < bar


def test_it_costs_no_more_bytes_than_tracking(data: xr.Dataset) -> None:
    """At epsilon = 1, on average over all rounds, with signatures and framing."""
    sent = average_bytes(data).sel(epsilon=1)
    assert float(sent.sel(algorithm="relay").max()) < 110
    assert (sent.sel(algorithm="relay") < sent.sel(algorithm="tracking")).all()
