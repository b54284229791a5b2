"""Relay foreseen from drawn boards."""

from typing import Any

import numpy as np
import pytest

from colme.plan.question import Question
from colme.plan.relay_forecast import _board, relay
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate

SMALL = Question(agents=30, degree=4, means=(0.3, 0.7), epsilon=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "count"),
    [({}, 12), ({}, 120), ({"half_range": 1.5}, 120), ({"means": (0.5,), "spread": 0.1}, 40)],
    ids=["early", "late", "wide bounds", "everybody's own mean"],
)
def test_it_is_what_the_simulator_finds(changes: dict[str, Any], count: int) -> None:
    """Within 10%, and three standard errors of either."""
    question = SMALL.model_copy(update=changes)
    foreseen = relay(question, count, draws=48, seed=3)
    drawn = {"distribution": "normal", "spread": question.spread, "centre": 0.5}
    scenario = Scenario.build(
        agents=question.agents,
        graph={"degree": question.degree},
        means=drawn if question.spread else list(question.means),
        bounds=(0.5 - question.bound, 0.5 + question.bound) if question.half_range else None,
        epsilon=question.epsilon,
        rounds=count,
        recorded=[count],
        eventful=False,
        runs=128,
        seed=5,
        algorithms=[{"algorithm": "relay", "measured": 4}],
    )
    cell = simulate(scenario).squeeze()
    found, error = float(cell.mse / cell.mse_local), float(cell.mse_se / cell.mse_local)
    allowed = 0.1 * found + 3 * np.hypot(error, foreseen.standard_error)
    assert abs(foreseen.ratio - found) < allowed < 0.5


def test_what_is_subtracted_has_no_expectation() -> None:
    """Else it would be no mere luck. Two controls, four standard errors each."""
    generator = np.random.default_rng(9)
    question = Question(agents=12, degree=4, epsilon=4)
    rows = np.array([_board(question, 50, generator) for _ in range(400)])[:, 1:]
    errors = rows.std(axis=0, ddof=1) / 400**0.5
    assert (np.abs(rows.mean(axis=0)) < 4 * errors).all()
    assert (errors > 0).all()


def test_it_is_surer_than_an_average_of_as_many_boards() -> None:
    """Late, where all the luck is that of the classes' means: by ten times and more."""
    question = Question(agents=60, degree=6, epsilon=4)
    generator = np.random.default_rng([1, 2000])
    plain = np.array([_board(question, 2000, generator)[0] for _ in range(24)])
    foreseen = relay(question, 2000, draws=24, seed=1)
    assert foreseen.standard_error < plain.std(ddof=1) / 24**0.5 / 3


def test_the_same_seed_foresees_the_same() -> None:
    assert relay(SMALL, 40, draws=12, seed=4) == relay(SMALL, 40, draws=12, seed=4)
    assert relay(SMALL, 40, draws=12, seed=4) != relay(SMALL, 40, draws=12, seed=5)


def test_whom_no_path_connects_is_not_heard_of() -> None:
    """Without neighbours everybody is alone, whatever the epsilon."""
    alone = relay(SMALL.model_copy(update={"degree": 0}), 200, draws=24, seed=1)
    assert alone.ratio == pytest.approx(1, abs=1e-9)
