"""Tracking in real agents."""

import json

import numpy as np
import pytest

from colme.graph import Graph
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.events import Begin, Received
from colme.rules.release import Profile
from colme.sim.graphs import random_regular
from colme.sim.in_memory import agent_name, estimates, run_round
from support.tracked import tracking

PROFILE = Profile.bounded(0, 1, epsilon=4, sigma2=1 / 12)


def network(graph: Graph, profiles: list[Profile], *, squares: bool = False) -> Network:
    return Network(
        (
            Agent(
                tracking(
                    agent_name(a),
                    tuple(map(agent_name, graph.neighbours(a).tolist())),
                    profiles[a],
                    release_squares=squares,
                )
            )
            for a in range(graph.agents)
        ),
        SeededLaplace(3),
    )


def test_before_the_first_block_ends_an_agent_is_on_its_own() -> None:
    profile = Profile.bounded(0, 1, epsilon=0.5)
    joined = network(Graph.from_edges([(0, 1), (1, 2), (0, 2)], 3), [profile] * 3)
    for t in range(15):
        run_round(joined, np.array([0.2, 0.4, 0.6]))
        assert all(agent.release is None for agent in joined.agents.values()), t
        assert not any(agent.accepted for agent in joined.agents.values())
    run_round(joined, np.array([0.2, 0.4, 0.6]))
    assert all(agent.release is not None for agent in joined.agents.values())


def compensation(first: Agent, second: Agent) -> list[int]:
    """The noise that makes the second's next release equal to the first's with noise 0."""
    one, other = (agent.snapshot()["stream"] for agent in (first, second))
    return [
        one["closed"][key] + one["noise"][key] - other["closed"][key] - other["noise"][key]
        for key in ("sum", "squares")
    ]


@pytest.mark.parametrize("squares", [False, True])
def test_what_is_sent_depends_on_released_values_only(squares: bool) -> None:
    """Two data sets whose noise makes up for their difference: every message is the same."""
    settings = tracking("me", ("peer",), PROFILE, release_squares=squares)
    first, second = Agent(settings), Agent(settings)
    peer = Agent(tracking("peer", ("me",), PROFILE, release_squares=squares))
    for number in range(1, 40):
        x = 0.25 + 0.5 * (number % 2)
        first.observe(x)
        second.observe(x + 64 * PROFILE.lattice_step)
        peer.observe(0.5)
        silence = [0] * len(first.draws_due)
        makes_up = silence.copy()
        makes_up[: 2 if squares else 1] = compensation(first, second)[: min(2, len(silence))]
        mine = first.step(Begin(number, tuple(silence))).send
        assert second.step(Begin(number, tuple(makes_up))).send == mine
        theirs = peer.step(Begin(number, tuple(silence))).send
        while mine or theirs:
            arriving, theirs = theirs, ()
            for _, message in mine:
                theirs += peer.step(Received("me", message)).send
            mine = ()
            for _, message in arriving:
                answer = first.step(Received("peer", message)).send
                assert second.step(Received("peer", message)).send == answer
                mine += answer
    assert first.estimate.alone != second.estimate.alone
    # Nor does what is exported of trust, where the owner's own depends on the exact mean.
    assert first.released_trust == second.released_trust
    assert first.accepted == {"peer"}


def test_consensus_pairs_add_up_to_the_releases() -> None:
    """Tracking over a doubly stochastic W: sums of numerators and denominators are the inputs'."""
    graph = random_regular(12, 4, np.random.default_rng(1))
    joined = network(graph, [PROFILE] * 12)
    generator = np.random.default_rng(2)
    for _ in range(80):
        run_round(joined, generator.uniform(0, 1, 12))
    states = [agent.snapshot()["exchange"] for agent in joined.agents.values()]
    for shared, own in (("consensus", "input"), ("weight", "input_weight")):
        total = sum(state[shared] for state in states)
        assert total == pytest.approx(sum(state[own] for state in states), rel=1e-9)


def test_precise_neighbours_weigh_more() -> None:
    """With epsilon inf and 0.5 in one class, the shared mean is the precision-weighted one."""
    profiles = [Profile.bounded(0, 1, epsilon=e, sigma2=1 / 12) for e in (np.inf, np.inf, 0.5, 0.5)]
    graph = Graph.from_edges([(a, b) for a in range(4) for b in range(a)], 4)
    joined = network(graph, profiles)
    generator = np.random.default_rng(5)
    for _ in range(600):
        run_round(joined, generator.uniform(0, 1, 4))
    agents = list(joined.agents.values())
    releases = [agent.release for agent in agents]
    precision = np.array([1 / r.variance for r in releases if r is not None])
    means = np.array([r.mean for r in releases if r is not None])
    expected = float((precision * means).sum() / precision.sum())
    assert precision[0] > 1.02 * precision[2]
    for agent in agents:
        state = agent.snapshot()["exchange"]
        assert state["consensus"] / state["weight"] == pytest.approx(expected, abs=0.005)


def test_agents_at_their_own_pace_weigh_by_what_they_have() -> None:
    """Samples in every, every second and every eighth round: the shared mean is that of all."""
    graph = Graph.from_edges([(a, b) for a in range(6) for b in range(a)], 6)
    joined = network(graph, [PROFILE] * 6)
    generator = np.random.default_rng(9)
    for t in range(800):
        fed = {
            agent_name(a): float(generator.uniform(0, 1))
            for a in range(6)
            if t % (1, 2, 8)[a % 3] == 0
        }
        joined.run_round(fed)
    agents = list(joined.agents.values())
    counts = [agent.release.count for agent in agents if agent.release is not None]
    assert counts[0] > 1.8 * counts[1] > 6 * counts[2]
    inputs = [agent.snapshot()["exchange"] for agent in agents]
    expected = sum(i["input"] for i in inputs) / sum(i["input_weight"] for i in inputs)
    assert inputs[0]["input_weight"] > 3 * inputs[2]["input_weight"]
    for state in inputs:
        assert state["consensus"] / state["weight"] == pytest.approx(expected, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("squares", "rounds", "at_the_end"), [(False, 200, 0.5), (True, 300, 0.75)]
)
def test_agents_of_one_class_soon_answer_better_together_and_never_much_worse(
    squares: bool, rounds: int, at_the_end: float
) -> None:
    """Two classes far apart, epsilon = 4, 20 agents, 4 networks: MSE against Local at every tenth
    round never above 1.5 (where they are as good as alone it is an average of 80 squared errors, so
    it scatters by about 16%). At the end, over five seeds, it is 0.24 with a standard deviation of
    0.12; where the variance has to be learnt too, 0.48 with 0.10: two of them are allowed."""
    generator = np.random.default_rng(8)
    squared = np.zeros((rounds // 10, 2))
    for _ in range(4):
        graph = random_regular(20, 6, generator)
        truth = np.where(np.arange(20) % 2, 0.3, 0.7)
        joined = network(graph, [PROFILE] * 20, squares=squares)
        for t in range(rounds):
            run_round(joined, truth + generator.uniform(-0.25, 0.25, 20))
            if t % 10 == 9:
                local = [agent.estimate.alone for agent in joined.agents.values()]
                squared[t // 10] += (
                    np.mean((estimates(joined) - truth) ** 2),
                    np.mean((np.array(local) - truth) ** 2),
                )
    ratio = squared[:, 0] / squared[:, 1]
    assert ratio.max() < 1.5
    assert ratio[-1] < at_the_end


def test_a_snapshot_in_the_middle_changes_nothing() -> None:
    graph = random_regular(6, 3, np.random.default_rng(1))
    joined = network(graph, [PROFILE] * 6, squares=True)
    generator = np.random.default_rng(2)
    for _ in range(30):
        run_round(joined, generator.uniform(0, 1, 6))
    for agent in joined.agents.values():
        data = json.loads(json.dumps(agent.snapshot(), allow_nan=False))
        again = Agent.restore(agent.settings, data)
        assert again.snapshot() == agent.snapshot()
        assert again.estimate == agent.estimate
