"""Algorithm 1: the network of real agents against a transcription with plain arrays."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from colme.graph import Graph
from colme.rules.bernstein import uniform_parameter
from colme.rules.consensus import AlphaSchedule, stepped_alpha, theorem_alpha
from colme.rules.decision import Bernstein, DecisionRule, OptimisticDistance, Oracle, PowerTheta
from colme.rules.release import Profile, Release
from colme.sim.graphs import random_regular
from support.algorithm1 import FloatArray, algorithm1
from support.worlds import Script, adjacency_of, agent_name, estimates, join

MEANS = np.array([0.2, 0.8])
CLASSES = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1])
AGENTS = len(CLASSES)
ROUNDS = 60
THETA = PowerTheta(3, 1 / 5)


def profile(epsilon: float) -> Profile:
    return Profile(bounds=(0, 1), sigma2=1 / 48, beta=uniform_parameter(0.5), epsilon=epsilon)


def pairwise(profiles: list[Profile], z: Callable[[Release, Release], float], t: int) -> FloatArray:
    releases = [
        Release(
            count=t, mean=0, variance=p.released_variance(t, t), beta=p.released_parameter(t, t)
        )
        for p in profiles
    ]
    return np.array([[z(mine, theirs) for theirs in releases] for mine in releases])


GRAPHS = {
    "regular": random_regular(AGENTS, 4, np.random.default_rng(3)),
    "star with a stranger": Graph.from_edges([(0, a) for a in range(1, AGENTS - 1)], AGENTS),
    "path": Graph.from_edges([(a, a + 1) for a in range(AGENTS - 1)], AGENTS),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
@pytest.mark.parametrize("alpha", [stepped_alpha, theorem_alpha])
@pytest.mark.parametrize("rule", ["oracle", "bernstein", "optimistic"])
@pytest.mark.parametrize("epsilons", [[1.0], [8.0], [math.inf], [2.0, math.inf, 8.0]], ids=str)
def test_agents_follow_algorithm_1_round_by_round(
    rule: str, alpha: AlphaSchedule, graph: Graph, epsilons: list[float]
) -> None:
    """Algorithm 1, lines 1 to 25: decisions equal, values to 1e-12, whoever has which epsilon."""
    profiles = [profile(epsilons[a % len(epsilons)]) for a in range(AGENTS)]
    script = Script.random(profiles, MEANS[CLASSES], ROUNDS, seed=11)
    bernstein = Bernstein(THETA)
    optimistic = OptimisticDistance(degree=4, agents=AGENTS)

    def rule_of(a: int) -> DecisionRule:
        mates = np.flatnonzero(CLASSES[a] == CLASSES).tolist()
        rules: dict[str, DecisionRule] = {
            "oracle": Oracle(frozenset(map(agent_name, mates))),
            "bernstein": bernstein,
            "optimistic": optimistic,
        }
        return rules[rule]

    def threshold(t: int) -> FloatArray:
        if rule == "oracle":
            return np.where(CLASSES[:, None] == CLASSES[None, :], math.inf, 0)
        if rule == "bernstein":
            return pairwise(profiles, bernstein.threshold, t)
        return pairwise(profiles, lambda a, b: optimistic.radius(a) + optimistic.radius(b), t)

    draws = iter(script.draws.ravel().tolist())
    network = join(graph, profiles, rule_of, lambda _: next(draws), alpha)
    truth = algorithm1(adjacency_of(graph), script.samples, script.noise, threshold, alpha)
    changes = 0
    previous = None
    for t, (expected, samples) in enumerate(zip(truth, script.samples, strict=True), start=1):
        network.run_round(samples.tolist())
        agents = list(network.agents.values())
        for a, agent in enumerate(agents):
            peers = np.flatnonzero(expected.accepted[a]).tolist()
            assert agent.accepted == set(map(agent_name, peers)), (t, a)
        consensus = np.array([agent.consensus for agent in agents])
        np.testing.assert_allclose(consensus, expected.consensus, rtol=0, atol=1e-12)
        np.testing.assert_allclose(estimates(network), expected.estimate, rtol=0, atol=1e-12)
        changes += previous is not None and not np.array_equal(previous, expected.accepted)
        previous = expected.accepted
    if rule == "bernstein" and graph is GRAPHS["regular"]:
        assert changes > 3, "the case must exercise the reset of alpha"


def test_an_edge_removed_may_return() -> None:
    """Sec. III-B: "if an agent b is removed [...] it can later be added back"."""
    graph = Graph.from_edges([(0, 1)], 2)
    network = join(graph, [profile(math.inf)] * 2, lambda _: Bernstein(THETA), lambda _: 0)
    accepted = []
    for value in (0.5, 1.0, 0.0):  # together, away, and back to the same mean
        for _ in range(60):
            network.run_round([0.5, value])
        accepted.append(bool(network.agents[agent_name(0)].accepted))
    assert accepted == [True, False, True]


def test_components_no_larger_than_two_answer_locally() -> None:
    """The last branch: a pair answers with the exact local mean, a triangle with the consensus."""
    graph = Graph.from_edges([(0, 1), (2, 3), (3, 4), (2, 4)], 5)
    everyone = Oracle(frozenset(map(agent_name, range(5))))
    network = join(graph, [profile(8.0)] * 5, lambda _: everyone, lambda _: 2**18)
    for x in np.random.default_rng(5).uniform(0, 1, (20, 5)):
        network.run_round(x.tolist())
    answers = [agent.estimate for agent in network.agents.values()]
    assert [answer.collaborative for answer in answers] == [False, False, True, True, True]
    assert all(answer.value == answer.alone for answer in answers[:2])
    assert all(answer.value != answer.alone for answer in answers[2:])
