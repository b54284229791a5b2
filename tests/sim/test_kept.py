"""Results of agents, classes and runs: the averages are made of these and of nothing else."""

from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import xarray as xr

from colme.errors import ConfigError
from colme.sim.engines import Cell, Chunk, Cost, Engine, of_answers
from colme.sim.results import load, save
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support.refusing import refused

ALL = "agents,classes,runs"
EVERY = ["paper", "oracle", "relay", "local", "ideal", "colme", "c-colme"]


def close(one: xr.DataArray, other: xr.DataArray, *, within: float = 1e-9) -> None:
    np.testing.assert_allclose(one.transpose(*other.dims), other, rtol=within)


study = partial(
    Scenario.build,
    agents=24,
    graph={"degree": [4, 6]},
    epsilon=[1, 4],
    rounds=40,
    recorded=[1, 7, 40],
    eventful=False,
    runs=9,
    algorithms=[{"algorithm": "relay", "measured": [0, 5, 9]}, "paper", "oracle", "local"],
)


@pytest.mark.parametrize("algorithm", EVERY)
def test_averages_are_those_of_what_is_kept(algorithm: str) -> None:
    """To rounding: 1e-6 of single precision, in which the kernel subtracts the truth."""
    result = simulate(study(algorithms=[algorithm]), keep=ALL)
    asked = result.answered.sum("agent")
    of_agents = (result.agent_mse.fillna(0) * result.answered).sum("agent") / asked
    of_answers = (result.answer - result.truth) ** 2
    close(result.run_mse.mean("run"), result.mse, within=1e-12)
    close(result.run_mse_alone.mean("run"), result.mse_alone, within=1e-12)
    close(of_answers.mean("run"), result.agent_mse)
    of_own = ((result.own_mean - result.truth) ** 2).where(result.answer.notnull())
    close(of_own.mean("run"), result.agent_mse_alone)
    if algorithm != "relay":  # which asks some, who stand for others
        close(of_agents, result.mse, within=2e-6)
        close(of_answers.mean(["run", "agent"]), result.mse, within=2e-6)
        assert (result.answered == 9).all()
        of_class = of_answers.where(result.class_of == result.class_number)
        close(of_class.mean(["run", "agent"]), result.class_mse)


def test_relay_says_whom_it_asked() -> None:
    asked = [2, 3, 11]
    table = {"algorithm": "relay", "measured": asked}
    result = simulate(study(algorithms=[table, "local"]), keep="agents,runs")
    relay = result.sel(algorithm="relay")
    assert (relay.answered.sel(agent=asked) == 9).all()
    assert relay.answered.sum("agent").values.flatten().tolist() == [27.0] * relay.mse.size
    assert relay.agent_mse.notnull().sum("agent").values.flatten().tolist() == [3] * relay.mse.size
    assert relay.answer.sel(agent=asked).notnull().all()
    close(relay.agent_mse.mean("agent"), relay.mse)
    assert result.agent_mse.sel(algorithm="local").notnull().all()


def test_who_stands_for_many_weighs_as_much_in_its_class() -> None:
    """Where few are asked, and all with the same board answer, classes add up to the average."""
    table = {"algorithm": "relay", "measured": 4}
    result = simulate(study(algorithms=[table], classes=[0, 1, 2] * 8), keep="classes,agents")
    assert (result.answered < 9).any()
    x = result.isel(epsilon=0, degree=0, algorithm=0)
    assert (
        (x.class_mse.min("class_number") <= x.mse) & (x.mse <= x.class_mse.max("class_number"))
    ).all()


def test_a_trajectory_of_local_is_its_own_mean_around_the_truth() -> None:
    result = simulate(study(means=[300.2, 300.8], algorithms=["local"]), keep="agents,runs")
    close(result.answer.isel(algorithm=0, epsilon=0, degree=1), result.own_mean, within=1e-12)
    assert set(np.unique(result.truth)) == {300.2, 300.8}
    late = abs(result.own_mean - result.truth).sel(t=40)
    assert float(late.max()) < 5 * 0.5 / 40**0.5


class Halved(Engine):
    """An engine of one's own: everybody answers half its mean."""

    def advance(self, chunk: Chunk) -> None:
        if chunk.row is not None:
            truth, local = self.world.truth_at(chunk.last), chunk.data[-1]
            for cell in self.record:
                self.note(cell, chunk.row, of_answers(0.5 * local, local, truth, 0.05))

    def cost(self, cell: Cell) -> list[Cost]:
        return [Cost(messages=0, payload=0, memory=1)] * self.world.runs


def test_answers_of_an_engine_of_ones_own_are_kept() -> None:
    """About the middle of the means, which is what it computes about."""
    scenario = study(algorithms=[Halved], means=[0.25, 0.75], epsilon=1)
    result = simulate(scenario, keep="agents,runs")
    answers = result.answer.squeeze(["algorithm", "epsilon"]).isel(degree=0)
    close(answers, 0.5 + (result.own_mean - 0.5) / 2, within=1e-6)


def test_liars_are_not_kept() -> None:
    result = simulate(
        study(liars={"kind": "bias", "share": 0.25, "by": 0.3}, algorithms=["paper", "oracle"]),
        keep=ALL,
    )
    assert (result.answer.isel(t=0).isnull().sum("agent") == 6).all()
    of_answers = ((result.answer - result.truth) ** 2).mean(["run", "agent"])
    close(of_answers, result.mse, within=2e-6)


def test_standard_errors_of_classes_are_of_batches() -> None:
    """With as many agents of a class in every run, they are those of the runs' means."""
    result = simulate(study(classes=[0, 1, 2] * 8, algorithms=["local"]), keep=ALL)
    squares = (result.answer - result.truth) ** 2
    of_runs = squares.where(result.class_of == result.class_number).mean("agent")
    close(of_runs.std("run", ddof=1) / 3, result.class_mse_se)


def test_agents_are_called_as_the_nodes_of_the_graph(tmp_path: Path) -> None:
    ring = nx.cycle_graph(["north", "east", "south", "west"])
    scenario = study(graph=ring, agents=4, algorithms=["paper"])
    result = simulate(scenario, keep="agents")
    save(result, tmp_path / "result.nc")
    for one in (result, load(tmp_path)):
        assert one.agent.values.tolist() == ["north", "east", "south", "west"]
    table = load(tmp_path).colme.table("agents")
    assert sorted(set(table.agent)) == ["east", "north", "south", "west"]
    assert {"answered", "agent_mse", "agent_mse_alone"} <= {*table.columns}


def test_what_is_kept_is_the_same_for_any_threads_and_from_a_folder(tmp_path: Path) -> None:
    scenario = study()
    whole = simulate(scenario, keep=ALL, threads=1)
    assert whole.identical(simulate(scenario, keep=ALL, out=tmp_path, threads=3))
    assert whole.identical(simulate(scenario, keep=ALL, out=tmp_path))
    assert whole[["mse", "mse_se"]].identical(simulate(scenario)[["mse", "mse_se"]])
    with refused(ConfigError, "--out"):  # a folder made with it is not one made without
        simulate(scenario, out=tmp_path)


def test_more_than_memory_holds_is_refused_before_anything_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def report(_: int) -> None:
        raise AssertionError("something was computed")

    large = study(agents=2000, runs=2000, rounds=1000, recorded=150)
    with pytest.raises(ConfigError):
        simulate(large, keep=["runs", "agents"], report=report)
    small = study(algorithms=["local"])
    size = simulate(small, keep=ALL).nbytes
    monkeypatch.setattr("colme.sim.measures.LARGEST", 0.6 * size)
    with pytest.raises(ConfigError):
        simulate(small, keep=ALL, report=report)


def test_runs_alone_are_kept_without_anybody_s_answers() -> None:
    result = simulate(study(algorithms=["oracle", "local"]), keep="runs")
    close(result.run_mse.mean("run"), result.mse)


def test_a_kind_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError):
        simulate(study(), keep="agent")
    with pytest.raises(ConfigError):
        simulate(study(), keep="runs", by_batch=True)
