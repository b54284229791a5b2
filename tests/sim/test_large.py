"""A run that is alone on its graph: the same bits as among others, for any number of threads."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.sim.batch import Batch
from colme.sim.engines import LargeEngine, PaperEngine, large
from colme.sim.kernel.arrays import UNIFORM, Origin, zeros
from colme.sim.kernel.generator import draw, leap_over, leapt, new_stream
from colme.sim.kernel.simd import form_of
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared, simulate

WORLDS: dict[str, dict[str, Any]] = {
    "rules": {
        "agents": 60,
        "graph": {"degree": 6},
        "epsilon": [1, 4, float("inf")],
        "algorithms": [
            {"rule": "oracle"},
            {"rule": "bernstein"},
            {"rule": "optimistic", "delta": 0.5, "alpha": "theorem"},
        ],
    },
    "hubs of more neighbours than a word has bits": {
        "agents": 300,
        "graph": {"family": "scale-free", "degree": 8},
        "epsilon": 4,
        "algorithms": ["bernstein", "oracle"],
    },
    "agents without neighbours, and data from a table": {
        "agents": 50,
        "graph": {"family": "erdos-renyi", "degree": 2},
        "means": [0.3, 0.6],
        "data": {"distribution": "beta", "concentration": 4.0},
        "epsilon": 8,
        "algorithms": ["oracle"],
    },
    "means of their own": {
        "agents": 64,
        "graph": {"family": "complete"},
        "means": {"distribution": "normal", "spread": 0.2, "centre": 0.5},
        "epsilon": 8,
        "algorithms": ["bernstein"],
    },
}


def batch_of(world: str, dtype: type = np.float32, threads: int = 1, **changes: Any) -> Batch:
    fields = {"rounds": 90, "runs": 2, "seed": 3, **WORLDS[world], **changes}
    scenario = Scenario.build(**fields)
    study = Prepared(scenario, scenario.graph.degrees[0], frozenset({"agents"}))
    batch = study.batch(1, 1, dtype, threads)
    # Cut in the middle, and where nothing is recorded.
    for first, last in ((1, 1), (2, 7), (8, 61), (62, scenario.rounds)):
        batch.advance(first, last)
    return batch


def assert_same_bits(one: Batch, other: Batch) -> None:
    expected, seen = one.sums(), other.sums()
    assert expected.keys() == seen.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(values, seen[name], name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("world", WORLDS)
def test_who_is_alone_sees_the_bits_of_those_who_are_not(
    world: str, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors, counts and everybody's answers are those of the kernel whose lanes are runs."""
    alone = batch_of(world, dtype)
    assert isinstance(alone.engines[0], LargeEngine)
    monkeypatch.setattr(LargeEngine, "suits", lambda *_: False)
    among_others = batch_of(world, dtype)
    assert isinstance(among_others.engines[0], PaperEngine)
    assert_same_bits(among_others, alone)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_change_nothing(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many share the agents of one run, and however unevenly they go into it."""
    one = batch_of("rules")
    monkeypatch.setattr(large, "WORTH_A_THREAD", 5)
    monkeypatch.setattr(large, "ThreadPoolExecutor", CountedPool)
    CountedPool.sizes.clear()
    many = batch_of("rules", threads=threads)
    assert set(CountedPool.sizes) == {threads}
    assert_same_bits(one, many)


def test_a_study_of_one_run_gives_it_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one of two runs a share to each."""
    monkeypatch.setattr(large, "WORTH_A_THREAD", 5)
    monkeypatch.setattr(large, "ThreadPoolExecutor", CountedPool)
    scenario = Scenario.build(**WORLDS["rules"], rounds=20, runs=1, seed=3)
    CountedPool.sizes.clear()
    one, six = (simulate(scenario, threads=threads) for threads in (1, 6))
    assert set(CountedPool.sizes) == {6}
    assert one.identical(six)
    CountedPool.sizes.clear()
    simulate(scenario.changed(runs=2), threads=6)
    assert set(CountedPool.sizes) == {3}


class CountedPool(ThreadPoolExecutor):
    """Tells how many threads were asked for."""

    sizes: list[int] = []  # noqa: RUF012 (cleared by whoever looks)

    def __init__(self, size: int) -> None:
        self.sizes.append(size)
        super().__init__(size)


@pytest.mark.parametrize(
    "changes",
    [
        {"liars": {"kind": "bias", "by": 0.2, "share": 0.1}},
        {"drift": {"kind": "walk", "step": 0.001, "of": "classes"}},
        {"epsilon": None, "epsilon_per_agent": [1.0, 4.0] * 30},
        {"data": {"distribution": "normal", "sigma": [0.3, 0.4, 0.5]}},
        {"runs": 64},
    ],
    ids=["liars", "drift", "own epsilons", "own variances", "lanes"],
)
def test_whatever_it_cannot_do_is_left_to_others(changes: dict[str, Any]) -> None:
    """Thresholds of edges, lies, truths that move, and runs side by side."""
    fields = {**WORLDS["rules"], "rounds": 5, "runs": 1, "algorithms": ["bernstein"], **changes}
    scenario = Scenario.build(**{name: one for name, one in fields.items() if one is not None})
    study = Prepared(scenario, scenario.graph.degrees[0])
    assert isinstance(study.batch(0, 1).engines[0], PaperEngine)


@settings(deadline=None, max_examples=25)
@given(draws=st.integers(0, 3_000), run=st.integers(0, 2**40))
def test_a_leap_is_as_many_draws(draws: int, run: int) -> None:
    """The state after a leap is the one after drawing, two draws for each agent."""
    form, agents = form_of(np.float32, 1), draws // 2
    stream = new_stream(form, max(agents, 1), 5, [run])
    before = stream.bits[:, 0].copy()
    ones = zeros((max(agents, 1), 1), np.float32)
    origin = Origin(UNIFORM, ones, ones, ones.astype(np.int32), np.zeros((1, 1), np.float32))
    if agents:
        draw(form, 1, 1, origin, stream)
    np.testing.assert_array_equal(leapt(before, leap_over(2 * agents)), stream.bits[:, 0])


def test_leaps_add_up() -> None:
    """One over 3 x 10^9 draws and 7 more is where one over all of them ends."""
    start = np.array([1, -2, 3, -4], np.int32)
    there = leapt(leapt(start, leap_over(3_000_000_000)), leap_over(7))
    np.testing.assert_array_equal(there, leapt(start, leap_over(3_000_000_007)))
