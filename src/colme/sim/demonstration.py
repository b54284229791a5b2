"""Thirty agents in memory: what they answer together, alone, and with all raw data at hand."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from colme.graph import Graph, IntArray
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.rules.decision import Bernstein, PowerTheta
from colme.sim.graphs import random_classes, random_regular
from colme.sim.in_memory import FloatArray, Population, estimates, run_round

AGENTS = 30
DEGREE = 10
MEANS = (0.2, 0.4, 0.8)
SIGMA = 0.1
THETA = PowerTheta(3, 1 / 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """Every agent's truth and answers, and the group it ended up in."""

    truth: FloatArray
    local: FloatArray
    estimate: FloatArray
    ideal: FloatArray
    group: IntArray


def demonstrate(rounds: Iterable[int], *, epsilon: float, seed: int) -> Demonstration:
    """One round for each item of `rounds`, in the manner of Sec. V but on a small scale."""
    generator = np.random.default_rng(seed)
    population = Population(
        graph=random_regular(AGENTS, DEGREE, generator),
        classes=random_classes(AGENTS, len(MEANS), generator),
        means=MEANS,
        sigma=SIGMA,
        epsilon=epsilon,
    )
    network = population.network(lambda _: Bernstein(THETA), SeededLaplace(generator))
    for _ in rounds:
        run_round(network, population.samples(generator))
    local = np.array([agent.estimate.local for agent in network.agents.values()])
    return Demonstration(
        truth=population.truth,
        local=local,
        estimate=estimates(network),
        ideal=_average_within(population.graph.components(population.classes), local),
        group=_found_graph(network).components(np.zeros(AGENTS, dtype=np.int64)),
    )


def _average_within(component: IntArray, values: FloatArray) -> FloatArray:
    sums = np.bincount(component, weights=values)
    return (sums / np.maximum(np.bincount(component), 1))[component]


def _found_graph(network: Network) -> Graph:
    """The edges that the agents use: where both ends take each other for one of their class."""
    return Graph.from_edges(
        (
            (int(name), int(peer))
            for name, agent in network.agents.items()
            for peer in agent.accepted
            if name in network.agents[peer].accepted
        ),
        len(network.agents),
    )
