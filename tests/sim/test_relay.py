"""Relay in whole studies: what it gains, whom it measures, what lies do to it."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from colme.errors import ConfigError
from colme.sim.engines import RelayTable
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared, simulate
from support.refusing import refused

AGENTS = 40


study = partial(
    Scenario.build,
    agents=AGENTS,
    graph={"degree": 4},
    means=[0.2, 0.8],
    epsilon=4.0,
    rounds=200,
    runs=8,
    recorded=8,
    eventful=False,
    algorithms=[{"algorithm": "relay", "measured": 12}],
)
"""Two classes a standard deviation apart."""


def test_everybody_learns_on_a_path_of_others() -> None:
    """Neighbours are of either class, and 40 hops are far: at the end the error is a fraction.

    96 agents answer; the ratio has a standard error below 0.1.
    """
    path = [(a, a + 1) for a in range(AGENTS - 1)]
    result = simulate(study(graph={"family": "edges", "edges": path}))
    ratio = (result.mse / result.mse_local).squeeze()
    assert float(ratio.isel(t=-1)) < 0.6


def test_all_who_are_asked_stand_for_all() -> None:
    """Asking everybody, the errors of those who answered are everybody's, as measured elsewhere."""
    everybody = {"algorithm": "relay", "measured": AGENTS, "name": "everybody"}
    some = {"algorithm": "relay", "measured": 12, "name": "some"}
    result = simulate(study(algorithms=[everybody, some]))
    local, alone = result.mse_local.squeeze(), result.mse_alone.squeeze()
    # Single precision on one side.
    np.testing.assert_allclose(alone.sel(algorithm="everybody"), local, rtol=1e-4)
    share = alone.sel(algorithm="some") / local
    assert ((share > 0.5) & (share < 2)).all()
    assert not np.allclose(share, 1)


def test_those_who_are_to_be_asked_can_be_named() -> None:
    """Four agents and the others: their errors add up to everybody's."""
    groups = [list(range(4)), list(range(4, AGENTS)), list(range(AGENTS))]
    named = [{"algorithm": "relay", "measured": group, "name": f"{len(group)}"} for group in groups]
    result = simulate(study(algorithms=named)).squeeze()
    # Fits that begin elsewhere end a little elsewhere; exact means are the same to the bit or two.
    for error, tolerance in ((result.mse, 0.01), (result.mse_alone, 1e-9)):
        few, others, everybody = error.values
        np.testing.assert_allclose((4 * few + 36 * others) / 40, everybody, rtol=tolerance)
        assert not np.allclose(few, others, rtol=0.01)


def test_on_a_complete_graph_everybody_is_asked_and_with_others_a_few() -> None:
    complete = study(graph={"family": "complete"}, algorithms=["relay"])
    for scenario, asked in ((complete, AGENTS), (study(algorithms=["relay"]), 24)):
        one = Prepared(scenario, scenario.graph.degrees[0])
        (engine,) = one.batch(0, 1).engines
        (table,) = scenario.algorithms
        assert isinstance(table, RelayTable)
        assert table.evaluated(engine.world, np.random.default_rng(1)).sum() == asked


def test_records_of_others_come_later_where_a_hop_takes_longer() -> None:
    """A path is 39 hops: at one in ten rounds nobody has heard of most, at first."""
    path = {"family": "edges", "edges": [(a, a + 1) for a in range(AGENTS - 1)]}
    slow = {"algorithm": "relay", "measured": 12, "hop": 10, "name": "slow"}
    fast = {"algorithm": "relay", "measured": 12, "name": "fast"}
    result = simulate(study(graph=path, algorithms=[slow, fast]))
    early = result.answering_locally.squeeze().sel(t=result.t <= 30)
    assert float(early.sel(algorithm="slow").mean()) > float(early.sel(algorithm="fast").mean())


def test_liars_are_heard_and_not_measured() -> None:
    """A third that says the same wrong thing, without noise: in the middle of the others."""
    honest = simulate(study())
    lying = simulate(study(liars={"kind": "constant", "value": 0.5, "share": 0.34}))
    assert not np.allclose(honest.mse, lying.mse)
    # Nobody is much worse off than alone for it: a factor of two is many standard errors.
    assert float((lying.mse / lying.mse_alone).max()) < 2
    assert np.isfinite(lying.coverage.isel(t=-1)).all()


@pytest.mark.parametrize("measured", [1, 3])
def test_every_run_evaluates_honest_agents(measured: int) -> None:
    """Three of four agents lie: of those that are drawn all do in some runs, and others answer."""
    lie = {"kind": "bias", "by": 0.1, "count": 30}
    relay = {"algorithm": "relay", "measured": measured}
    result = simulate(study(liars=lie, algorithms=[relay], runs=16), keep="runs").squeeze()
    assert (result.run_mse > 0).all()
    assert (result.run_mse_alone > 0).all()
    assert (result.evaluated >= measured).all()


def test_named_agents_must_not_all_lie_in_a_run() -> None:
    named = [{"algorithm": "relay", "measured": [0, 1, 2]}]
    study(algorithms=named, liars={"by": 0.1, "count": 2})
    with refused(ConfigError, "algorithms.0.measured"):
        study(algorithms=named, liars={"by": 0.1, "count": 3})


def test_known_and_released_variances_evaluate_the_same_agents() -> None:
    """At each epsilon: exact means, which do not depend on the variance, have the same error."""
    tables = [
        {"algorithm": "relay", "measured": 12, "variance": variance, "name": variance}
        for variance in ("known", "released")
    ]
    result = simulate(study(algorithms=tables, epsilon=[1.0, 4.0])).squeeze()
    known, released = (result.sel(algorithm=one) for one in ("known", "released"))
    np.testing.assert_array_equal(known.evaluated, released.evaluated)
    np.testing.assert_allclose(known.mse_alone, released.mse_alone, rtol=1e-12)
    assert result.evaluated.min() == 12 < result.evaluated.max() <= AGENTS


def test_the_summary_says_whose_errors_are_of_few_agents() -> None:
    result = simulate(study(algorithms=["local", {"algorithm": "relay", "measured": [3]}]))
    assert "relay at 1" in result.colme.title
    assert "local" not in result.colme.title


def lying(variance: str, **claim: Any) -> Any:
    """What a fifth that is off by a tenth costs the others."""
    relay = {"algorithm": "relay", "measured": 12, "variance": variance}
    lie = {"kind": "bias", "by": 0.1, "share": 0.2}
    return simulate(study(liars=lie | claim, algorithms=[relay], runs=2)).mse.isel(t=-1)


@pytest.mark.parametrize("variance", ["known", "released"])
def test_claims_and_invented_agents_are_heard(variance: str) -> None:
    plain = lying(variance)
    assert not np.allclose(plain, lying(variance, no_variance=True), rtol=1e-3)
    assert not np.allclose(plain, lying(variance, invented=5), rtol=1e-3)


def test_a_claim_of_a_thousand_times_the_count_is_worth_no_more_than_that_of_most() -> None:
    """A fifth is fewer than a quarter: what they claim beyond the others is not believed."""
    np.testing.assert_allclose(lying("known"), lying("known", count_times=1000.0), rtol=0.01)
