"""One network of real agents to play with: step it, kill an agent, cut it in two, make one lie.

Every message that leaves an agent is stored in words, beside the exact mean that stays inside.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import assert_never

import numpy as np

from colme.errors import ConfigError
from colme.experiment.streams import RandomStream, generator
from colme.explore.choices import Choices, for_network
from colme.inference.mixture import Models
from colme.network import Network
from colme.privacy.ledger import Ledger
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Record
from colme.protocol.events import Begin, Deadline, Effects, Estimate, Received, Returned
from colme.protocol.messages import ConsensusMessage, Message, ReleaseMessage, SizeMessage
from colme.protocol.relay import BoardAlgorithm
from colme.protocol.rounds.state import Phase
from colme.sim.engines.relay.boards import hops

MOST_ROUNDS = 2000
"""Every message is kept, to be looked at: with sixty agents in rounds these are 360,000."""

Edge = tuple[int, int]
"""The smaller agent first."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a message says."""

    words: str
    released: float | None = None
    """The sender's own released mean, where the message has it."""
    count: int = 0
    """The samples that it is of: the first so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter(Said):
    """A message that left an agent, to one neighbour or to several alike."""

    round: int
    to: tuple[str, ...]
    exact: float | None
    """The mean of the same samples without noise, which stays inside; None where none is told."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What one agent answers, and the class that its answer rests on. None of it is ever sent."""

    estimate: Estimate
    centre: float | None
    """The mean of the class that the answer rests on; None where it is the agent's own alone."""


class Society:
    """Agents are numbered from 0. All that is random follows from the seed of the choices."""

    def __init__(self, choices: Choices) -> None:
        self.choices = for_network(choices)
        scenario = self.choices.scenario()
        drawn = scenario.draw_graph(scenario.graph.degrees[0], 0)
        graph = replace(drawn, labels=None)  # Agents are numbers here, on a grid, too.
        self.classes = self.choices.members
        self.truth = np.asarray(self.choices.means)[self.classes]
        self.edges: list[Edge] = graph.edges
        self._graph = graph
        self.round = 0
        self.away: set[int] = set()
        self.liars: set[int] = set()
        self.cut: set[Edge] = set()
        self.crossed: set[Edge] = set()
        """Over which something came in the last round."""
        self._generator = generator(self.choices.seed, RandomStream.EXPLORER_SAMPLES)
        self._noise = SeededLaplace(generator(self.choices.seed, RandomStream.EXPLORER_NOISE))
        profile = replace(scenario.profiles()[0][0][0], bounds=self.choices.common_bounds)
        network = Network.from_graph(
            graph, profile=profile, noise=self._noise, algorithm=self.choices.algorithm
        )
        self.agents: list[Agent] = [network.agents[str(a)] for a in range(graph.agents)]
        self._origins = {agent.settings.origin: agent.settings.name for agent in self.agents}
        self._in_rounds = self.choices.algorithm == "paper"
        self._totals = [[0.0] for _ in self.agents]
        """Sums of each agent's first 0, 1, 2 ... samples, which its owner alone knows."""
        self.letters: list[list[Letter]] = [[] for _ in self.agents]
        """All that left each agent, the first first."""
        self.beliefs: list[Belief | None] = [None] * graph.agents
        """Everybody's latest. With relay an answer takes milliseconds: not all are asked often."""
        self._warm: list[object] = [None] * graph.agents
        self._turn = 0
        self._in_flight: deque[tuple[int, int, Message]] = deque()

    def run_round(self) -> None:
        """A sample for everybody, and one round of messages."""
        if self.round >= MOST_ROUNDS:
            raise ConfigError("round", self.round, f"at most {MOST_ROUNDS} to look at")
        self.round += 1
        self.crossed = set()
        half = self.choices.sigma * 3**0.5
        # For all, so that nobody's data depend on who is away.
        samples = self.truth + self._generator.uniform(-half, half, len(self.agents))
        present = [a for a in range(len(self.agents)) if a not in self.away]
        for a in present:
            self._observe(a, float(samples[a]))
        for a in present:
            agent = self.agents[a]
            draws = tuple(self._noise(scale) for scale in agent.draws_due)
            self._post(a, agent.step(Begin(self.round, draws)))
        self._deliver()
        while stuck := self._stuck(present):
            for a in stuck:
                self._post(a, self.agents[a].step(Deadline()))
            self._deliver()

    def _observe(self, a: int, sample: float) -> None:
        if a in self.liars:
            # A lie that the rules allow: it invents samples, at the far end of the bounds.
            lo, hi = self.choices.common_bounds
            sample = hi if self.truth[a] < (lo + hi) / 2 else lo
        self.agents[a].observe(sample)
        self._totals[a].append(self._totals[a][-1] + sample)

    def _stuck(self, present: Iterable[int]) -> list[int]:
        """Who waits for somebody who does not answer; of these, who waits longest."""
        if not self._in_rounds:
            return []
        waiting = [a for a in present if self.agents[a].phase is not Phase.IDLE]
        first = min((self.agents[a].phase.place for a in waiting), default=0)
        return [a for a in waiting if self.agents[a].phase.place == first]

    def _post(self, a: int, effects: Effects) -> None:
        if not effects.send:
            return
        together: dict[Said, list[str]] = {}
        for receiver, message in effects.send:
            self._in_flight.append((a, int(receiver), message))
            one = said(message, str(a), self._origins)
            together.setdefault(one, []).append(receiver)
        self.letters[a] += [
            Letter(
                **asdict(one),
                round=self.round,
                to=tuple(to),
                exact=self._mean_of_first(a, one.count),
            )
            for one, to in together.items()
        ]

    def _deliver(self) -> None:
        while self._in_flight:
            sender, receiver, message = self._in_flight.popleft()
            edge = _edge(sender, receiver)
            if receiver in self.away or edge in self.cut:
                continue
            self.crossed.add(edge)
            self._post(receiver, self.agents[receiver].step(Received(str(sender), message)))

    def kill(self, a: int) -> None:
        """It says and hears nothing any more; or again, if it was away."""
        if a not in self.away:
            self.away.add(a)
            return
        self.away.remove(a)
        self._reunite(edge for edge in self.edges if a in edge)

    def lie(self, a: int) -> None:
        """From now on it invents its samples; or no longer does."""
        self.liars ^= {a}

    def cut_in_two(self) -> None:
        """Nothing crosses from one half to the other any more; or again, if it was cut."""
        if self.cut:
            healed, self.cut = self.cut, set()
            self._reunite(healed)
            return
        # Agents that are near each other: those nearest to the first.
        near = np.argsort(hops(self._graph, np.array([0]))[0], kind="stable")
        half = set(near[: len(near) // 2].tolist())
        self.cut = {edge for edge in self.edges if (edge[0] in half) != (edge[1] in half)}

    def _reunite(self, edges: Iterable[Edge]) -> None:
        for a, b in edges:
            if not {a, b} & self.away and (a, b) not in self.cut:
                self.agents[a].step(Returned(str(b)))
                self.agents[b].step(Returned(str(a)))

    def promise(self, a: int) -> str:
        """The privacy of an agent's samples, in words."""
        return Ledger.of(self.agents[a]).describe()

    def exact(self, a: int) -> float | None:
        """The mean of its samples, which stays inside; None before the first."""
        return self._mean_of_first(a, len(self._totals[a]) - 1)

    def _mean_of_first(self, a: int, count: int) -> float | None:
        return self._totals[a][count] / count if count else None

    def ask(self, count: int | None = None) -> None:
        """Ask so many agents for their answer, in turn; all of them if no count is given."""
        agents = len(self.agents)
        for _ in range(agents if count is None else min(count, agents)):
            a, self._turn = self._turn, (self._turn + 1) % agents
            if a not in self.away and self.exact(a) is not None:
                self.beliefs[a] = self._asked(a)

    def _asked(self, a: int) -> Belief:
        agent = self.agents[a]
        algorithm = agent.settings.algorithm
        if isinstance(algorithm, BoardAlgorithm):
            estimate, learned = algorithm.answer(agent.boards.evidence, self._warm[a])
            self._warm[a] = learned
            centre = _nearest(learned, estimate, agent)
        else:
            estimate, centre = agent.estimate, agent.consensus
        return Belief(estimate, centre if estimate.collaborative else None)

    def errors(self) -> tuple[float, float] | None:
        """Root mean squared, over honest agents that are there: together, and alone."""
        off = [
            (belief.estimate.value - self.truth[a], belief.estimate.alone - self.truth[a])
            for a, belief in enumerate(self.beliefs)
            if belief is not None and a not in self.away | self.liars
        ]
        if not off:
            return None
        together, alone = np.sqrt(np.mean(np.square(off), axis=0)).tolist()
        return together, alone


def _edge(a: int, b: int) -> Edge:
    return (a, b) if a < b else (b, a)


def said(message: Message, sender: str, names: Mapping[str, str]) -> Said:
    """In words; `names` are those of origins, the sender's own among them."""
    match message:
        case ReleaseMessage(release=release):
            if release is None:
                return Said("nothing released yet")
            return Said(f"released mean of {release.count} samples", release.mean, release.count)
        case SizeMessage(size=size, accepts=accepts):
            return Said(f"{size} look alike here; you {'do' if accepts else 'do not'}")
        case ConsensusMessage(value=value):
            return Said(f"consensus value {value:.4g}")
        case RecordsMessage(entries=entries):
            return _records(entries, sender, names)
        case DigestMessage(answer=answer):
            return Said("digest: which records I hold" + (", as asked" if answer else ""))
        case _:
            assert_never(message)


def _records(entries: tuple[object, ...], sender: str, names: Mapping[str, str]) -> Said:
    known = [(names.get(one.origin, "?"), one) for one in entries if isinstance(one, Record)]
    own = next((one for name, one in known if name == sender), None)
    others = sorted(
        (name for name, _ in known if name != sender), key=lambda name: (len(name), name)
    )
    passed_on = f"passes on {len(others)}: of {', '.join(others)}" if others else ""
    if own is None:
        return Said(passed_on or "a proof that somebody signed two records")
    mine = f"its record, the released mean of {own.count} samples"
    return Said(f"{mine}; {passed_on}" if passed_on else mine, own.mean, own.count)


def _nearest(learned: object, estimate: Estimate, agent: Agent) -> float | None:
    """Of the most probable model, the component that is nearest to the answer."""
    if not isinstance(learned, Models):
        return None
    profile = agent.settings.profile
    best = learned.models[int(learned.probabilities.argmax())]
    means = best.means * profile.half_range + profile.midpoint
    return float(means[np.abs(means - estimate.value).argmin()])
