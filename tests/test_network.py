"""Joined agents."""

from collections.abc import Callable
from math import nan
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from colme.errors import ColmeError, ConfigError, LocalProtocolError, SampleError
from colme.graph import Graph
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.rules.decision import DecisionRule, Oracle
from colme.rules.release import Profile, Release
from support.refusing import refused


def agent(name: str, *neighbours: str) -> Agent:
    return Agent(
        Settings(
            name=name,
            neighbours=neighbours,
            profile=Profile.bounded(0, 1, epsilon=5),
            algorithm=Paper(rule=Oracle(frozenset("abc"))),
        )
    )


def test_neighbours_must_know_each_other() -> None:
    with refused(ConfigError, "a.neighbours", seen="b"):
        Network([agent("a", "b"), agent("b")], noise=lambda _: 0)
    with refused(ConfigError, "a.neighbours", seen="x"):
        Network([agent("a", "x")], noise=lambda _: 0)


def test_who_is_no_agent_has_no_samples_and_no_answer() -> None:
    network = Network([agent("north", "south"), agent("south", "north")], noise=lambda _: 0)
    with refused(LocalProtocolError, "agent", seen="nort"):
        network.observe("nort", 0.5)
    with refused(LocalProtocolError, "agent", seen="nort"):
        network.estimate("nort")


def test_agents_may_have_no_sample_or_several_in_a_round() -> None:
    network = Network(
        [agent("a", "b", "c"), agent("b", "a", "c"), agent("c", "a", "b")], noise=lambda _: 0
    )
    for _ in range(30):
        network.observe("a", 0.25)
        network.observe("a", 0.75)
        network.run_round({"b": 0.5})
    assert network.agents["a"].release is not None
    assert network.agents["a"].release.count == 60
    assert network.agents["a"].estimate.class_size == 2
    assert network.agents["c"].release is None
    network.run_round({"c": 0.5})
    network.run_round()
    assert network.estimate("c").collaborative
    assert network.estimate("c").class_size == 3


def test_every_block_of_every_agent_has_a_draw_of_its_own() -> None:
    """Two that share one show their difference without any noise."""
    drawn: list[int] = []

    def noise(_: float) -> int:
        drawn.append(2 ** len(drawn))
        return drawn[-1]

    network = Network([agent("a", "b"), agent("b", "a")], noise)
    for _ in range(5):
        for _ in range(3):
            network.observe("a", 0.25)
        network.run_round({"b": 0.25})
    streams = [one.snapshot()["stream"] for one in network.agents.values()]
    assert sum(stream["blocks"] for stream in streams) == len(drawn) == 20
    assert sum(stream["noise"]["sum"] for stream in streams) == sum(drawn)


def of_graph(graph: object) -> Network:
    return Network.from_graph(
        graph, profile=Profile.bounded(0, 1, epsilon=5), noise=lambda _: 0, algorithm="paper"
    )


def test_agents_are_called_as_the_nodes_of_a_graph() -> None:
    network = of_graph(nx.Graph([("north", "south"), ("south", "east")]))
    assert list(network.agents) == ["north", "south", "east"]
    assert network.agents["south"].settings.neighbours == ("north", "east")
    assert list(of_graph(Graph.from_edges([(0, 1), (1, 2)], 3)).agents) == ["0", "1", "2"]
    assert list(of_graph(nx.Graph([(5, 3), (3, 4)])).agents) == ["3", "4", "5"]
    network.run_round({"north": 0.5})
    assert repr(network) == "<Network: 3 agents, 2 edges, paper, after round 1>"


STREAM = np.random.default_rng(5).uniform(0, 1, (40, 3))
NAMED = {name: STREAM[:, i] for i, name in enumerate("abc")}


@pytest.mark.parametrize(
    "stream",
    [
        STREAM,
        STREAM.tolist(),
        [dict(zip("abc", row, strict=True)) for row in STREAM],
        NAMED,
        pd.DataFrame(NAMED),
    ],
    ids=["an array", "lists", "mappings", "everybody's own", "a table"],
)
def test_a_stream_is_run_round_by_round_however_it_is_given(stream: object) -> None:
    path = nx.path_graph(["a", "b", "c"])
    expected, network = of_graph(path), of_graph(path)
    for row in STREAM:
        expected.run_round(dict(zip("abc", row.tolist(), strict=True)))
    network.run(stream)  # type: ignore[arg-type]  # parametrised
    assert network.round == 40
    assert network.estimates() == expected.estimates()
    assert network.estimates()["b"] == network.estimate("b")


def test_who_has_no_samples_left_goes_on_without() -> None:
    network = of_graph(nx.path_graph(["a", "b"]))
    network.run({"a": [0.5] * 3, "b": [0.5] * 7})
    assert network.round == 7
    assert [one.counts.taken for one in network.agents.values()] == [3, 7]


@pytest.mark.parametrize(
    ("stream", "field", "seen"),
    [
        ([[0.5]], "samples of a round", "1 of them"),
        ([0.5], "samples of a round", "float"),
        ({"a": [0.5], "b": 0.5}, "samples of b", "float"),
        ({"a": [0.5], "b": "0.5"}, "samples of b", "str"),
    ],
)
def test_what_is_no_stream_of_samples_is_refused(stream: Any, field: str, seen: object) -> None:
    """And nobody has taken anything in."""
    network = of_graph(nx.path_graph(["a", "b"]))
    with refused(SampleError, field, seen=seen):
        network.run(stream)
    assert network.agents["a"].counts.taken == 0


@pytest.mark.parametrize(
    ("neighbours", "noise", "field"),
    [
        ({"a": "b", "b": "a"}, SeededLaplace(1), "a.neighbours"),
        ({"a": ["b"], "b": ["a"]}, None, "noise"),
    ],
)
def test_what_no_network_can_be_of_is_refused(neighbours: Any, noise: Any, field: str) -> None:
    with refused(ConfigError, field):
        Network.of_equals(neighbours, profile=Profile.bounded(0, 1, epsilon=1), noise=noise)


class Moody(DecisionRule):
    """Raises at one of the questions."""

    questions_left = 0

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        self.questions_left -= 1
        if self.questions_left == 0:
            raise RuntimeError("not today")
        return True


def ring(rule: DecisionRule) -> Network:
    return Network.of_equals(
        {"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]},
        profile=Profile.bounded(0, 1, epsilon=5),
        noise=SeededLaplace(1),
        algorithm=Paper(rule=rule),
    )


def everything(network: Network) -> object:
    return network.round, {name: one.snapshot() for name, one in network.agents.items()}


def row(t: int) -> list[float]:
    return [0.1 * (t % 3), 0.5, 0.2 + 0.1 * (t % 2)]


@pytest.mark.parametrize(
    ("samples", "kind", "field"),
    [
        *(({"a": 0.5, "b": bad}, SampleError, "sample of b") for bad in (nan, "0.5", None)),
        ({"a": 0.5, "x": 0.5}, LocalProtocolError, "agent"),
    ],
)
def test_a_round_with_one_bad_sample_takes_in_none(
    samples: Any, kind: type[ColmeError], field: str
) -> None:
    """Whoever corrects it and feeds all of them again would have the others noised twice."""
    network = ring(Moody())
    before = everything(network)
    with refused(kind, field):
        network.run_round(samples)
    assert everything(network) == before
    network.run_round(row(0))


def test_a_round_in_which_a_rule_raises_ends_the_network() -> None:
    """Some agents are a round ahead of others: it says so, and refuses to go on."""
    rule = Moody()
    network = ring(rule)
    network.run_round(row(0))
    rule.questions_left = 3
    with pytest.raises(RuntimeError):
        network.run_round(row(1))
    before = everything(network)
    ways: list[Callable[[], None]] = [
        lambda: network.run_round(row(2)),
        lambda: network.observe("a", 0.5),
    ]
    for go_on in ways:
        with refused(LocalProtocolError, "network"):
            go_on()
    assert everything(network) == before
    assert "stuck in round 2" in repr(network)
    assert network.estimates().keys() == {"a", "b", "c"}


def test_an_interrupted_round_ends_the_network() -> None:
    draws = iter([1, 2])

    def noise(_: float) -> int:
        try:
            return next(draws)
        except StopIteration:
            raise KeyboardInterrupt from None

    network = Network.from_graph(
        nx.path_graph(3), profile=Profile.bounded(0, 1, epsilon=5), noise=noise, algorithm="paper"
    )
    with pytest.raises(KeyboardInterrupt):
        network.run_round(row(0))
    with pytest.raises(LocalProtocolError):
        network.run_round(row(1))
