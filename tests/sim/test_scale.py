"""What an agent takes in a large run, counted; how long it takes is nobody's test."""

import numpy as np
import pytest

from colme.sim import scale
from colme.sim.engines import LargeEngine
from colme.sim.scenario import Scenario
from colme.sim.study import Batch, Study


def batch_of(agents: int) -> Batch:
    scenario = Scenario.build(
        agents=agents, graph={"degree": 10}, epsilon=2, rounds=2, runs=1, algorithms=["bernstein"]
    )
    return Batch(Study(scenario, 10), 0, 1)


def test_an_agent_takes_at_most_120_bytes_beyond_the_graph() -> None:
    """At degree 10, one algorithm at one epsilon, all arrays of a batch together."""
    few, many = (scale.bytes_kept(batch_of(agents)) for agents in (2_000, 4_000))
    graph, beyond = (many[i] - few[i] for i in (0, 1))
    assert graph == 2_000 * (8 + 10 * 8 + 10 * 4)
    assert 0 < beyond <= 2_000 * 120


def test_all_arrays_are_counted_once() -> None:
    """Views are their bases, and what two hold is held once."""
    values = np.zeros(1_000)
    assert sum(scale._arrays_in([values, values[3:], {"again": [values]}]).values()) == 8_000


def test_a_size_is_measured_in_a_process_of_its_own() -> None:
    """It says of which, and all that it measures is there."""
    size = scale.in_a_process(1_000, 1)
    assert (size.agents, size.threads) == (1_000, 1)
    assert size.nanoseconds > 0
    assert size.held_bytes < 200
    moved = scale.PER_AGENT + 10 * scale.PER_NEIGHBOUR
    assert size.share_of(1e9) == pytest.approx(moved / size.nanoseconds)


def test_what_is_measured_is_the_kernel_of_large_runs() -> None:
    """Else its bytes were somebody else's."""
    assert isinstance(scale._batch(100, 5, 1).engines[0], LargeEngine)
