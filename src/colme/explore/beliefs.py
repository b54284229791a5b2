"""What each agent answers, and the class that its answer rests on."""

from dataclasses import dataclass

import numpy as np

from colme.explore.society import Society
from colme.inference.mixture import Models
from colme.protocol.agent import Agent
from colme.protocol.events import Estimate
from colme.protocol.relay import BoardAlgorithm


@dataclass(frozen=True, slots=True)
class Belief:
    """Of one agent. None of it is ever sent."""

    estimate: Estimate
    centre: float | None
    """The mean of the class that the answer rests on; None where it is the agent's own alone."""


class Beliefs:
    """Everybody's latest. With relay an answer takes milliseconds: not all are asked each time."""

    def __init__(self, society: Society) -> None:
        self._society = society
        self._warm: list[object] = [None] * len(society.agents)
        self._turn = 0
        self.latest: list[Belief | None] = [None] * len(society.agents)

    def ask_all(self) -> None:
        """Everybody who is there."""
        self.ask_some(len(self._society.agents))

    def ask_some(self, count: int) -> None:
        """So many of them, in turn."""
        agents = len(self._society.agents)
        for _ in range(min(count, agents)):
            self.ask(self._turn)
            self._turn = (self._turn + 1) % agents

    def ask(self, a: int) -> None:
        """One, if it is there and has a sample."""
        society = self._society
        if a in society.away or society.exact(a) is None:
            return
        agent = society.agents[a]
        algorithm = agent.settings.algorithm
        if isinstance(algorithm, BoardAlgorithm):
            estimate, learned = algorithm.answer(agent.boards.evidence, self._warm[a])
            self._warm[a] = learned
            centre = _nearest(learned, estimate, agent)
        else:
            estimate, centre = agent.estimate, agent.consensus
        self.latest[a] = Belief(estimate, centre if estimate.collaborative else None)

    def errors(self) -> tuple[float, float] | None:
        """Root mean squared, over honest agents that are there: together, and alone."""
        society = self._society
        asked = [
            (belief.estimate, float(society.truth[a]))
            for a, belief in enumerate(self.latest)
            if belief is not None and a not in society.away | society.liars
        ]
        if not asked:
            return None
        together = [(one.value - truth) ** 2 for one, truth in asked]
        alone = [(one.alone - truth) ** 2 for one, truth in asked]
        return float(np.mean(together)) ** 0.5, float(np.mean(alone)) ** 0.5


def _nearest(learned: object, estimate: Estimate, agent: Agent) -> float | None:
    """Of the most probable model, the component that is nearest to the answer."""
    if not isinstance(learned, Models):
        return None
    profile = agent.settings.profile
    best = learned.models[int(learned.probabilities.argmax())]
    means = best.means * profile.half_range + profile.midpoint
    return float(means[np.abs(means - estimate.value).argmin()])
