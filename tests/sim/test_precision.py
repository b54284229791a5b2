"""Single precision has digits for what tells means apart, not for what they share."""

from typing import Any

import numpy as np
import pytest

from colme.sim.scenario import Scenario
from colme.sim.simulation import precision, simulate

ALGORITHMS: list[Any] = [
    "oracle",
    "bernstein",
    "private-colme",
]
STUDY: dict[str, Any] = {
    "agents": 60,
    "graph": {"degree": 6},
    "epsilon": [4, float("inf")],
    "rounds": 600,
    "runs": 4,
    "algorithms": ALGORITHMS,
}
NEAR = (0.2, 0.4, 0.8)


@pytest.mark.parametrize("shift", [300.0, -20_000.0])
def test_where_the_means_are_does_not_matter(shift: float) -> None:
    """The same samples and noise, elsewhere: what the consensus had to come from 0 is forgotten."""
    here, there = (
        simulate(Scenario.build(**STUDY, means=[by + mean for mean in NEAR]), dtype=np.float32)
        for by in (0.0, shift)
    )
    late = here.t > 300
    assert (abs(there.mse - here.mse) < 0.01 * here.mse_se)[..., late].all()
    np.testing.assert_allclose(there.mse_local, here.mse_local, rtol=1e-3)


WIDE: dict[str, Any] = {"means": [-18.5, 18.5], "epsilon": float("inf"), "runs": 32}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "rounds", "graph", "agents"),
    [
        ("oracle", 2600, {"degree": 20}, 200),
        ("oracle", 1600, {"family": "complete"}, 40),
        ({"algorithm": "relay", "measured": 1}, 22_000, {"degree": 6}, 40),
    ],
)
def test_single_precision_is_used_only_where_it_does(
    algorithm: object, rounds: int, graph: dict[str, Any], agents: int
) -> None:
    """Near the latest round for which it is chosen, to 2%, also where all round alike."""
    scenario = Scenario.build(
        **WIDE, rounds=rounds, algorithms=[algorithm], graph=graph, agents=agents, recorded=8,
        eventful=False,
    )  # fmt: skip
    assert precision(scenario) is np.float32
    assert precision(scenario.changed(rounds=2 * rounds)) is np.float64
    single, double = simulate(scenario), simulate(scenario, dtype=np.float64)
    late = single.t > 50
    assert abs(single.mse / double.mse - 1)[..., late].max() < 0.02


def test_double_precision_is_used_where_single_would_not_do() -> None:
    paper = Scenario.build(rounds=30_000, algorithms=["paper"])
    assert precision(paper) is np.float32
    assert precision(paper.changed(rounds=200_000)) is np.float64
    assert precision(paper.changed(means=[300.0], rounds=10**9)) is np.float32
    assert precision(paper.changed(data={"sigma": 1e-15}, means=[0.0])) is np.float64
    assert precision(paper.changed(data={"sigma": 1e-200}, means=[0.0])) is np.float64
    scenario = Scenario.build(
        means=[0.0, 4000.0], agents=20, graph={"degree": 4}, rounds=1500, runs=2,
        algorithms=["oracle"],
    )  # fmt: skip
    assert simulate(scenario).drop_attrs().equals(simulate(scenario, dtype=np.float64).drop_attrs())


@pytest.mark.parametrize("scale", [1e-20, 1e15])
def test_units_do_not_matter(scale: float) -> None:
    """Charges in coulomb, or what a country earns: the same story in other numbers."""
    here, there = (
        simulate(
            Scenario.build(
                agents=40, graph={"degree": 6}, epsilon=4, rounds=600, runs=8,
                means=[s * mean for mean in NEAR], data={"sigma": 0.5 * s},
                algorithms=["paper", "tight"],
            ),
            dtype=np.float64,
        )
        for s in (1.0, scale)
    )  # fmt: skip
    np.testing.assert_allclose(there.mse / scale**2, here.mse, rtol=1e-4)
