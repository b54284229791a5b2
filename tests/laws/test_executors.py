"""What every executor must give: the numbers of one thread, to the last bit."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colme import plugins
from colme.experiment.run import Arrays, Interrupted, run
from colme.sim.scenario import Scenario
from colme.sim.simulation import Simulation, simulate
from colme.studies.study import study

TWO_DEGREES = {
    "agents": 20,
    "graph": {"degree": [4, 6]},
    "epsilon": [1, float("inf")],
    "algorithms": ["oracle", "local"],
    "rounds": 40,
    "runs": 70,
}
OWN_RULE = """
from dataclasses import dataclass

from colme import ThresholdRule


@dataclass(frozen=True)
class Near(ThresholdRule):
    distance: float = 0.3

    def threshold(self, mine, theirs):
        return self.distance
"""


@pytest.fixture(scope="module", params=["processes", "threads"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with (
        ProcessPoolExecutor(2, get_context("spawn"))
        if request.param == "processes"
        else ThreadPoolExecutor(2)
    ) as pool:
        yield pool


@pytest.mark.slow
def test_a_sweep_is_the_same_bit_for_bit_and_kept_as_it_comes(
    executor: Executor, tmp_path: Path
) -> None:
    scenario = Scenario.build(**TWO_DEGREES)
    expected = simulate(scenario, threads=1)
    told, stored = list[int](), list[int]()

    def finished(parts: Sequence[Arrays]) -> None:
        stored.append(len(parts))
        if len(parts) == 20:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        run(Simulation(scenario), out=tmp_path, executor=executor, finished=finished)
    # What was stored is what threads would have stored, in the same place.
    found = simulate(scenario, out=tmp_path, report=told.append)
    assert found.identical(expected)
    assert sum(told) == Simulation(scenario).total_work()
    assert simulate(scenario, executor=executor).identical(expected)


def test_what_is_kept_beside_averages_comes_back_too(executor: Executor) -> None:
    fields = {"runs": 9, "graph": {"degree": 4}, "algorithms": ["local"]}
    scenario = Scenario.build(**TWO_DEGREES | fields)
    options: dict[str, Any] = {"keep": "agents,runs,classes", "dtype": np.float64}
    expected = simulate(scenario, threads=1, **options)
    assert simulate(scenario, executor=executor, **options).identical(expected)
    by_batch = simulate(scenario, threads=1, by_batch=True)
    assert simulate(scenario, executor=executor, by_batch=True).identical(by_batch)


def test_files_are_read_here_and_rules_found_by_name(executor: Executor, tmp_path: Path) -> None:
    """A worker may have neither this folder as its own nor these files."""
    (tmp_path / "near_by.py").write_text(OWN_RULE)
    (tmp_path / "edges.txt").write_text("".join(f"{a} {(a + 1) % 12}\n" for a in range(12)))
    (tmp_path / "values.txt").write_text("1 2 3 4 7.5")
    plugins.search_in(tmp_path)
    scenario = Scenario.build(
        agents=12,
        graph={"family": "edges", "file": tmp_path / "edges.txt"},
        data={"distribution": "empirical", "file": tmp_path / "values.txt"},
        algorithms=[{"algorithm": "paper", "rule": "near_by:Near", "distance": 2.0}],
        rounds=20,
        runs=8,
    )
    expected = simulate(scenario, threads=1)
    assert simulate(scenario, executor=executor).identical(expected)


def test_a_study_of_own_data_is_the_same_bit_for_bit(executor: Executor) -> None:
    draws = np.random.default_rng(3)
    data = {f"site {i}": draws.normal(i % 2, 1, 30).clip(-3, 4) for i in range(4)}
    options: dict[str, Any] = {"bounds": (-3, 4), "epsilon": 2, "samples": 12, "runs": 5}
    options["algorithm"] = ["paper", "local"]
    one, other = study(data, **options, threads=1), study(data, **options, executor=executor)
    assert one.as_plain() == other.as_plain()


def test_an_error_of_a_worker_is_the_caller_s(executor: Executor, tmp_path: Path) -> None:
    """The first ends all, and the executor is still good for others."""
    (tmp_path / "failing.py").write_text("def failing(run):\n    raise RuntimeError('no luck')\n")
    plugins.search_in(tmp_path)
    scenario = Scenario.build(**TWO_DEGREES | {"algorithms": ["failing:failing"]})
    with pytest.raises(RuntimeError, match="no luck"):
        simulate(scenario, executor=executor)
    assert executor.submit(len, "still").result() == 5
