"""The owner's answer: a posterior mean, or why it is the own mean alone.

It is computed when it is asked for, and kept until something changes. With a board it needs numpy,
an eighth of a node's memory: imported when somebody asks.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from colme.node.driver import Driver
from colme.node.owner.status import Answer
from colme.protocol.agent import Agent
from colme.protocol.relay import BoardExchange, Evidence
from colme.relay import Relay
from colme.rules.release import Profile


def answer_in_rounds(agent: Agent) -> Answer:
    """Return the latest, which the agent has ready; a LocalProtocolError while it has no sample."""
    estimate, neighbours = agent.estimate, len(agent.settings.neighbours)
    alike = estimate.class_size - 1
    return Answer.of(
        estimate,
        samples=agent.counts.taken,
        records=alike if estimate.collaborative else 0,
        classes=None,
        why=None if estimate.collaborative else why_alone(alike, neighbours),
    )


def why_alone(alike: int, neighbours: int) -> str:
    """Of so many neighbours, so many look alike."""
    if alike == 0:
        return f"of {neighbours} neighbours none looks alike so far"
    look = "1 looks" if alike == 1 else f"{alike} look"
    return f"of {neighbours} neighbours {look} alike, and noise is large beside these samples yet"


def answer_with_a_board(
    algorithm: Relay,
    evidence: Evidence,
    warm: object,
    *,
    profile: Profile,
    came: Mapping[str, float],
) -> tuple[Answer, float | None, object]:
    """The answer, when the oldest record in it came, and what was learned of the others."""
    # In the thread too: the first answer waits for numpy, the node's neighbours do not.
    from colme.inference.mixture import Models
    from colme.inference.obstacles import obstacle

    estimate, learned = algorithm.answer(evidence, warm)
    reason = None
    if not estimate.collaborative:
        schedule = algorithm.schedule_for(profile, evidence.origin)
        own, first_release = algorithm.own(evidence), schedule.next_end(0)
        reason = obstacle(own, evidence.records, first_release=first_release)
    used, classes = [], None
    if isinstance(learned, Models):
        used = [
            record.origin
            for record in evidence.records
            if record.origin != evidence.origin and record.bounds == evidence.bounds
        ]
        classes = learned.models[int(learned.probabilities.argmax())].means.size
    answer = Answer.of(
        estimate, samples=evidence.own_count, records=len(used), classes=classes, why=reason
    )
    oldest = min((came[origin] for origin in used if origin in came), default=None)
    return answer, oldest, learned


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer, what it was computed from, and when the oldest record in it came."""

    made_of: object
    answer: Answer
    oldest: float | None


class Answering:
    """Of one node. With a board it takes milliseconds to a second: in a thread, one at a time."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._kept: _Kept | None = None
        self._learned: object = None
        """What the last answer has learned of the others: only to be quicker next time."""
        self._one_at_a_time = asyncio.Lock()

    async def answer(self) -> Answer:
        """The latest; a LocalProtocolError while there is no sample."""
        driver = self._driver
        if not isinstance(driver.agent.exchange, BoardExchange):
            return answer_in_rounds(driver.agent)
        driver.agent.require_sample()
        async with self._one_at_a_time:
            kept = self._kept
            if kept is None or kept.made_of != driver.version:
                kept = self._kept = await self._computed(driver)
        age = None if kept.oldest is None else max(0.0, driver.clock.wall() - kept.oldest)
        return replace(kept.answer, oldest=age)

    async def _computed(self, driver: Driver) -> _Kept:
        # All of one moment: the board goes on while it is computed.
        made_of, evidence, came = driver.version, driver.agent.boards.evidence, driver.arrivals
        settings = driver.agent.settings
        assert isinstance(settings.algorithm, Relay)
        answer, oldest, self._learned = await asyncio.to_thread(
            answer_with_a_board,
            settings.algorithm,
            evidence,
            self._learned,
            profile=settings.profile,
            came=came,
        )
        return _Kept(made_of, answer, oldest)
