"""Nobody is worse off together than alone: on unkind graphs, in unlike classes, after releases."""

from typing import Any

import networkx as nx
import pytest

from colme.rules.release import Blocks
from colme.sim.prepare import Prepared
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate

BAR = 1.1


def hubs() -> nx.Graph:
    """Five in a ring, each with 39 leaves."""
    ring = nx.cycle_graph(5)
    leaves = [(hub, 5 + 39 * hub + leaf) for hub in range(5) for leaf in range(39)]
    ring.add_edges_from(leaves)
    return ring


GRAPHS: dict[str, Any] = {
    "star": nx.star_graph(199),
    "hubs": hubs(),
    "binary tree": nx.full_rary_tree(2, 200),
    "scale-free, degree 2": nx.barabasi_albert_graph(200, 1, seed=4),
    "path": nx.path_graph(200),
}


def worst(**fields: Any) -> float:
    """MSE / Local at its worst recorded round, less two standard errors."""
    result = simulate(Scenario.build(runs=32, algorithms=["tracking"], **fields))
    return float(((result.mse - 2 * result.mse_se) / result.mse_local).max())


@pytest.mark.slow
@pytest.mark.parametrize("means", [[0.4], [0.2, 0.4, 0.8]], ids=["one class", "three"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_no_graph_does_harm(graph: str, means: list[float]) -> None:
    """A leaf hears little of what its hub has averaged, and answers alone until it is enough."""
    assert worst(graph=GRAPHS[graph], means=means, epsilon=1, rounds=500) < BAR


@pytest.mark.parametrize("few", [2, 3, 4])
def test_a_few_that_noise_would_hurt_answer_alone(few: int) -> None:
    """They are all there are: their share of the noise stays."""
    cliques = nx.disjoint_union_all([nx.complete_graph(few)] * 50)
    assert worst(graph=cliques, means=[0.4], epsilon=1, rounds=600) < BAR


def test_classes_of_unlike_variance_do_no_harm() -> None:
    coins = {"data": {"distribution": "bernoulli"}, "means": [0.01, 0.03, 0.3]}
    assert worst(**coins, epsilon=1, rounds=600) < BAR


def test_rounds_right_after_releases_are_recorded() -> None:
    """The noise of a release is in the answers of the next round: harm that is easily missed."""
    study = Prepared(Scenario.build(rounds=5000, epsilon=[1], algorithms=["tracking"]), 5)
    end, ends = 0, []
    while (end := Blocks(1.0).next_end(end)) < 5000:
        ends.append(end)
    watched = [end for end in ends if {end, end + 1} <= set(study.recorded.tolist())]
    assert len(watched) >= 0.8 * len(ends)
    assert ends[-1] in watched
    paper = Prepared(Scenario.build(rounds=5000, epsilon=[1], algorithms=["paper"]), 5)
    assert set(paper.recorded.tolist()) < set(study.recorded.tolist())
