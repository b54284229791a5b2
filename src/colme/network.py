"""Agents in one process, joined by queues: for tests, demonstrations and embedding."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Self, cast

from colme.algorithms import named
from colme.errors import ConfigError, LocalProtocolError, SampleError, one_of
from colme.protocol.agent import Agent
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import InProcess
from colme.protocol.events import Begin, Effects, Estimate, Received
from colme.protocol.messages import Message
from colme.protocol.settings import Settings
from colme.protocol.stream import is_finite_number
from colme.rules.release import Profile

NoiseSource = Callable[[float], int]
"""Draws from the discrete Laplace distribution of the given scale (see `colme.privacy`)."""

Samples = Mapping[str, float] | Sequence[float]
"""Of one round: by the name of the agent; or one for each agent, in the order of the network."""


class Network:
    """Real agents that exchange real messages, in the order they were sent."""

    def __init__(self, agents: Iterable[Agent], noise: NoiseSource) -> None:
        if not callable(noise):
            raise ConfigError("noise", noise, "a source of noise, such as SeededLaplace(1)")
        self.agents: Mapping[str, Agent] = {agent.settings.name: agent for agent in agents}
        self.round = 0
        self._noise = noise
        self._stuck_by = ""
        """The error that ended a round half way."""
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
        for name, peers in neighbours.items():
            if isinstance(peers, str):
                raise ConfigError(f"{name}.neighbours", peers, "a list of names")
        return cls(
            (
                Agent(
                    Settings(
                        name=name,
                        neighbours=tuple(peers),
                        profile=profile,
                        algorithm=shared,
                        identity=InProcess(name),
                    )
                )
                for name, peers in neighbours.items()
            ),
            noise,
        )

    @classmethod
    def from_graph(
        cls,
        graph: Any,
        *,
        profile: Profile,
        noise: NoiseSource,
        algorithm: Algorithm | str = "recommended",
    ) -> Self:
        """The same on a networkx graph, or a `Graph`; agents are called as its nodes are."""
        from colme.graph import Graph  # It needs numpy, which whoever has no graph is spared.

        found = graph if isinstance(graph, Graph) else Graph.from_networkx(graph)
        names = [str(label) for label in found.labels or range(found.agents)]
        neighbours = {
            name: [names[b] for b in found.neighbours(a).tolist()] for a, name in enumerate(names)
        }
        return cls.of_equals(neighbours, profile=profile, noise=noise, algorithm=algorithm)

    def __repr__(self) -> str:
        algorithms = sorted({agent.settings.algorithm.name for agent in self.agents.values()})
        edges = sum(len(agent.settings.neighbours) for agent in self.agents.values()) // 2
        return (
            f"<Network: {len(self.agents):,} agents, {edges:,} edges,"
            f" {' and '.join(algorithms)},"
            f" {'stuck in' if self._stuck_by else 'after'} round {self.round:,}>"
        )

    def observe(self, name: str, value: float) -> None:
        """Feed one sample to one agent."""
        self._require_whole_rounds()
        self._agent(name).observe(value)

    def estimate(self, name: str) -> Estimate:
        """One agent's answer."""
        return self._agent(name).estimate

    def estimates(self) -> dict[str, Estimate]:
        """Everybody's answer, by name."""
        return {name: agent.estimate for name, agent in self.agents.items()}

    def run(self, stream: Iterable[Samples] | Mapping[str, Iterable[float]]) -> None:
        """Round after round: an array with a row for each round, say, or everybody's own samples.

        A mapping has a stream for each agent, one sample a round; whose stream ends has none left.
        """
        # A table of columns, such as pandas', is as good as a mapping.
        own = getattr(stream, "items", None)
        rounds = cast(Iterable[Samples], stream) if own is None else _each_round(dict(own()))
        for samples in rounds:
            self.run_round(samples)

    def _agent(self, name: str) -> Agent:
        agent = self.agents.get(name)
        if agent is None:
            raise LocalProtocolError("agent", name, one_of(name, list(self.agents)))
        return agent

    def run_round(self, samples: Samples | None = None) -> None:
        """Feed each agent at most one sample, then run one round of messages.

        All samples are checked before any is fed. If a custom rule or source of noise raises in the
        round, or Ctrl-C interrupts it, the network refuses to go on: some agents would be a round
        ahead of others. Answers can still be read.

        Parameters
        ----------
        samples
            Samples by agent name, or one for every agent in network order. An agent without a
            sample still exchanges messages.

        Raises
        ------
        SampleError
            If a sample is not a finite number, or a sequence has the wrong length.
        LocalProtocolError
            If a name is not an agent of this network, or an earlier round ended half way.

        Examples
        --------
        >>> from colme import Network, Profile, SeededLaplace
        >>> pair = Network.of_equals(
        ...     {"north": ["south"], "south": ["north"]},
        ...     profile=Profile.bounded(0, 1, epsilon=1),
        ...     noise=SeededLaplace(1),
        ... )
        >>> pair.run_round({"north": 0.2, "south": 0.3})
        >>> pair.estimate("north").value
        0.2
        """
        self._require_whole_rounds()
        given = self._by_name(samples)
        for name, value in given.items():
            self._agent(name)
            if not is_finite_number(value):
                raise SampleError(f"sample of {name}", type(value).__name__, "a finite number")
        self.round += 1
        try:
            for name, value in given.items():
                self.observe(name, float(value))
            self._exchange()
        except BaseException as error:
            self._stuck_by = type(error).__name__
            raise

    def _require_whole_rounds(self) -> None:
        if self._stuck_by:
            seen = f"round {self.round}, which {self._stuck_by} ended half way"
            expected = "whole rounds. Build a new network and feed it the samples again"
            raise LocalProtocolError("network", seen, expected)

    def _exchange(self) -> None:
        for name, agent in self.agents.items():
            noise = tuple(map(self._noise, agent.draws_due))
            self._post(name, agent.step(Begin(self.round, noise)))
        while self._in_flight:
            sender, receiver, message = self._in_flight.popleft()
            self._post(receiver, self.agents[receiver].step(Received(sender, message)))

    def _by_name(self, samples: Samples | None) -> Mapping[str, float]:
        if samples is None or isinstance(samples, Mapping):
            return samples or {}
        try:
            return dict(zip(self.agents, samples, strict=True))
        except (TypeError, ValueError):
            kind = type(samples).__name__
            seen = f"{len(samples)} of them" if hasattr(samples, "__len__") else kind
            expected = f"one for each of the {len(self.agents)} agents, in order, or by name"
            raise SampleError("samples of a round", seen, expected) from None

    def _post(self, sender: str, effects: Effects) -> None:
        self._in_flight.extend((sender, receiver, message) for receiver, message in effects.send)


def _each_round(streams: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    for name, stream in streams.items():
        if isinstance(stream, str) or not hasattr(stream, "__iter__"):
            expected = "a list of samples, one a round; run_round takes one of each"
            raise SampleError(f"samples of {name}", type(stream).__name__, expected)
    for row in zip_longest(*streams.values(), fillvalue=None):
        yield {name: x for name, x in zip(streams, row, strict=True) if x is not None}
