"""Single precision has digits for what tells means apart, not for what they share."""

from typing import Any

import numpy as np
import pytest

from colme.sim.scenario import Scenario
from colme.sim.study import precision, simulate

ALGORITHMS: list[Any] = [
    "oracle",
    "bernstein",
    "tracking",
    {"name": "learned", "algorithm": "tracking", "variance": "released"},
    "private-colme",
]
STUDY: dict[str, Any] = {
    "agents": 60,
    "graph": {"degree": 6},
    "epsilon": [4, float("inf")],
    "rounds": 1500,
    "runs": 8,
    "algorithms": ALGORITHMS,
}
NEAR = (0.2, 0.4, 0.8)


@pytest.mark.parametrize("shift", [300.0, -20_000.0])
def test_where_the_means_are_does_not_matter(shift: float) -> None:
    """The same samples and noise, elsewhere: what the consensus had to come from 0 is forgotten."""
    here = simulate(Scenario.build(**STUDY, means=list(NEAR)))
    there = simulate(Scenario.build(**STUDY, means=[shift + mean for mean in NEAR]))
    late = here.t > 400
    assert (abs(there.mse - here.mse) < 0.01 * here.mse_se)[..., late].all()
    np.testing.assert_allclose(there.mse_local, here.mse_local, rtol=1e-3)


WIDE = {"means": [0.0, 40.0, 100.0], "agents": 200, "graph": {"degree": 20}, "runs": 32}


def test_single_precision_is_used_only_where_it_does() -> None:
    """At the widest spread and the latest round for which it is chosen, to 2% of the error."""
    scenario = Scenario.build(**WIDE, epsilon=float("inf"), rounds=3000, algorithms=["oracle"])
    assert precision(scenario) is np.float32
    assert precision(scenario.changed(rounds=6000)) is np.float64
    single, double = simulate(scenario), simulate(scenario, dtype=np.float64)
    assert abs(single.mse / double.mse - 1).max() < 0.02


def test_double_precision_is_used_where_single_would_not_do() -> None:
    assert precision(Scenario.build(rounds=30_000)) is np.float32
    assert precision(Scenario.build(rounds=200_000)) is np.float64
    assert precision(Scenario.build(means=[300.0], rounds=10**9)) is np.float32
    scenario = Scenario.build(
        means=[0.0, 4000.0], agents=20, graph={"degree": 4}, rounds=1500, runs=2,
        algorithms=["oracle"],
    )  # fmt: skip
    assert simulate(scenario).drop_attrs().equals(simulate(scenario, dtype=np.float64).drop_attrs())
