"""What engines keep of everybody's answers is what their sums are of."""

from typing import Any

import numpy as np
import pytest

from colme.sim.engines import PaperEngine
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared

TABLES: dict[str, Any] = {
    "paper": "paper",
    "relay": {"algorithm": "relay", "variance": "released", "measured": [0, 3, 4]},
}


@pytest.mark.parametrize("name", TABLES)
def test_answers_one_by_one_add_up_to_what_is_measured(name: str) -> None:
    scenario = Scenario.build(
        agents=9,
        graph={"degree": 4},
        means=[0.2, 0.8],
        bounds=(-2, 3),
        epsilon=[8.0],
        rounds=60,
        recorded=[20, 60],
        eventful=False,
        runs=4,
        # Beside another engine, so that rounds are not one compiled loop.
        algorithms=[TABLES[name], "local"],
    )
    batch = Prepared(scenario, 4, frozenset({"agents"})).batch(0, 1, np.float64)
    batch.advance(1, 60)
    engine = batch.engines[0]
    answered = engine.answered((name, 0))
    asked = answered.weight[:, 0] > 0
    assert asked.sum() == (3 if name == "relay" else 9)
    error = (answered.values - batch.world.truth)[asked] ** 2
    record = engine.measured()[name, 0]
    np.testing.assert_allclose(record["error"][-1], error.sum(axis=0) * 9 / asked.sum(), rtol=1e-9)
    assert answered.class_size is not None
    sizes = answered.class_size[asked].sum(axis=0) * 9 / asked.sum()
    np.testing.assert_allclose(record["size"][-1], sizes)
    assert (answered.margin is None) == (name != "relay")
    if isinstance(engine, PaperEngine):
        data = batch.feed._stream.data  # type: ignore[attr-defined]
        local = np.isin(answered.values, data[(60 - 1) % len(data)])
        assert local.sum() == record["local"][-1, 0]


def test_who_was_not_asked_has_no_answer() -> None:
    """Where boards differ, only those who hold the board of somebody who is asked answer."""
    scenario = Scenario.build(
        agents=30,
        graph={"degree": 2},
        epsilon=[8.0],
        rounds=40,
        recorded=[40],
        eventful=False,
        runs=2,
        algorithms=[{"algorithm": "relay", "measured": 1}, "local"],
    )
    batch = Prepared(scenario, 2, frozenset({"agents"})).batch(0, 1, np.float64)
    batch.advance(1, 40)
    asked = batch.engines[0].answered(("relay", 0)).weight > 0
    assert 1 <= np.count_nonzero(asked) < 30
