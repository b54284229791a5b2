"""Scenarios: from Python, from TOML, and the ones that cannot be."""

from math import inf, nan
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from colme.errors import ConfigError, UnknownOption
from colme.protocol.rounds.paper import Paper
from colme.relay import Relay
from colme.rules.bernstein import bounded_parameter
from colme.rules.consensus import theorem_alpha
from colme.rules.decision import (
    Bernstein,
    PowerTheta,
    Situation,
    TightBernstein,
    nearest_paper_theta,
)
from colme.rules.release import Blocks
from colme.sim.engines import PaperTable, RelayTable
from colme.sim.figures import PAPER
from colme.sim.graphs import RandomRegular
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support.refusing import refused

TOML = """
agents = 200
means = [0.2, 0.4, 0.8]
epsilon = [1, 2, 4, inf]
rounds = 30000
runs = 4000
seed = 7

[graph]
family = "random-regular"
degree = [20, 5]

[data]
distribution = "uniform"
sigma = 0.5

[[algorithms]]
rule = "oracle"
alpha = "theorem"

[[algorithms]]
name = "patient"
rule = "bernstein"
theta = { scale = 3, exponent = 0.125 }
"""


def test_a_scenario_in_toml(tmp_path: Path) -> None:
    path = tmp_path / "paper.toml"
    path.write_text(TOML)
    scenario = Scenario.load(path, runs=10, graph={"degree": [6]})
    assert scenario.epsilon == [1, 2, 4, inf]
    assert [algorithm.label for algorithm in scenario.algorithms] == ["oracle", "patient"]
    patient = scenario.algorithms[1]
    assert isinstance(patient, PaperTable)
    situation = Situation(agents=200, degree=5, epsilon=1)
    assert patient.rule_in(situation) == Bernstein(PowerTheta(3, 0.125))
    assert scenario.graph == RandomRegular(degree=[6])
    assert scenario.runs == 10
    assert Scenario.model_validate_json(scenario.model_dump_json()) == scenario


def test_files_in_a_scenario_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    (tmp_path / "values.txt").write_text("1 2 4\n")
    path = tmp_path / "scenario.toml"
    path.write_text(
        "agents = 3\n[graph]\nfamily = 'edges'\nfile = 'edges.txt'\n"
        "[data]\ndistribution = 'empirical'\nfile = 'values.txt'\n"
    )
    scenario = Scenario.load(path)
    assert scenario.draw_graph(0, 0).neighbours(1).tolist() == [0, 2]
    assert scenario.shapes[0].sigma2 == pytest.approx(14 / 9)


def labels(*algorithms: object) -> list[str]:
    return [one.label for one in Scenario.build(algorithms=list(algorithms)).algorithms]


def test_the_default_is_the_recommended_algorithm_by_its_real_name() -> None:
    """`recommended` is an alias: whatever keeps a scenario keeps the name it stands for."""
    assert [one.label for one in Scenario.build().algorithms] == ["relay"]
    for algorithm in ("recommended", {"algorithm": "recommended"}, {"variance": "known"}, {}):
        scenario = Scenario.build(algorithms=[algorithm])
        assert [one.label for one in scenario.algorithms] == ["relay"]
        assert "recommended" not in scenario.model_dump_json()


def test_a_rules_name_stands_for_the_papers_algorithm_with_it() -> None:
    assert labels("paper", "oracle", "tight") == ["paper", "oracle", "tight"]
    assert labels({"algorithm": "paper", "rule": "optimistic"}) == ["paper, optimistic"]
    (tight,) = Scenario.build(algorithms=["tight"]).algorithms
    assert isinstance(tight, PaperTable)
    assert tight.rule_in(Situation(agents=9, degree=2, epsilon=1)) == TightBernstein()


def test_objects_of_the_library_are_algorithms_of_a_scenario() -> None:
    given = [
        Paper(rule=TightBernstein(), alpha=theorem_alpha),
        Relay(capacity=50),
    ]
    first, second = Scenario.build(algorithms=given).algorithms
    assert isinstance(first, PaperTable)
    assert (first.rule, first.alpha, first.label) == (TightBernstein(), "theorem", "paper, tight")
    assert isinstance(second, RelayTable)
    assert (second.variance, second.capacity) == ("released", 50)
    assert labels("paper", Paper()) == ["paper", "paper, bernstein"]  # tuned, and one for all
    with refused(ConfigError, "algorithms.0.algorithm"):
        Scenario.build(algorithms=[Paper(schedule=Blocks(1.0))])


@pytest.mark.parametrize("given", ["tracking", {"algorithm": "tracking", "variance": "released"}])
def test_a_retired_algorithm_names_its_successor(given: object) -> None:
    with refused(ConfigError, "algorithms.0.algorithm", seen="tracking", words="'relay'"):
        Scenario.build(algorithms=[given])


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"algorithms": [{"variance": "known", "alpha": "theorem"}]}, "algorithms.0.alpha"),
        ({"algorithms": [{"algorithm": "recommended", "depth": 2}]}, "algorithms.0.depth"),
        ({"graph": {"rewired": 0.2}}, "graph.rewired"),
        ({"graph": {"family": "complete", "degree": 5}}, "graph.degree"),
        ({"data": {"concentration": 3}}, "data.concentration"),
        ({"data": {"distribution": "bernoulli", "sigma": 1}}, "data.sigma"),
        ({"algorithms": [{"algorithm": "oracle", "theta": "paper"}]}, "algorithms.0.theta"),
        ({"algorithms": [{"algorithm": "paper", "delta": 1}]}, "algorithms.0.delta"),
        ({"algorithms": [{"algorithm": "tight", "delta": 1}]}, "algorithms.0.delta"),
        ({"algorithms": [{"algorithm": "local", "delta": 1}]}, "algorithms.0.delta"),
        ({"algorithms": [{"algorithm": "relay", "theta": 1}]}, "algorithms.0.theta"),
        ({"algorithms": [{"algorithm": "c-colme", "depth": 1}]}, "algorithms.0.depth"),
    ],
)
def test_an_option_of_another_kind_is_refused(fields: dict[str, Any], field: str) -> None:
    with refused(UnknownOption, field):
        Scenario(**fields)


@pytest.mark.parametrize(
    ("fields", "field", "meant"),
    [
        ({"algorithms": ["relai"]}, "algorithms.0.algorithm", "relay"),
        ({"algorithms": [{"rule": "bernstien"}]}, "algorithms.0.rule", "bernstein"),
        ({"algorithms": [{"algorithm": "paper", "rul": "tight"}]}, "algorithms.0.rul", "rule"),
        ({"algorithms": [{"algorithm": "paper", "alfa": "theorem"}]}, "algorithms.0.alfa", "alpha"),
        ({"graph": {"family": "gird"}}, "graph.family", "grid"),
        ({"agent": 3}, "agent", "agents"),
        ({"graph": {"degre": 3}}, "graph.degre", "degree"),
        ({"algorithms": [{"rul": "oracle"}]}, "algorithms.0.rul", "rule"),
        ({"agens": 10}, "agens", "agents"),
    ],
)
def test_of_a_slip_the_nearest_name_is_told(fields: dict[str, Any], field: str, meant: str) -> None:
    with refused(ConfigError, field, expected=f"{meant!r}, perhaps"):
        Scenario(**fields)


TOO_FAR = ([0.0, 1e16], [1e15, 1e15 + 1], [nan, 1.0], [1e308, 1.5e308])
"""Means at which samples can't be told apart."""


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"algorithms": [{"algorithm": "magic"}]}, "algorithms.0.algorithm"),
        ({"algorithms": [{"algorithm": "paper", "rule": "magic"}]}, "algorithms.0.rule"),
        ({"algorithms": [{"algorithm": "optimistic", "delta": 2}]}, "algorithms.0.delta"),
        ({"algorithms": [{"algorithm": "optimistic", "delta": "x"}]}, "algorithms.0.rule"),
        ({"algorithms": [{"algorithm": "paper", "theta": {"scale": 1}}]}, "algorithms.0.theta"),
        ({"algorithms": [{"algorithm": "private-colme", "theta": 3}]}, "algorithms.0.theta"),
        ({"algorithms": [{"algorithm": "bernstein", "rule": "tight"}]}, "algorithms.0.rule"),
        ({"algorithms": [3]}, "algorithms.0.algorithm"),
        ({"algorithms": [None]}, "algorithms.0.algorithm"),
        ({"algorithms": [{"algorithm": 3}]}, "algorithms.0.algorithm"),
        ({"algorithms": [{"algorithm": "nowhere:at_all"}]}, "algorithms.0.algorithm"),
        ({"algorithms": [{"algorithm": "optimistic", "degree": 300}]}, "algorithms.0.degree"),
        ({"algorithms": [{"algorithm": "relay", "hop": 0}]}, "algorithms.0.hop"),
        ({"algorithms": [{"algorithm": "relay", "measured": [200]}]}, "algorithms.0.measured"),
        ({"epsilon": 0}, "epsilon.0"),
        ({"agents": "many"}, "agents"),
        ({"rounds": 1.5}, "rounds"),
        ({"epsilon": [1, float("nan")]}, "epsilon.1"),
        ({"rounds": "many"}, "rounds"),
        ({"graph": {"degree": 300}}, "degree"),
        ({"agents": 31}, "degree"),
        ({"graph": {"family": "small-world"}}, "degree"),
        ({"graph": {"family": "grid"}}, "agents"),
        ({"graph": {"family": "edges"}}, "graph.family"),
        ({"graph": {"family": "edges", "file": "nowhere"}}, "graph.file"),
        ({"data": {"distribution": "beta"}, "means": [2]}, "means"),
        ({"data": {"sigma": -1}}, "data.sigma"),
        ({"data": {"distribution": "empirical"}}, "data.distribution"),
        ({"bounds": (0, 1)}, "bounds"),
        ({"algorithms": [{"rule": "oracle"}] * 2}, "algorithms"),
        ({"classes": [0]}, "classes"),
        ({"epsilon_per_agent": [1.0]}, "epsilon_per_agent"),
        ({"epsilon": [1.0, 1.0]}, "epsilon"),
        ({"agents": 1}, "agents"),
        ({"graph": {"degree": 500}}, "degree"),
        ({"graph": {"family": "erdos-renyi", "degree": 9}, "agents": 9}, "degree"),
        ({"graph": {"family": "small-world", "degree": 3}, "agents": 9}, "degree"),
        ({"graph": {"family": "scale-free", "degree": 1}, "agents": 9}, "degree"),
        ({"graph": {"family": "edges", "edges": [(0, 9)]}, "agents": 9}, "edges"),
        *(({"rounds": 100, "recorded": at}, "recorded") for at in ([], [0, 5], [5, 101], [-1], 1)),
        *(({"means": means}, "means") for means in TOO_FAR),
        *(
            ({"epsilon_per_agent": [1.0, 2.0] * 100, "algorithms": [one]}, "algorithms")
            for one in ("private-colme", lambda run: None)
        ),
        ({"liars": {"kind": "bias", "share": 0.1}}, "liars.by"),
    ],
)
def test_a_scenario_that_cannot_be_is_refused_by_field(fields: dict[str, Any], field: str) -> None:
    with refused(ConfigError, field):
        Scenario.build(**fields)


def test_a_kind_alone_may_be_given_by_its_name() -> None:
    scenario = Scenario.build(graph="complete", data="bernoulli")
    assert scenario.graph.degrees == [0]
    assert scenario == Scenario.build(
        graph={"family": "complete"}, data={"distribution": "bernoulli"}
    )
    fits = {"algorithm": "optimistic", "degree": 300}
    assert Scenario.build(agents=1000, algorithms=[fits]).agents == 1000


def test_another_kind_of_table_starts_afresh() -> None:
    wide = Scenario.build(graph={"family": "small-world", "degree": 4, "rewired": 0.3})
    assert wide.changed(graph={"degree": 6}).graph.degrees == [6]
    assert wide.changed(graph={"family": "complete"}).graph.degrees == [0]


def test_a_preset_may_be_changed_field_by_field() -> None:
    scenario = PAPER.changed(runs=3, graph={"degree": [7]}, agents=50)
    assert (scenario.runs, scenario.graph.degrees, scenario.rounds) == (3, [7], 30_000)
    assert scenario.algorithms == PAPER.algorithms


def test_any_networkx_graph_is_taken() -> None:
    scenario = Scenario.build(graph=nx.star_graph(4))
    assert scenario.agents == 5
    assert scenario.draw_graph(0, 0).degrees.tolist() == [4, 1, 1, 1, 1]


def test_arrays_ranges_and_texts_are_as_good_as_lists_and_paths(tmp_path: Path) -> None:
    plain = Scenario.build(
        agents=4,
        graph={"family": "complete"},
        means=[0.25, 0.5],
        classes=[0, 1, 0, 1],
        epsilon=[1, 2],
        recorded=[1, 2, 3],
    )
    given = Scenario.build(
        agents=np.int64(4),
        graph={"family": "complete"},
        means=np.array([0.25, 0.5], np.float32),
        classes=np.array([0, 1, 0, 1]),
        epsilon=range(1, 3),
        recorded=range(1, 4),
    )
    assert given == plain
    assert Scenario.build(epsilon=np.float64(2)) == Scenario.build(epsilon=[2])
    (tmp_path / "scenario.toml").write_text("agents = 20\n")
    assert Scenario.load(str(tmp_path / "scenario.toml")).agents == 20


def test_names_of_nodes_are_kept_and_numbers_are_in_their_order() -> None:
    named = Scenario.build(graph=nx.Graph([("c", "a"), ("a", "b")])).graph
    assert (named.labels, named.edges) == (["c", "a", "b"], [(0, 1), (1, 2)])  # type: ignore[union-attr]
    numbered = Scenario.build(graph=nx.Graph([(2, 1), (1, 0)])).graph
    assert (numbered.labels, numbered.edges) == (None, [(0, 1), (1, 2)])  # type: ignore[union-attr]
    with refused(ConfigError, "graph"):
        Scenario.build(graph=nx.DiGraph([(0, 1)]))
    with refused(ConfigError, "graph.labels"):
        Scenario.build(
            agents=3, graph={"family": "edges", "edges": [[0, 1]], "labels": ["a", "a", "b"]}
        )


def test_given_classes_are_used_in_every_run() -> None:
    scenario = Scenario.build(agents=4, graph={"degree": 2}, classes=[0, 1, 1, 2])
    assert scenario.draw_classes(0).tolist() == scenario.draw_classes(9).tolist() == [0, 1, 1, 2]


def test_each_class_has_its_own_variance_and_all_have_one_range() -> None:
    """sigma_a and beta_a are the agent's own in the paper."""
    scenario = Scenario.build(
        data={"distribution": "bernoulli"}, means=[0.1, 0.5], epsilon_per_agent=[1.0, 2.0] * 100
    )
    (level,) = scenario.profiles()
    for of_class, mean in zip(level, scenario.class_means, strict=True):
        assert [one.epsilon for one in of_class] == [1.0, 2.0] * 100
        assert {one.half_range for one in of_class} == {0.5}
        assert of_class[0].sigma2 == pytest.approx(mean * (1 - mean), rel=1e-3)
        assert of_class[0].beta == pytest.approx(bounded_parameter(1 - mean), rel=1e-3)


def test_bounds_may_be_wider_than_the_data() -> None:
    profile = Scenario.build(bounds=(-1, 3)).profiles()[0][0][0]
    assert profile.half_range == 2


def test_beyond_the_papers_table_its_nearest_entry_is_taken() -> None:
    assert nearest_paper_theta(5, 1) == PowerTheta(3, 1 / 8)
    assert nearest_paper_theta(20, inf) == PowerTheta(3, 1 / 5)
    assert nearest_paper_theta(8, 1.1) == PowerTheta(3, 1 / 8)
    assert nearest_paper_theta(100, 0.1) == PowerTheta(3, 1 / 7)


@pytest.mark.parametrize("content", [None, "agents = ", "agents = 200\nagents = 3", "\xff"])
def test_a_file_that_is_no_scenario_is_refused_by_name(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "scenario.toml"
    if content is not None:
        path.write_text(content, encoding="latin-1")
    with refused(ConfigError, "scenario", seen=str(path)):
        Scenario.load(path)


@pytest.mark.parametrize(
    ("text", "column"),
    [("1 2\n4\n", None), ("hours\n1\n2\n4\n", None), ("who,hours\na,1\nb,2\nb,4\n", "hours")],
)
def test_empirical_values_come_from_text_or_a_column(
    text: str, column: str | None, tmp_path: Path
) -> None:
    (tmp_path / "values").write_text(text)
    data = {"distribution": "empirical", "file": tmp_path / "values", "column": column}
    (shape,) = Scenario(means=[0.0], data=data).shapes
    given = Scenario(means=[0.0], data={"distribution": "empirical", "values": [1, 2, 4]})
    assert shape.sigma2 == given.shapes[0].sigma2


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "values").write_text("who,hours\na,1\n")
    with refused(ConfigError, "data.column", words="one of who, hours"):
        Scenario(data={"distribution": "empirical", "file": tmp_path / "values", "column": "h"})


@pytest.mark.parametrize("algorithm", ["paper", "relay", "c-colme"])
@pytest.mark.parametrize("runs", [1, 4])
@pytest.mark.parametrize("recorded", [[10], [7, 3, 3, 10]])
def test_recorded_rounds_need_not_reach_the_last_round(
    recorded: list[int], runs: int, algorithm: str
) -> None:
    """They may come in any order, and twice; the results are those of the first ten rounds."""
    fields: dict[str, Any] = {
        "agents": 10,
        "graph": {"degree": 4},
        "runs": runs,
        "recorded": recorded,
        "eventful": False,
        "algorithms": [algorithm],
    }
    result = simulate(Scenario(rounds=100, **fields))
    assert result.t.values.tolist() == sorted(set(recorded))
    np.testing.assert_array_equal(result.mse, simulate(Scenario(rounds=10, **fields)).mse)


@pytest.mark.parametrize("name", ["recommended", "relay", "paper", "b-colme"])
def test_an_algorithm_in_the_place_of_a_rule_is_refused_with_the_remedy(name: str) -> None:
    """`rule = "recommended"` once meant another algorithm than `algorithm = "recommended"`."""
    with refused(ConfigError, "algorithms.0.rule", words=f'algorithm = "{name}"'):
        Scenario(algorithms=[{"rule": name}])


@pytest.mark.parametrize(
    ("update", "field"),
    [
        ({"runs": 0}, "runs"),
        ({"agents": 31}, "degree"),
        ({"recorded": [2_000]}, "recorded"),
        ({"classes": [0]}, "classes"),
        ({"graph": {"family": "grid"}}, "agents"),
        ({"no": 1}, "no"),
    ],
)
def test_a_copy_is_validated_as_a_whole(update: dict[str, Any], field: str) -> None:
    """pydantic's own `model_copy` takes whatever it is given."""
    with refused(ConfigError, field):
        Scenario().model_copy(update=update)
    assert Scenario().model_copy(update={"runs": 5}) == Scenario(runs=5)
