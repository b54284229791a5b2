"""What a node tells its owner: its answer, and how it is, in counts and words only."""

from dataclasses import dataclass
from typing import Self

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCounts:
    """What became of the owner's samples."""

    taken: int
    """Stored, and counted in the estimate."""
    released: int
    """In a release, noised."""
    waiting: int
    """Of the block that is still open: they go out with its noise."""
    clamped: int
    """Outside the bounds, and moved to the nearer one."""
    refused: int
    """Samples, or whole requests, that were not taken in since this start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourStatus:
    """A neighbour, as this node sees it."""

    name: str
    address: str
    connected: bool
    """Whether this node has a session to it."""
    round: int
    """The last one that it is known to have reached."""
    last_error: str | None
    """Why there is no session."""
    suspect: bool | None
    """Silent for so long that rounds do not wait for it; None, as the next two, without rounds."""
    accepted: bool | None
    """Whether it looks like one of the same class."""
    late: int | None
    """Messages that came after their exchange."""
    vouched_for: int
    """Origins that it brought first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A node at one moment, in the order in which `/status` has it.

    Counts and words only, never a sample, a mean or an estimate.
    """

    name: str
    """As in its certificate."""
    fingerprint: str
    """Of its certificate, to be compared with its neighbours' owners."""
    epoch: int
    """How often its state has been started from."""
    algorithm: str
    """What it runs, by the name that neighbours compare: never an alias."""
    round: int
    """The last one begun."""
    phase: str | None
    """The exchange that is open: idle, release, size or consensus; None without rounds."""
    rounds: str | None
    """Whether they go by the clock or are free."""
    began: float | None
    """When the first round of this start began, in seconds since 1970."""
    ended: float | None
    """When the last round of a trial ended."""
    samples: SampleCounts
    privacy: str
    """What was promised and released, in the ledger's words."""
    class_size: int | None
    """How many look alike, this node included; None without rounds."""
    trust: float | None
    """The weight of what is shared in the answer. It rests on exact data: for the owner alone."""
    origin: str | None
    """The name of its records, to those who are not its neighbours."""
    records: int | None
    """On the board, its own among them; None in rounds."""
    board: str | None
    """A hash of all that is on it: two nodes with the same one hold the same; None in rounds."""
    barred: tuple[str, ...]
    """Origins that have contradicted themselves: nothing of theirs is used."""
    neighbours: tuple[NeighbourStatus, ...]
    troubles: tuple[str, ...]
    """Why it is not ready; empty if it is."""
