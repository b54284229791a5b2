"""What a node's owner may see of it, and nobody else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from colme.node.metrics import Metrics
from colme.node.owner.status import Status
from colme.protocol.events import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The owner's answer, in one shape for all algorithms. None of it is ever sent."""

    value: float
    low: float
    """Of the 95% interval."""
    high: float
    alone: float
    """What it would be without the others: the exact mean of the samples."""
    samples: int
    records: int
    """Others' releases that it rests on."""
    classes: int | None
    """How many kinds of others there seem to be; None where that is not asked."""
    oldest: float | None
    """Seconds since the oldest of these releases came here; None where there is none."""
    why: str | None
    """In words, where it is near what it would be alone."""

    @classmethod
    def of(
        cls, estimate: Estimate, *, samples: int, records: int, classes: int | None, why: str | None
    ) -> Self:
        """An agent's answer with what it rests on; how old that is changes with time."""
        return cls(
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            alone=estimate.alone,
            samples=samples,
            records=records,
            classes=classes,
            oldest=None,
            why=why,
        )


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

    async def take(self, samples: Sequence[float]) -> None:
        """Take in all samples or none; returns once they are durable.

        SampleError: a value is bad. StoreError: the disk fails. LocalProtocolError: this node takes
        no samples from outside.
        """

    def troubles(self) -> list[str]:
        """Why it is not ready, in words; empty if it is."""

    def status(self) -> Status:
        """Counts and words only, never a sample, a mean or an estimate."""
