"""Who the agents are: means of their own, variances of their classes, what they declare of them."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from colme.errors import ConfigError
from colme.rules.release import largest_variance
from colme.sim.engines import PaperEngine
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared, precision, simulate
from support.refusing import refused
from support.watching import watched

scenario = partial(
    Scenario.build,
    agents=40,
    graph={"degree": 4},
    epsilon=8,
    rounds=60,
    runs=32,
    algorithms=["local", "paper"],
)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_everybody_has_a_mean_of_its_own_in_every_run(kind: str) -> None:
    """Mean and standard deviation as asked for, to 5 standard errors; a new population each run."""
    drawn = scenario(means={"distribution": kind, "spread": 0.1, "centre": 3.0})
    means = np.array([drawn.draw_means(run) for run in range(100)])
    assert len(np.unique(means)) == means.size
    assert abs(means.mean() - 3) < 5 * 0.1 / means.size**0.5
    assert means.std() == pytest.approx(0.1, rel=5 / (2 * means.size) ** 0.5)
    assert (np.abs(means - 3).max() < 0.1 * 3**0.5) == (kind == "uniform")
    _, batch, seen = watched(drawn, runs=3)
    world = batch.world
    np.testing.assert_allclose(world.truth + 3, means[:3].T)
    np.testing.assert_allclose(world.midpoints, world.truth, atol=1e-12)
    assert (np.abs(seen.data[0] - world.truth) < 0.5 * 3**0.5).all()
    assert len(np.unique(world.mean_groups[:, 0])) == 40


def test_nobody_is_alike_in_such_a_population() -> None:
    """No edge within a class; the Ideal of a class is Local; so are the closed forms."""
    result = simulate(scenario(means={"distribution": "normal", "spread": 0.3})).isel(t=-1)
    assert np.isnan(result.type_one).all()
    assert np.isfinite(result.type_two.sel(algorithm="paper")).all()
    np.testing.assert_allclose(result.mse_class_ideal, result.mse_local, rtol=1e-6)
    np.testing.assert_allclose(result.mse_ideal, 0.25 / 60)


def test_a_list_of_as_many_means_as_agents_needs_no_table_of_pairs() -> None:
    """Neither thresholds nor profiles of M^2, where the shapes are the same."""
    many = scenario(
        agents=400, means=np.linspace(0, 1, 400).tolist(), classes=list(range(400)), runs=4
    )
    study = Prepared(many, 4)
    assert len(study.setting.distinct_profiles(0)) == 1
    assert len({id(of_class) for of_class in study.setting.profiles[0]}) == 1
    _, batch, _ = watched(many, runs=1)
    (engine,) = (one for one in batch.engines if isinstance(one, PaperEngine))
    assert engine._algorithms.edge_z.size == 1
    assert len(np.unique(batch.world.mean_groups[:, 0])) == 400


def test_bounds_must_hold_all_of_a_population() -> None:
    """4 spreads of 0.1 to each side, and half a range of 0.866."""
    means = {"distribution": "normal", "spread": 0.1}
    inside = scenario(means=means, bounds=(-0.77, 1.77))
    assert watched(inside, runs=2)[1].world.midpoints.ravel().tolist() == [0.0] * 80
    with refused(ConfigError, "bounds"):
        scenario(means=means, bounds=(-0.77, 1.76))


def test_single_precision_knows_how_wide_a_population_is() -> None:
    wide = {"distribution": "uniform", "spread": 100.0}
    assert precision(scenario(means=wide, rounds=2_000)) is np.float64
    assert precision(scenario(means=wide | {"spread": 0.1}, rounds=2_000)) is np.float32


@pytest.mark.parametrize("kind", ["uniform", "normal", "truncated-normal"])
def test_each_class_has_its_own_sigma(kind: str) -> None:
    """Samples' variances by class, to 5 standard errors of at most 2 sigma2 / sqrt(n)."""
    sigma = [0.1, 0.3, 0.2]
    study, batch, seen = watched(
        scenario(means=[0.2, 0.2, 0.8], data={"distribution": kind, "sigma": sigma}), runs=4
    )
    world, counts = batch.world, np.arange(1, 61)[:, None, None]
    deviations = np.diff(counts * seen.data, axis=0, prepend=0) - world.truth
    for number in range(3):
        expected = study.scenario.shapes[number].sigma2
        of_class = deviations[:, world.in_runs(world.classes) == number]
        assert of_class.var() == pytest.approx(expected, rel=10 / of_class.size**0.5)
        (profile,) = study.setting.profiles[0][number]
        assert profile.sigma2 == expected
    assert study.scenario.shapes[0].sigma2 < study.scenario.shapes[1].sigma2 / 3
    first, second, third = (
        world.mean_groups[world.in_runs(world.classes) == number] for number in range(3)
    )
    assert set(first) == set(second) != set(third), "who is alike is a matter of means alone"


def test_what_is_declared_is_what_agents_go_by() -> None:
    """Thresholds and answers change with it; data, Local and closed forms do not."""
    true, doubled = simulate(scenario()), simulate(scenario(declared=2.0))
    np.testing.assert_array_equal(true.mse_local, doubled.mse_local)
    np.testing.assert_array_equal(true.mse_ideal, doubled.mse_ideal)
    assert not np.array_equal(true.mse.sel(algorithm="paper"), doubled.mse.sel(algorithm="paper"))
    ((profile,), *_), *_ = scenario(declared=2.0).profiles()
    assert profile.sigma2 == pytest.approx(0.5)
    assert profile.half_range == pytest.approx(0.5 * 3**0.5)
    assert largest_variance(*profile.bounds) == pytest.approx(0.75)
    with refused(ConfigError, "declared", seen=4.0):
        scenario(declared=4.0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"means": {"distribution": "beta"}}, "means.distribution: saw 'beta'"),
        ({"means": {"spread": 1.0}}, "means.distribution: saw None"),
        ({"means": {"distribution": "normal", "spread": -1.0}}, "means.spread"),
        ({"means": {"distribution": "normal", "sprad": 1.0}}, "means.sprad"),
        ({"means": []}, "means"),
        ({"means": [0.1, "x"]}, "means.1"),
        ({"means": {"distribution": "normal"}, "classes": [0] * 40}, "classes"),
        (
            {"means": {"distribution": "normal"}, "data": {"distribution": "beta"}},
            "data.distribution: saw 'beta', expected data of the same shape for every mean",
        ),
        ({"data": {"sigma": [0.1, 0.2]}}, "data.sigma: saw '2 entries', expected one for all"),
        ({"data": {"sigma": [0.1, -0.2, 1]}}, "data.sigma: saw [0.1, -0.2, 1]"),
        ({"data": {"sigma": "wide"}}, "data.sigma: saw 'wide', expected a number, or a list"),
    ],
)
def test_what_can_not_be_is_refused_in_words(fields: dict[str, Any], words: str) -> None:
    with refused(ConfigError, words=words):
        scenario(**fields)


def test_such_scenarios_can_be_written_and_read_again() -> None:
    for fields in (
        {"means": {"distribution": "uniform", "spread": 0.2}},
        {"data": {"sigma": [0.1, 0.2, 0.3]}, "declared": 1.5},
        {"recorded": 30, "eventful": False},
    ):
        written = scenario(**fields)
        assert Scenario.build(**written.model_dump()) == written
        assert written.changed(seed=9).changed(seed=written.seed) == written


def test_so_many_rounds_are_recorded_at_most() -> None:
    """Evenly spaced on a log scale, the first and the last among them; others if one insists."""
    few = Prepared(scenario(rounds=30_000, recorded=80, eventful=False), 4).recorded
    assert 60 < len(few) <= 80
    assert (few[0], few[-1]) == (1, 30_000)
    late = few[few > 1000]
    assert np.log(late[1:] / late[:-1]).std() < 0.01
    relay = scenario(rounds=30_000, algorithms=["relay"])
    more = Prepared(relay.changed(recorded=80), 4).recorded
    assert set(few) < set(more), "releases of relay are recorded, too"
    assert len(more) < len(Prepared(relay, 4).recorded)
    with refused(ConfigError, "eventful"):
        scenario(eventful=False)
