"""What a node's owner may see of it, and nobody else: above all, the answer.

It is computed when it is asked for, and kept until something changes.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import time
from typing import Any, Protocol

from colme.node.boards import BoardsDriver
from colme.node.driving import AgentDriver
from colme.node.metrics import Metrics
from colme.node.owner.status import Answer, Status
from colme.node.state import RequestId
from colme.protocol.agent import Agent
from colme.relay import Relay


class Owned(Protocol):
    """A node, as its owner sees it."""

    @property
    def name(self) -> str:
        """Who it is among its neighbours."""

    @property
    def metrics(self) -> Metrics:
        """What it counts."""

    async def estimate(self) -> Answer:
        """The latest; a LocalProtocolError while there is no sample."""

    async def take(self, samples: Sequence[float], request: RequestId | None = None) -> None:
        """Take in all samples or none; returns once they are durable.

        Those of a `request` that came before are not taken in a second time.
        SampleError: a value is bad. StoreError: the disk fails. LocalProtocolError: this node takes
        no samples from outside.
        """

    def troubles(self) -> list[str]:
        """Why it is not ready, in words; empty if it is."""

    def status(self) -> Status:
        """Counts and words only, never a sample, a mean or an estimate."""


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
            return answer_in_rounds(driver.agent)
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
        settings = driver.agent.settings
        assert isinstance(settings.algorithm, Relay)
        answer, oldest, self._learned = await asyncio.to_thread(
            _with_a_board,
            settings.algorithm,
            evidence,
            self._learned,
            profile=settings.profile,
            came=came,
        )
        return _Kept(made_of, answer, oldest)


def _with_a_board(*board: Any, **known: Any) -> tuple[Answer, float | None, object]:
    # In the thread too: the first answer waits for numpy, the node's neighbours do not.
    from colme.node.owner.with_a_board import answer_with_a_board

    return answer_with_a_board(*board, **known)
