"""Agents that do not have a sample in every round."""

from typing import Any

import numpy as np
import pytest

from colme.errors import ConfigError
from colme.sim.scenario import Scenario
from colme.sim.simulation import precision, simulate
from support.refusing import refused
from support.watching import watched

PACES = [1.0, 0.5, 0.07, 0.3] * 5
ROUNDS = 100


def scenario(paces: list[float] | None, **changes: Any) -> Scenario:
    fields: dict[str, Any] = {
        "agents": 20,
        "graph": {"degree": 4},
        "rounds": ROUNDS,
        "runs": 32,
        "pace_per_agent": paces,
        "algorithms": ["local"],
    }
    return Scenario.build(**(fields | changes))


def test_after_t_rounds_there_are_so_many_samples() -> None:
    """ceil(pace t), of the numbers as they are written: 0.07 * 100 is 7."""
    _, batch, _ = watched(scenario(PACES), runs=1)
    assert batch.world.counts(1).tolist() == [1, 1, 1, 1] * 5
    assert batch.world.counts(3).tolist() == [3, 2, 1, 1] * 5
    assert batch.world.counts(100).tolist() == [100, 50, 7, 30] * 5
    steps = np.diff([batch.world.counts(t) for t in range(ROUNDS + 1)], axis=0)
    assert set(np.unique(steps)) == {0, 1}
    _, batch, _ = watched(scenario(None), runs=1)
    assert batch.world.counts(9).tolist() == [9] * 20


@pytest.mark.parametrize("drift", [None, {"kind": "walk", "step": 0.1}], ids=["still", "drifting"])
def test_means_are_those_of_the_samples_taken(drift: dict[str, Any] | None) -> None:
    """The draws are the same as at one sample a round; those of other rounds are not taken."""
    _, batch, seen = watched(scenario(PACES, drift=drift), runs=3)
    _, _, drawn = watched(scenario(None, drift=drift), runs=3)
    rounds = np.arange(1, ROUNDS + 1)[:, None, None]
    samples = np.diff(rounds * drawn.data, axis=0, prepend=0)
    for a in range(20):
        counts = np.array([batch.world.counts(t)[a] for t in range(ROUNDS + 1)])
        taken = np.flatnonzero(np.diff(counts))
        for t in (1, 2, 37, ROUNDS):
            expected = samples[taken[taken < t], a].mean(axis=0)
            np.testing.assert_allclose(seen.data[t - 1, a], expected, rtol=0, atol=1e-11)


def test_local_is_as_good_as_its_samples_are_many() -> None:
    """sigma2 / n on average over agents: 32 runs of 20 agents, to 5 standard errors."""
    result = simulate(scenario(PACES, algorithms=["local"]))
    expected = 0.25 * np.mean([1 / 100, 1 / 50, 1 / 7, 1 / 30])
    end = result.isel(t=-1, degree=0)
    assert abs(float(end.mse_local) - expected) < 5 * float(end.mse_local_se)
    np.testing.assert_allclose(result.mse.squeeze(), result.mse_local.squeeze(), rtol=1e-12)
    assert np.isnan(result.mse_ideal).all()


def test_a_classs_ideal_weighs_by_counts() -> None:
    _, batch, seen = watched(scenario(PACES), runs=3)
    world, counts, total = batch.world, batch.world.counts(ROUNDS), 0.0
    for run in range(3):
        truth = world.truth[:, run]
        for a in range(20):
            mates = truth == truth[a]
            together = np.average(seen.data[-1, mates, run], weights=counts[mates])
            total += (together - truth[a]) ** 2 / 20
    assert batch.sums()["class_ideal_mse"][-1] == pytest.approx(total)


def test_one_pace_for_all_is_as_before() -> None:
    """But for the rounding of means that are taken apart and put together again."""
    ones, none = simulate(scenario([1.0] * 20)), simulate(scenario(None), dtype=np.float64)
    np.testing.assert_allclose(ones.mse, none.mse, rtol=1e-9)


def test_it_is_done_in_double_precision() -> None:
    assert precision(scenario(PACES)) is np.float64
    assert precision(scenario(None)) is np.float32


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"algorithms": ["paper"]}, "algorithms: saw 'paper', expected one sample a round"),
        ({"algorithms": ["ideal"]}, "algorithms: saw 'ideal', expected one sample"),
        ({"pace_per_agent": [0.5]}, "pace_per_agent: saw '1 entries', expected one for each"),
        ({"pace_per_agent": [1.5] * 20}, "pace_per_agent.0"),
        ({"pace_per_agent": [0.0] * 20}, "pace_per_agent.0"),
    ],
)
def test_what_can_not_be_is_refused_in_words(fields: dict[str, Any], words: str) -> None:
    paces = fields.get("pace_per_agent", PACES)
    with refused(ConfigError, words=words):
        scenario(paces, algorithms=fields.get("algorithms", ["local"]))
