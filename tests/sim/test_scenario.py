"""Scenarios: from Python, from TOML, and the ones that cannot be."""

from math import inf
from pathlib import Path

import networkx as nx
import pytest

from colme.errors import ConfigError
from colme.rules.decision import PowerTheta, nearest_paper_theta
from colme.sim.presets import PAPER
from colme.sim.scenario import Scenario

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
    assert scenario.algorithms[1].bernstein(5, 1).theta == PowerTheta(3, 0.125)
    assert (scenario.runs, scenario.graph.degree, scenario.graph.family) == (
        10,
        [6],
        "random-regular",
    )
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


def test_the_default_is_the_recommended_algorithm_and_paper_names_the_papers() -> None:
    assert [algorithm.rule for algorithm in Scenario.build().algorithms] == ["recommended"]
    (paper,) = Scenario.build(algorithms=[{"rule": "paper"}]).algorithms
    assert (paper.label, paper.rule, paper.release) == ("paper", "bernstein", "every-sample")


def test_a_preset_may_be_changed_field_by_field() -> None:
    scenario = PAPER.changed(runs=3, graph={"degree": [7]}, agents=50)
    assert (scenario.runs, scenario.graph.degree, scenario.rounds) == (3, [7], 30_000)
    assert scenario.algorithms == PAPER.algorithms


def test_any_networkx_graph_is_taken() -> None:
    scenario = Scenario.build(graph=nx.star_graph(4))
    assert scenario.agents == 5
    assert scenario.draw_graph(0, 0).degrees.tolist() == [4, 1, 1, 1, 1]


def test_given_classes_are_used_in_every_run() -> None:
    scenario = Scenario.build(agents=4, graph={"degree": 2}, classes=[0, 1, 1, 2])
    assert scenario.draw_classes(0).tolist() == scenario.draw_classes(9).tolist() == [0, 1, 1, 2]


def test_what_is_public_is_the_largest_of_the_classes() -> None:
    scenario = Scenario.build(data={"distribution": "bernoulli"}, means=[0.1, 0.5])
    ((profile,),) = scenario.profiles()
    assert profile.sigma2 == pytest.approx(0.25)
    assert profile.half_range == pytest.approx(0.5)


def test_bounds_may_be_wider_than_the_data() -> None:
    ((profile,),) = Scenario.build(bounds=(-1, 3)).profiles()
    assert profile.half_range == 2


def test_beyond_the_papers_table_its_nearest_entry_is_taken() -> None:
    assert nearest_paper_theta(5, 1) == PowerTheta(3, 1 / 8)
    assert nearest_paper_theta(20, inf) == PowerTheta(3, 1 / 5)
    assert nearest_paper_theta(8, 1.1) == PowerTheta(3, 1 / 8)
    assert nearest_paper_theta(100, 0.1) == PowerTheta(3, 1 / 7)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"agent": 3}, r"agent: saw \"a field called 'agent'\", expected 'agents', perhaps"),
        ({"graph": {"degre": 3}}, "graph.degre: .*expected 'degree', perhaps"),
        ({"algorithms": [{"rul": "oracle"}]}, "algorithms.0.rul: .*'rule', perhaps"),
        ({"epsilon": 0}, "epsilon.0: saw 0, expected greater than 0"),
        ({"epsilon": [1, float("nan")]}, "epsilon.1: saw nan"),
        ({"rounds": "many"}, "rounds: saw 'many'"),
        ({"graph": {"degree": 300}}, "degree: saw 300, expected 0 to agents - 1 = 199"),
        ({"agents": 31}, "31 agents x 5 is odd"),
        ({"graph": {"family": "small-world"}}, "degree: saw 5, expected an even one"),
        ({"graph": {"family": "grid"}}, "agents: saw 200, expected a square number"),
        ({"graph": {"family": "edges"}}, "a file or a list of edges"),
        ({"graph": {"family": "edges", "file": "nowhere"}}, "graph.file: saw 'nowhere'"),
        ({"data": {"distribution": "beta"}, "means": [2]}, "means: saw 2.0, expected between 0"),
        ({"data": {"sigma": -1}}, "data.sigma: saw -1.0"),
        ({"data": {"distribution": "empirical"}}, "a file or a list of values"),
        ({"bounds": (0, 1)}, "bounds: .*expected bounds that hold all data"),
        ({"algorithms": [{"rule": "oracle"}] * 2}, "a different name for each"),
        ({"classes": [0]}, "classes: saw '1 entries', expected one for each of the 200"),
        ({"epsilon_per_agent": [1.0]}, "epsilon_per_agent: saw '1 entries'"),
    ],
)
def test_a_scenario_that_cannot_be_is_refused_by_field(
    fields: dict[str, object], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        Scenario.build(**fields)


@pytest.mark.parametrize("content", [None, "agents = ", "agents = 200\nagents = 3", "\xff"])
def test_a_file_that_is_no_scenario_is_refused_by_name(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "scenario.toml"
    if content is not None:
        path.write_text(content, encoding="latin-1")
    with pytest.raises(ConfigError, match=r"scenario: saw '.*scenario.toml'"):
        Scenario.load(path)
