"""What an agent has released of its stream, and under which promise."""

from dataclasses import dataclass
from math import inf
from typing import Self

from colme.protocol.agent import Agent

ADJACENCY = "event level: streams that differ by replacing one sample; sample counts are public"
"""Whom the promised epsilon compares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Epsilon is spent once by every sample, whatever their number: it is no running total.

    It only reads. What keeps a sample from being noised twice is `Stream.publish`, which takes
    fresh noise for newly closed blocks alone.
    """

    epsilon: float
    samples: int
    blocks: int
    waiting: int

    @classmethod
    def of(cls, agent: Agent) -> Self:
        """As of the last round begun."""
        stream = agent.snapshot()["state"]["stream"]
        return cls(
            epsilon=agent.settings.profile.epsilon,
            samples=stream["released_count"],
            blocks=stream["blocks"],
            waiting=stream["count"] - stream["released_count"],
        )

    def describe(self) -> str:
        """One line for the owner; it holds nothing but counts."""
        promise = (
            "epsilon = inf (no privacy)"
            if self.epsilon == inf
            else f"epsilon = {self.epsilon:g} for each sample ({ADJACENCY})"
        )
        return (
            f"{promise}; samples released: {self.samples}, waiting: {self.waiting}; "
            f"blocks noised: {self.blocks}"
        )
