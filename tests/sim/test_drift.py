"""A truth that moves: samples follow it, and every error is against where it is then."""

from typing import Any

import numpy as np
import pytest

from colme.errors import ConfigError
from colme.sim.scenario import NAMES, Scenario
from colme.sim.scenario.means import BLOCK
from colme.sim.simulation import Prepared, simulate
from support.refusing import refused
from support.watching import assert_cuts_change_nothing, watched

ROUNDS = 150
WALK = {"kind": "walk", "step": 0.01}


def scenario(drift: dict[str, Any] | None, **changes: Any) -> Scenario:
    fields: dict[str, Any] = {
        "agents": 20,
        "graph": {"degree": 4},
        "epsilon": 8,
        "rounds": ROUNDS,
        "runs": 32,
        "seed": 3,
        "drift": drift,
        "algorithms": ["local", "ideal", "paper"],
    }
    return Scenario.build(**(fields | changes))


def test_samples_follow_the_truth() -> None:
    """What is seen is the running mean of the same draws, each moved by the offset of its round."""
    for drift in (WALK, {"kind": "jump", "at": 70, "share": 0.4, "by": 1.0}):
        _, batch, seen = watched(scenario(drift), runs=3)
        _, still, drawn = watched(scenario(None), runs=3)
        world = batch.world
        counts = np.arange(1, ROUNDS + 1)[:, None, None]
        moved = np.array([world.truth_at(t) - still.world.truth for t in range(1, ROUNDS + 1)])
        expected = drawn.data + np.cumsum(moved, axis=0) / counts
        np.testing.assert_allclose(seen.data, expected, rtol=0, atol=1e-12)
        assert np.abs(moved[-1]).max() > 0.05
        local = batch.sums()["local_mse"][-1]
        by_hand = ((seen.data[-1] - world.truth_at(ROUNDS)) ** 2).mean(axis=0).sum()
        assert local == pytest.approx(by_hand)


def test_a_walk_takes_a_step_a_round_from_the_second_on() -> None:
    """Gaussian, of the standard deviation asked for, to 5 standard errors; each agent its own."""
    _, batch, _ = watched(scenario(WALK), runs=3)
    world = batch.world
    path = np.array([world.truth_at(t) for t in range(1, ROUNDS + 1)])
    np.testing.assert_array_equal(path[0], world.truth)
    steps = np.diff(path, axis=0)
    assert abs(steps.mean()) < 5 * 0.01 / steps.size**0.5
    assert steps.std() == pytest.approx(0.01, rel=5 / (2 * steps.size) ** 0.5)
    assert len(np.unique(steps[0])) == steps[0].size
    for t in (3, ROUNDS, BLOCK, BLOCK + 1, 1):
        np.testing.assert_array_equal(world.truth_at(t), path[t - 1], "asked for in any order")


def test_a_class_walks_together() -> None:
    _, batch, _ = watched(scenario(WALK | {"of": "classes"}), runs=2)
    world = batch.world
    for run in range(2):
        moved = world.truth_at(100)[:, run] - world.truth[:, run]
        alike = world.mean_groups[:, run]
        places = {int(c): np.unique(moved[alike == c].round(12)) for c in np.unique(alike)}
        assert all(len(where) == 1 for where in places.values())
        assert len(np.unique(np.concatenate(list(places.values())))) == len(places)


def test_a_jump_moves_a_share_of_the_agents_to_another_class() -> None:
    jump = {"kind": "jump", "at": 40, "share": 0.3}
    _, batch, _ = watched(scenario(jump), runs=3)
    world = batch.world
    means = np.array([0.2, 0.4, 0.8]) - world.setting.centre
    np.testing.assert_array_equal(world.truth_at(39), world.truth)
    after = world.truth_at(40)
    assert ((after != world.truth).sum(axis=0) == 6).all()
    assert np.abs(after[..., None] - means).min(axis=-1).max() < 1e-12
    np.testing.assert_array_equal(world.truth_at(ROUNDS), after)
    movers = [(after != world.truth)[:, run] for run in range(3)]
    assert not np.array_equal(movers[0], movers[1])


def test_the_rounds_of_a_jump_are_recorded() -> None:
    study = Prepared(scenario({"kind": "jump", "at": 613}, rounds=5000), 4)
    assert {612, 613, 614, 616, 623, 643, 713, 913, 1613, 3613} <= set(study.recorded.tolist())


@pytest.mark.parametrize("algorithm", [name for name in NAMES if name != "recommended"])
def test_errors_are_against_the_truth_of_the_round(algorithm: str) -> None:
    """A jump of 100 by all shows in its own round, in full, but for the share of one sample."""
    jump = {"kind": "jump", "at": 100, "by": 100.0}
    told = {"rounds": 100, "recorded": [99, 100], "eventful": False}
    result = simulate(scenario(jump, algorithms=[algorithm], **told)).isel(degree=0, epsilon=0)
    before, now = (float(result.mse.sel(t=t).squeeze()) for t in (99, 100))
    assert before < 1
    assert 90**2 < now < 110**2
    assert 98**2 < float(result.mse_local.sel(t=100)) < 100**2
    assert 98**2 < float(result.mse_class_ideal.sel(t=100)) < 100**2


def test_a_jump_of_all_before_the_first_round_is_another_mean() -> None:
    """For those whose numbers do not depend on where the means are."""
    some = ["local", "ideal", "private-colme"]
    moved = simulate(scenario({"kind": "jump", "at": 1, "by": 0.25}, algorithms=some))
    there = simulate(scenario(None, means=[0.45, 0.65, 1.05], algorithms=some))
    there = there.sel(t=moved.t[np.isin(moved.t, there.t)])
    moved = moved.sel(t=there.t)
    np.testing.assert_allclose(moved.mse, there.mse, rtol=1e-4)
    np.testing.assert_allclose(moved.mse_local, there.mse_local, rtol=1e-4)


@pytest.mark.parametrize("drift", [WALK, {"kind": "jump", "at": 64, "share": 0.5}], ids=str)
def test_the_same_numbers_however_it_is_cut(drift: dict[str, Any]) -> None:
    assert_cuts_change_nothing(scenario(drift), 1, 63, 64)


def test_closed_forms_are_about_means_that_stay() -> None:
    result = simulate(scenario(WALK, algorithms=["local"]))
    for name in ("mse_ideal", "mse_theorem1", "corollary1_bound"):
        assert np.isnan(result[name]).all(), name
    assert np.isfinite(result.mse_local).all()


@pytest.mark.parametrize(
    ("drift", "means", "words"),
    [
        ({"kind": "jump", "at": 0}, [0.2, 0.4], "drift.at"),
        ({"kind": "jump", "at": 9}, [0.4, 0.4], "drift.by: saw None, expected a distance"),
        ({"kind": "walk"}, [0.4], "drift.step"),
        ({"kind": "walk", "step": 1, "at": 3}, [0.4], "drift.at: 'walk' has none"),
        ({"kind": "flow"}, [0.4], "drift.kind: saw 'flow'"),
    ],
)
def test_what_can_not_be_is_refused_in_words(
    drift: dict[str, Any], means: list[float], words: str
) -> None:
    with refused(ConfigError, words=words):
        scenario(drift, means=means)
