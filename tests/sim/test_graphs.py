"""Random regular graphs."""

import numpy as np
import pytest

from colme.errors import ConfigError
from colme.sim.graphs import random_classes, random_regular
from support.refusing import refused


@pytest.mark.parametrize(("agents", "degree"), [(6, 5), (8, 3), (200, 5), (200, 20), (5, 0)])
def test_everyone_has_the_same_number_of_neighbours(agents: int, degree: int) -> None:
    graph = random_regular(agents, degree, np.random.default_rng(1))
    assert (graph.degrees == degree).all()
    for a in range(agents):
        neighbours = graph.neighbours(a)
        assert a not in neighbours
        assert len(set(neighbours.tolist())) == degree
        assert all(a in graph.neighbours(b) for b in neighbours)


def test_every_edge_is_equally_likely() -> None:
    """4,000 graphs: an edge appears with p = 3/7; its count's standard deviation is 31."""
    counts = np.zeros((8, 8))
    generator = np.random.default_rng(2)
    for _ in range(4000):
        graph = random_regular(8, 3, generator)
        for a in range(8):
            counts[a, graph.neighbours(a)] += 1
    off_diagonal = counts[~np.eye(8, dtype=bool)]
    expected, deviation = 4000 * 3 / 7, (4000 * 3 / 7 * 4 / 7) ** 0.5
    assert np.abs(off_diagonal - expected).max() < 4 * deviation


@pytest.mark.parametrize(("agents", "degree"), [(5, 5), (5, -1), (5, 3)])
def test_a_degree_that_no_graph_has_is_refused(agents: int, degree: int) -> None:
    with refused(ConfigError, "degree", seen=degree):
        random_regular(agents, degree, np.random.default_rng(1))


def test_classes_are_drawn_uniformly() -> None:
    """9,000 agents in 3 classes: a count's standard deviation is 45."""
    classes = random_classes(9000, 3, np.random.default_rng(3))
    assert np.abs(np.bincount(classes) - 3000).max() < 4 * 45
