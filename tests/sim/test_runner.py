"""Running a scenario: threads do not matter, finished batches survive, results are labelled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from colme.errors import ConfigError
from colme.sim import results
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support.refusing import refused

SMALL = {
    "agents": 20,
    "graph": {"degree": [4, 6]},
    "epsilon": [1, float("inf")],
    "algorithms": [
        {"algorithm": "oracle"},
        {"algorithm": "bernstein"},
        {"algorithm": "optimistic"},
    ],
    "rounds": 60,
    "runs": 70,
}


def small(**changes: object) -> Scenario:
    return Scenario.build(**(SMALL | changes))


def test_results_have_the_study_s_dimensions_and_carry_its_configuration(tmp_path: Path) -> None:
    dataset = simulate(small())
    results.save(dataset, tmp_path / results.RESULT)
    loaded = results.load(tmp_path)
    assert dataset.identical(loaded)
    assert dict(loaded.sizes) == {"algorithm": 3, "epsilon": 2, "degree": 2, "t": loaded.t.size}
    assert loaded.t[-1] == 60
    assert loaded.mse.sel(algorithm="bernstein", epsilon=1, degree=4, t=60) > 0
    assert Scenario.model_validate_json(loaded.attrs["scenario"]) == small()
    assert (loaded.type_one.sel(algorithm="oracle") == 0).all()
    assert (loaded.type_two.sel(algorithm="oracle") == 0).all()
    assert (loaded.accepted_size >= 1).all()
    assert (loaded.answering_locally.sel(algorithm="bernstein", t=1) == 1).all()


def test_local_error_is_the_same_for_both_degrees_and_close_to_proposition_1() -> None:
    dataset = simulate(small())
    assert (dataset.mse_local[0] == dataset.mse_local[1]).all()
    end = dataset.isel(t=-1, degree=0)
    assert abs(end.mse_local - 0.25 / 60) < 4 * end.mse_local_se


def test_batches_are_what_means_and_standard_errors_are_of() -> None:
    """64 runs: sixteen batches of 4, whose mean is the result and whose spread is its error."""
    whole, parts = simulate(small(runs=64)), simulate(small(runs=64), by_batch=True)
    assert parts.sizes["batch"] == 16
    np.testing.assert_allclose(parts.mse.mean("batch"), whole.mse, rtol=1e-12)
    error = parts.mse.std("batch", ddof=1) / 16**0.5
    np.testing.assert_allclose(error, whole.mse_se, rtol=1e-9)
    np.testing.assert_allclose(parts.mse_local.mean("batch"), whole.mse_local, rtol=1e-12)
    error = parts.accepted_size.std("batch", ddof=1) / 16**0.5
    np.testing.assert_allclose(error, whole.accepted_size_se, rtol=1e-9)


def test_a_share_has_an_error_too() -> None:
    """Of edges within a class there are as many in every batch of equals: that of a plain mean."""
    same = small(runs=64, means=[0.5], algorithms=["bernstein"], epsilon=1)
    whole, parts = simulate(same), simulate(same, by_batch=True)
    error = parts.type_one.std("batch", ddof=1) / 16**0.5
    assert (error > 0).any()
    np.testing.assert_allclose(error, whole.type_one_se, rtol=1e-9)
    assert whole.type_two_se.isnull().all()  # no edge is between classes: no share, and no error


def test_where_all_answer_those_who_do_are_all() -> None:
    whole = simulate(small(algorithms=["paper", "local"]))
    np.testing.assert_allclose((whole.mse_alone / whole.mse_local).values, 1, rtol=1e-12)
    assert whole.coverage.isnull().all()


def test_a_partial_batch_counts_its_runs_only() -> None:
    """With 33 runs, what the 33rd adds to the mean of the first 32 is its own error: positive."""
    whole = simulate(small(runs=64))
    first = simulate(small(runs=32))
    assert not np.allclose(whole.mse, first.mse)
    half = simulate(small(runs=33))
    weight = 1 / 33
    last = (half.mse - (1 - weight) * first.mse) / weight
    assert (last > -1e-12).all()


@pytest.mark.parametrize(
    "graph",
    [
        {"family": "erdos-renyi", "degree": 4},
        {"family": "small-world", "degree": 4},
        {"family": "scale-free", "degree": 4},
        {"family": "grid"},
        {"family": "complete"},
        {"family": "edges", "edges": [(0, 1), (1, 2), (0, 2)]},
    ],
    ids=lambda graph: str(graph["family"]),
)
@pytest.mark.parametrize(
    "data",
    [{"distribution": "beta"}, {"distribution": "empirical", "values": [0, 1, 5]}],
    ids=lambda data: str(data["distribution"]),
)
def test_every_graph_family_runs(graph: dict[str, object], data: dict[str, object]) -> None:
    dataset = simulate(small(agents=25, graph=graph, data=data, rounds=20, runs=2))
    assert np.isfinite(dataset.mse).all()
    assert float(dataset.degree[0]) > 0


def test_an_agent_may_have_its_own_epsilon() -> None:
    epsilons = [0.5, float("inf")] * 10
    dataset = simulate(small(epsilon_per_agent=epsilons))
    assert np.isnan(dataset.epsilon).all()
    assert np.isfinite(dataset.mse).all()
    common = simulate(small(epsilon_per_agent=[1.0] * 20))
    expected = simulate(small(epsilon=[1.0]))
    np.testing.assert_allclose(common.mse, expected.mse, rtol=1e-4)


@pytest.mark.slow
def test_a_processor_without_avx512_computes_the_same() -> None:
    """NUMBA_CPU_NAME=haswell, in a process of its own: the same errors, bit for bit."""
    fields = SMALL | {"epsilon": [1], "graph": {"degree": [4]}, "runs": 32}
    program = (
        "import json, sys; from colme.sim.simulation import simulate;"
        "from colme.sim.scenario import Scenario;"
        "print(json.dumps(simulate(Scenario.build(**json.loads(sys.argv[1]))).mse.values.tolist()))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, json.dumps(fields)],
        env=os.environ | {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""},
        capture_output=True,
        check=True,
        text=True,
    )
    expected = simulate(Scenario.build(**fields)).mse.values
    assert json.loads(answer.stdout) == expected.tolist()


def test_what_is_no_scenario_is_refused_in_words() -> None:
    with refused(ConfigError, "scenario"):
        simulate("paper")  # type: ignore[arg-type]
