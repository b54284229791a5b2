"""Real agents on a graph, with synthetic data: the reference for everything faster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from colme.graph import Graph, IntArray
from colme.network import Network, NoiseSource
from colme.protocol.agent import Agent
from colme.protocol.rounds.paper import Paper
from colme.protocol.settings import Settings
from colme.rules.bernstein import uniform_parameter
from colme.rules.consensus import AlphaSchedule, stepped_alpha
from colme.rules.decision import DecisionRule, Oracle
from colme.rules.release import Profile

FloatArray = NDArray[np.float64]


def agent_name(agent: int) -> str:
    """The name of agent number a; names sort as numbers do, up to a million agents."""
    return f"{agent:06d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Agents 0 .. M - 1 on a graph, agent a with uniform data of mean `means[classes[a]]`."""

    graph: Graph
    classes: IntArray
    means: Sequence[float]
    sigma: float
    epsilon: float

    @property
    def truth(self) -> FloatArray:
        """mu_a."""
        return np.asarray(self.means, dtype=np.float64)[self.classes]

    @property
    def half_range(self) -> float:
        """L = sigma sqrt 3 of uniform data (Sec. V)."""
        return self.sigma * 3**0.5

    def samples(self, generator: Generator) -> FloatArray:
        """A new sample for each agent."""
        spread = generator.uniform(-self.half_range, self.half_range, self.graph.agents)
        return self.truth + spread

    def profile(self, agent: int) -> Profile:
        """What is public about an agent's data, with beta of Lemma 2."""
        mean = float(self.truth[agent])
        return Profile(
            bounds=(mean - self.half_range, mean + self.half_range),
            sigma2=self.sigma**2,
            beta=uniform_parameter(self.half_range),
            epsilon=self.epsilon,
        )

    def oracle(self, agent: int) -> DecisionRule:
        """The rule that knows this agent's classmates."""
        mates = np.flatnonzero(self.truth == self.truth[agent])
        return Oracle(frozenset(agent_name(mate) for mate in mates.tolist()))

    def network(
        self,
        rule: Callable[[int], DecisionRule],
        noise: NoiseSource,
        alpha: AlphaSchedule = stepped_alpha,
    ) -> Network:
        """The agents, joined; `rule` gives each of them its decision rule."""
        return Network(
            (
                Agent(
                    Settings(
                        name=agent_name(a),
                        neighbours=tuple(map(agent_name, self.graph.neighbours(a).tolist())),
                        profile=self.profile(a),
                        algorithm=Paper(rule=rule(a), alpha=alpha),
                    )
                )
                for a in range(self.graph.agents)
            ),
            noise,
        )


def run_round(network: Network, samples: FloatArray) -> None:
    """Give every agent its sample and let all of them go through one round."""
    network.run_round({agent_name(a): float(x) for a, x in enumerate(samples)})


def estimates(network: Network) -> FloatArray:
    """What each agent answers now."""
    return np.array([agent.estimate.value for agent in network.agents.values()])
