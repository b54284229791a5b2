"""Agents in one process, joined by queues: for tests, demonstrations and embedding."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from colme.algorithms import named
from colme.errors import ConfigError, LocalProtocolError, SampleError, one_of
from colme.protocol.agent import Agent
from colme.protocol.algorithm import Algorithm
from colme.protocol.events import Begin, Effects, Estimate, Received
from colme.protocol.messages import Message
from colme.protocol.settings import Settings
from colme.protocol.stream import is_finite_number
from colme.rules.release import Profile

NoiseSource = Callable[[float], int]
"""Draws from the discrete Laplace distribution of the given scale (see `colme.privacy`)."""


class Network:
    """Real agents that exchange real messages, in the order they were sent."""

    def __init__(self, agents: Iterable[Agent], noise: NoiseSource) -> None:
        self.agents: Mapping[str, Agent] = {agent.settings.name: agent for agent in agents}
        self.round = 0
        self._noise = noise
        self._in_flight: deque[tuple[str, str, Message]] = deque()
        for name, agent in self.agents.items():
            for peer in agent.settings.neighbours:
                if peer not in self.agents or name not in self.agents[peer].settings.neighbours:
                    raise ConfigError(
                        f"{name}.neighbours", peer, f"an agent that also lists {name}"
                    )

    @classmethod
    def of_equals(
        cls,
        neighbours: Mapping[str, Iterable[str]],
        *,
        profile: Profile,
        noise: NoiseSource,
        algorithm: Algorithm | str = "recommended",
    ) -> Self:
        """Agents that share a profile and an algorithm, from each one's list of neighbours."""
        shared = named(algorithm) if isinstance(algorithm, str) else algorithm
        return cls(
            (
                Agent(
                    Settings(name=name, neighbours=tuple(peers), profile=profile, algorithm=shared)
                )
                for name, peers in neighbours.items()
            ),
            noise,
        )

    def observe(self, name: str, value: float) -> None:
        """Feed one sample to one agent."""
        self._agent(name).observe(value)

    def estimate(self, name: str) -> Estimate:
        """One agent's answer."""
        return self._agent(name).estimate

    def _agent(self, name: str) -> Agent:
        agent = self.agents.get(name)
        if agent is None:
            raise LocalProtocolError("agent", name, one_of(name, list(self.agents)))
        return agent

    def run_round(self, samples: Mapping[str, float] | None = None) -> None:
        """Feed each agent its sample, if given, and let all of them go through one round."""
        given = samples or {}
        # All of them first: a sample that was fed and is fed again would be noised twice.
        for name, value in given.items():
            self._agent(name)
            if not is_finite_number(value):
                raise SampleError(f"sample of {name}", value, "a finite number")
        for name, value in given.items():
            self.observe(name, value)
        self.round += 1
        for name, agent in self.agents.items():
            draws = tuple(self._noise(scale) for scale in agent.draws_due)
            self._post(name, agent.step(Begin(self.round, draws)))
        while self._in_flight:
            sender, receiver, message = self._in_flight.popleft()
            self._post(receiver, self.agents[receiver].step(Received(sender, message)))

    def _post(self, sender: str, effects: Effects) -> None:
        self._in_flight.extend((sender, receiver, message) for receiver, message in effects.send)
