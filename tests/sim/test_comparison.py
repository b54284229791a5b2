"""Baselines in a scenario, beside Private-C-ColME and on its data."""

import math

import numpy as np
import pytest
import xarray as xr

from colme.sim.engines.baselines.graph_colme import BColmeTable, CColmeTable
from colme.sim.figures import comparison
from colme.sim.scenario import Scenario
from colme.sim.scenario.distributions import Normal
from colme.sim.simulation import simulate

BASELINES = ("local", "ideal", "colme", "c-colme", "b-colme", "private-colme")
SMALL = Scenario.build(
    agents=20,
    graph={"degree": 6},
    means=[0.0, 1.0],
    data={"distribution": "normal", "sigma": 0.4},
    epsilon=[4, math.inf],
    rounds=150,
    runs=40,
    tolerance=0.1,
    algorithms=[{"algorithm": rule} for rule in ("bernstein", *BASELINES, "oracle")],
)


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return simulate(SMALL)


@pytest.mark.slow
def test_every_baseline_can_be_named_in_any_scenario(result: xr.Dataset) -> None:
    assert result.algorithm.values.tolist() == ["bernstein", *BASELINES, "oracle"]
    assert np.isfinite(result.mse).all()
    share = result.within_tolerance
    assert ((share >= 0) & (share <= 1)).all()
    for rule in BASELINES[:-1]:
        both = result.mse.sel(algorithm=rule)
        assert (both.sel(epsilon=4) == both.sel(epsilon=math.inf)).all(), rule
    private = result.mse.sel(algorithm="private-colme", t=150)
    assert (private.sel(epsilon=4) > private.sel(epsilon=math.inf)).all()


def test_local_and_ideal_are_simulated_as_well_as_in_closed_form(result: xr.Dataset) -> None:
    """Propositions 1 and 3, within four standard errors of 40 runs."""
    end = result.isel(t=-1, degree=0, epsilon=0)
    local, ideal = end.sel(algorithm="local"), end.sel(algorithm="ideal")
    assert float(local.mse) == pytest.approx(float(end.mse_local), rel=1e-5)
    assert abs(float(local.mse) - 0.16 / 150) < 4 * float(local.mse_se)
    assert abs(float(ideal.mse) - float(end.mse_ideal)) < 4 * float(ideal.mse_se)


def test_decisions_of_those_without_a_graph_are_rated_over_all_pairs(result: xr.Dataset) -> None:
    end = result.isel(t=-1, degree=0).sel(epsilon=math.inf)
    for rule in ("c-colme", "b-colme", "colme", "private-colme"):
        assert float(end.type_one.sel(algorithm=rule)) < 0.2, rule
        assert float(end.type_two.sel(algorithm=rule)) < 0.05, rule
    assert float(end.accepted_size.sel(algorithm="colme")) > float(
        end.accepted_size.sel(algorithm="c-colme")
    )
    assert np.isnan(end.type_one.sel(algorithm="local"))


def test_the_two_settings_are_those_of_the_papers() -> None:
    settings = comparison.settings(quick=False, seed=3)
    assert {scenario.seed for scenario in settings.values()} == {3}
    galante = settings["galante"]
    assert (galante.agents, galante.graph.degrees, galante.rounds) == (10_000, [10], 2_000)
    assert galante.data == Normal(distribution="normal", sigma=2.0)
    assert (galante.means, galante.tolerance) == ([0.0, 1.0], 0.1)
    deciding = [a for a in galante.algorithms if isinstance(a, CColmeTable | BColmeTable)]
    assert {algorithm.delta for algorithm in deciding} == {0.1}
