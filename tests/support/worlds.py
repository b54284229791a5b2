"""Small worlds to test in: scripted samples and noise on the lattice, joined agents."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from colme.graph import Graph
from colme.network import Network
from colme.protocol.agent import Agent
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.rules.consensus import AlphaSchedule, edge_weight, stepped_alpha
from colme.rules.decision import DecisionRule
from colme.rules.release import Profile
from support.algorithm1 import BoolArray, FloatArray


@dataclass(frozen=True)
class Script:
    """Samples on the lattice, so that rounding changes nothing, and noise in lattice steps."""

    profiles: list[Profile]
    steps: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    draws: np.ndarray[tuple[int, int], np.dtype[np.int64]]

    @classmethod
    def random(
        cls, profiles: list[Profile], centres: FloatArray, rounds: int, seed: int
    ) -> "Script":
        """Uniform samples within a quarter of the range around each agent's centre."""
        generator = np.random.default_rng(seed)
        shape = (rounds, len(profiles))
        middle = np.array([p.midpoint for p in profiles])
        step = np.array([p.lattice_step for p in profiles])
        spread = generator.uniform(-0.25, 0.25, shape) * 2**20
        steps = np.rint(spread + (centres - middle) / step).astype(np.int64)
        scale = np.array([p.lattice_scale for p in profiles])
        draws = np.rint(generator.laplace(size=shape) * scale).astype(np.int64)
        return cls(profiles, steps, draws)

    @property
    def _step(self) -> FloatArray:
        return np.array([p.lattice_step for p in self.profiles])

    @property
    def samples(self) -> FloatArray:
        return np.array([p.midpoint for p in self.profiles]) + self.steps * self._step

    @property
    def noise(self) -> FloatArray:
        return self.draws * self._step


def agent_name(agent: int) -> str:
    """The name of agent number a; names sort as numbers do, up to a million agents."""
    return f"{agent:06d}"


def estimates(network: Network) -> FloatArray:
    """What each agent answers now."""
    return np.array([agent.estimate.value for agent in network.agents.values()])


def adjacency_of(graph: Graph) -> BoolArray:
    matrix = np.zeros((graph.agents, graph.agents), dtype=bool)
    for a in range(graph.agents):
        matrix[a, graph.neighbours(a)] = True
    return matrix


def accepted_in(network: Network) -> BoolArray:
    """Who accepts whom."""
    names = list(network.agents)
    return np.array([[b in one.accepted for b in names] for one in network.agents.values()])


def mixing_matrix(used: BoolArray) -> FloatArray:
    """W of Eq. (2) where these edges are used."""
    size = 1 + used.sum(axis=1)
    w = np.array([[edge_weight(a, b) for b in size] for a in size]) * used
    return w + np.diag(1 - w.sum(axis=1))


def join(
    graph: Graph,
    profiles: list[Profile],
    rule: Callable[[int], DecisionRule],
    noise: Callable[[float], int],
    alpha: AlphaSchedule = stepped_alpha,
) -> Network:
    """Real agents on the graph."""
    return Network(
        [
            Agent(
                Settings(
                    name=agent_name(a),
                    neighbours=tuple(map(agent_name, graph.neighbours(a).tolist())),
                    profile=profiles[a],
                    algorithm=Paper(rule=rule(a), alpha=alpha),
                )
            )
            for a in range(graph.agents)
        ],
        noise,
    )
