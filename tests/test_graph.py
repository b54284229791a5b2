"""Graphs: neighbour lists, components, and what cannot be a graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colme.errors import ConfigError
from colme.graph import Graph
from support.refusing import refused

edge_lists = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda e: e[0] != e[1])
)


@given(edge_lists, st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_components_agree_with_networkx(edges: list[tuple[int, int]], classes: list[int]) -> None:
    reference = nx.Graph(edges)
    reference.add_nodes_from(range(12))
    graph = Graph.from_edges(edges, 12)
    assert [graph.neighbours(a).tolist() for a in range(12)] == [
        sorted(reference[a]) for a in range(12)
    ]
    same = nx.Graph((a, b) for a, b in edges if classes[a] == classes[b])
    same.add_nodes_from(range(12))
    sizes = [len(nx.node_connected_component(same, a)) for a in range(12)]
    assert graph.component_sizes(classes).tolist() == sizes


def test_a_networkx_graph_with_any_names_is_numbered_in_its_own_order() -> None:
    graph = Graph.from_networkx(nx.Graph([("z", "y"), ("y", "x")]))
    assert [graph.neighbours(a).tolist() for a in range(3)] == [[1], [0, 2], [1]]
    assert graph.degrees.tolist() == [1, 2, 1]
    assert graph.labels == ("z", "y", "x")
    assert Graph.from_networkx(nx.grid_2d_graph(1, 2)).labels == ("(0, 0)", "(0, 1)")


def test_integer_nodes_are_numbered_in_their_order_however_they_came() -> None:
    """Whoever gives classes or epsilons by number means agent 0 by the first of them."""
    graph = Graph.from_networkx(nx.Graph([(7, 2), (2, 4), (np.int64(9), 4)]))
    assert graph.labels == (2, 4, 7, 9)
    assert [graph.neighbours(a).tolist() for a in range(4)] == [[1, 2], [0, 3], [0], [1]]


def test_two_edges_between_the_same_agents_are_one() -> None:
    graph = Graph.from_networkx(nx.MultiGraph([(0, 1), (0, 1), (1, 2)]))
    assert graph.degrees.tolist() == [1, 2, 1]
    assert repr(graph) == "<Graph: 3 agents, 2 edges>"


@pytest.mark.parametrize(
    ("graph", "seen"),
    [
        (nx.DiGraph([(0, 1)]), "a directed graph"),
        ([(0, 1)], "list"),
        (nx.Graph([(1, "1")]), "two nodes of one name"),
    ],
)
def test_what_is_no_undirected_graph_of_names_is_refused(graph: object, seen: str) -> None:
    with refused(ConfigError, "graph", seen=seen):
        Graph.from_networkx(graph)


@pytest.mark.parametrize(
    ("edges", "seen"), [([(0, 0)], "a self-loop"), ([(0, 3)], 3), ([(-1, 2)], -1)]
)
def test_an_impossible_edge_is_refused(edges: list[tuple[int, int]], seen: object) -> None:
    with refused(ConfigError, "edges", seen=seen):
        Graph.from_edges(edges, 3)


def test_classes_must_cover_all_agents() -> None:
    with refused(ConfigError, "classes"):
        Graph.from_edges([(0, 1)], 3).component_sizes(np.zeros(2, dtype=np.int64))
