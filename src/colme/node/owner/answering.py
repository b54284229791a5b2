"""The owner's answer: computed when it is asked for, and kept until something changes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import time

import numpy as np

from colme.inference.mixture import Models
from colme.inference.obstacles import obstacle
from colme.node.boards import BoardsDriver
from colme.node.driving import AgentDriver
from colme.node.owner import why
from colme.node.owner.answer import Answer
from colme.protocol.agent import Agent
from colme.protocol.board.evidence import Evidence
from colme.protocol.board.record import Record
from colme.protocol.events import Estimate
from colme.relay import Relay


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer, what it was computed from, and when the oldest record in it came."""

    made_of: object
    answer: Answer
    oldest: float | None


class Answering:
    """Of one node. With a board it takes milliseconds to a second: in a thread, one at a time."""

    def __init__(self, driver: AgentDriver) -> None:
        self._driver = driver
        self._kept: _Kept | None = None
        self._learned: object = None
        """What the last answer has learned of the others: only to be quicker next time."""
        self._one_at_a_time = asyncio.Lock()

    async def answer(self) -> Answer:
        """The latest; a LocalProtocolError while there is no sample."""
        driver = self._driver
        if not isinstance(driver, BoardsDriver):
            return _in_rounds(driver.agent)
        driver.agent.require_sample()
        async with self._one_at_a_time:
            kept = self._kept
            if kept is None or kept.made_of != driver.version:
                kept = self._kept = await self._computed(driver)
        age = None if kept.oldest is None else max(0.0, time() - kept.oldest)
        return replace(kept.answer, oldest=age)

    async def _computed(self, driver: BoardsDriver) -> _Kept:
        # All of one moment: the board goes on while it is computed.
        made_of, evidence, came = driver.version, driver.agent.boards.evidence, driver.arrivals
        algorithm = driver.agent.settings.algorithm
        assert isinstance(algorithm, Relay)
        estimate, self._learned = await asyncio.to_thread(algorithm.answer, evidence, self._learned)
        reason = None
        if not estimate.collaborative:
            found = await asyncio.to_thread(obstacle, algorithm.own(evidence), evidence.records)
            schedule = algorithm.schedule_for(driver.agent.settings.profile, evidence.origin)
            reason = why.with_a_board(found, first_release=schedule.next_end(0))
        models = self._learned if isinstance(self._learned, Models) else None
        others = _of_others(evidence)
        used = others if models is not None else ()
        answer = Answer(
            **_value_and_interval(estimate),
            samples=evidence.own_count,
            records=len(used),
            classes=None if models is None else _classes(models),
            oldest=None,
            why=reason,
        )
        oldest = min((came[one.origin] for one in used if one.origin in came), default=None)
        return _Kept(made_of, answer, oldest)


def _in_rounds(agent: Agent) -> Answer:
    estimate, neighbours = agent.estimate, len(agent.settings.neighbours)
    alike = estimate.class_size - 1
    return Answer(
        **_value_and_interval(estimate),
        samples=agent.counts.taken,
        records=alike if estimate.collaborative else 0,
        classes=None,
        oldest=None,
        why=None if estimate.collaborative else why.in_rounds(alike, neighbours),
    )


def _value_and_interval(estimate: Estimate) -> dict[str, float]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "alone")}


def _of_others(evidence: Evidence) -> Sequence[Record]:
    return [
        record
        for record in evidence.records
        if record.origin != evidence.origin and record.bounds == evidence.bounds
    ]


def _classes(models: Models) -> int:
    """Of the model that is most probable."""
    return int(models.models[int(np.argmax(models.probabilities))].means.size)
