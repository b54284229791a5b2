"""Whose records are where, and what crosses edges: held to boards that real agents exchange."""

from collections import Counter
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from colme.graph import Graph
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.board.identity import InProcess
from colme.protocol.board.messages import RecordsMessage
from colme.protocol.board.record import weighed_blocks
from colme.protocol.events import Effects
from colme.relay import Relay
from colme.rules.release import Profile
from colme.sim.engines.relay.boards import NEVER, Boards, Traffic
from colme.sim.kernel.releases import most_in, new_plan
from support.worlds import agent_name

AGENTS = 15
ROUNDS = 120
RING = [(a, (a + 1) % AGENTS) for a in range(AGENTS)]  # odd: two are equally far from everybody
GRAPHS = {
    "path": list(pairwise(range(AGENTS))),
    "ring": RING,
    "ring with chords": [*RING, (0, 7), (3, 11), (5, 14), (2, 9)],
    "complete": [(a, b) for a in range(AGENTS) for b in range(a)],
    "two parts": [*pairwise(range(8)), *pairwise(range(8, AGENTS))],
}
NAMES = [InProcess("").origin_of(agent_name(a)) for a in range(AGENTS)]


class Watched(Network):
    """Counts what crosses every edge, by round."""

    sent: Counter[tuple[str, str, int]]
    messages: Counter[tuple[str, str, int]]

    def _post(self, sender: str, effects: Effects) -> None:
        for receiver, message in effects.send:
            if isinstance(message, RecordsMessage):
                self.sent[sender, receiver, self.round] += len(message.entries)
                self.messages[sender, receiver, self.round] += 1
        super()._post(sender, effects)


def watched(graph: Graph, capacity: int, epsilon: float) -> Watched:
    network = Watched.of_equals(
        {agent_name(a): map(agent_name, graph.neighbours(a).tolist()) for a in range(AGENTS)},
        profile=Profile.bounded(0, 1, epsilon=epsilon),
        noise=SeededLaplace(1),
        algorithm=Relay(capacity=capacity),
    )
    network.sent, network.messages = Counter(), Counter()
    for _ in range(ROUNDS):
        network.run_round({agent_name(a): 0.5 for a in range(AGENTS)})
    return network


def counted(graph: Graph, capacity: int, epsilon: float) -> Traffic:
    traffic = Traffic(
        graph, NAMES, ROUNDS, np.random.default_rng(1), capacity=capacity, hop=1, counted=200
    )
    for a in range(AGENTS):
        schedule, end = weighed_blocks(epsilon, NAMES[a]), 0
        while (end := schedule.next_end(end)) <= ROUNDS:
            traffic.release(np.array([a]), np.array([end]))
    return traffic


@pytest.mark.parametrize("capacity", [4096, 6])
@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
def test_traffic_is_that_of_real_agents(edges: list[tuple[int, int]], capacity: int) -> None:
    """Every record on every edge, in its round and direction.

    With a small capacity, from when on everybody is known: before that, more fit in.
    """
    graph = Graph.from_edges(edges, AGENTS)
    network, traffic = watched(graph, capacity, 1.0), counted(graph, capacity, 1.0)
    ours = {
        (agent_name(int(ends[way])), agent_name(int(ends[1 - way])), t): int(n)
        for edge, ends in enumerate(traffic.edges.T)
        for way in (0, 1)
        for t, n in enumerate(traffic.records[way, edge])
        if n
    }
    known = 0 if capacity >= AGENTS else 2 * AGENTS
    theirs = {place: n for place, n in network.sent.items() if place[2] > known}
    assert {place: n for place, n in ours.items() if place[2] > known} == theirs
    if not known:
        cost = traffic.since_last(ROUNDS, 0.0)
        assert cost.messages * AGENTS * ROUNDS == pytest.approx(network.messages.total())


def test_where_releases_follow_each_other_closely_it_is_so_on_the_whole() -> None:
    """Two who have the same news at once find that out from the second on, or the third."""
    graph = Graph.from_edges(GRAPHS["ring with chords"], AGENTS)
    ours, theirs = counted(graph, 4096, inf).records.sum(), watched(graph, 4096, inf).sent.total()
    assert ours <= theirs < 1.1 * ours


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [4096, 6])
@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
def test_boards_hold_what_those_of_real_agents_hold(
    edges: list[tuple[int, int]], capacity: int
) -> None:
    graph = Graph.from_edges(edges, AGENTS)
    network = watched(graph, capacity, 4.0)
    boards = Boards(graph, NAMES, np.arange(AGENTS), capacity=capacity, hop=1)
    for row, agent in enumerate(network.agents.values()):
        held = {NAMES[b] for b in boards.origins[boards.lag[row] < NEVER].tolist()}
        assert held == {record.origin for record in agent.boards.board.records}


def test_a_release_is_there_so_many_rounds_later_as_there_are_hops() -> None:
    graph = Graph.from_edges(GRAPHS["path"], AGENTS)
    boards = Boards(graph, NAMES, np.array([0]), capacity=4096, hop=1)
    assert boards.lag[0].tolist() == [0, *range(AGENTS - 1)]
    slow = Boards(graph, NAMES, np.array([0]), capacity=4096, hop=3)
    assert slow.lag[0, :3].tolist() == [0, 2, 5]
    rounds = np.full((2, AGENTS), 10)  # blocks 0 and 1, released in rounds 10 and 14
    rounds[1] = 14
    closed = np.full(AGENTS, 2)
    assert boards.held(14, rounds, closed)[0, :7].tolist() == [1, 1, 0, 0, 0, 0, -1]
    assert boards.held(15, rounds, closed)[0, :7].tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_as_many_releases_are_remembered_as_can_be_on_their_way() -> None:
    """Of the last `rounds` rounds all, and the one before them."""
    for epsilon in (1.0, 4.0, inf):
        schedules = [weighed_blocks(epsilon, name) for name in NAMES]
        profiles = [Profile.bounded(0, 1, epsilon=epsilon)] * AGENTS
        plan = new_plan(schedules, profiles, 500, squares=False)
        for rounds in (0, 1, 7, 60):
            found = most_in(plan, rounds)
            needed = 1 + max(
                sum(t - rounds < end <= t for end in schedule_ends)
                for schedule_ends in plan.end.tolist()
                for t in range(1, 501)
            )
            assert needed <= found <= needed + 1
