"""What an agent takes in a large run, counted; how long it takes is nobody's test."""

import json

import numpy as np
import pytest

from benchmarks import scale
from benchmarks.__main__ import run
from colme.sim.batch import Batch
from colme.sim.engines import LargeEngine
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared


def batch_of(agents: int) -> Batch:
    scenario = Scenario.build(
        agents=agents, graph={"degree": 10}, epsilon=2, rounds=2, runs=1, algorithms=["bernstein"]
    )
    return Prepared(scenario, 10).batch(0, 1)


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


def test_the_json_has_every_size_up_to_the_largest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the keys that `colme bench --scale --json` had."""
    measured = scale.Size(
        agents=1_000,
        threads=1,
        built_seconds=0.5,
        nanoseconds=75.8,
        wall_nanoseconds=50.0,
        graph_bytes=128.0,
        held_bytes=106.0,
        peak_bytes=350.0,
    )
    monkeypatch.setattr(scale, "in_a_process", lambda *_: measured)
    monkeypatch.setattr(scale, "bandwidth", lambda: 2e10)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    for more in (["--json"], []):
        with pytest.raises(SystemExit):
            run(["scale", "--largest", "10000", *more])
    answer, _, table = capsys.readouterr().out.partition("\n")
    sizes = [{field: getattr(measured, field) for field in scale.Size.__slots__}] * 2
    assert json.loads(answer) == {"bandwidth": 2e10, "sizes": sizes}
    # 758 bytes in 75.8 ns are 10 GB/s: half of what the memory does.
    assert table.count("| 1,000 | 1 | 76 | 20.0 | 0.50 |") == 2


def test_what_is_measured_is_the_kernel_of_large_runs() -> None:
    """Else its bytes were somebody else's."""
    assert isinstance(scale._batch(100, 5, 1).engines[0], LargeEngine)
