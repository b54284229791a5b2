"""What an agent has released of its stream, and under which promise."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Self

from colme.errors import LedgerError
from colme.protocol.agent import Agent

ADJACENCY = "event level: streams that differ by replacing one sample; sample counts are public"
"""Whom the promised epsilon compares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Epsilon is spent once by every sample, whatever their number: it is no running total.

    It only reads. What keeps a sample from being noised twice is `Stream.publish`, which takes
    fresh noise for newly closed blocks alone; and, where a state is stored, its list of entries.
    """

    epsilon: float
    samples: int
    blocks: int
    waiting: int

    @classmethod
    def of(cls, agent: Agent) -> Self:
        """As of the last round begun."""
        counts = agent.counts
        return cls(
            epsilon=agent.settings.profile.epsilon,
            samples=counts.released,
            blocks=counts.blocks,
            waiting=counts.taken - counts.released,
        )

    def describe(self, *, releases: int | None = None, past: Sequence["Past"] = ()) -> str:
        """One line for the owner; it holds nothing but counts, of releases too where kept.

        `past`: the promises of before, where this one is not the first.
        """
        promise = (
            "epsilon = inf (no privacy)"
            if self.epsilon == inf
            else f"epsilon = {self.epsilon:g} for each sample ({ADJACENCY})"
        )
        made = "" if releases is None else f"; releases made: {releases}"
        return (
            f"{promise}; samples released: {self.samples}, waiting: {self.waiting}; "
            f"blocks noised: {self.blocks}{made}{''.join(f'; {one.describe()}' for one in past)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A promise that has ended, for samples `first` to `last`, counted from 1 over all promises.

    Each sample has one promise, and is noised under it once or never: `released` of them were.
    """

    first: int
    last: int
    released: int
    blocks: int
    bounds: tuple[float, float]
    epsilon: float
    ended: str

    def describe(self) -> str:
        """In words, without the time."""
        lo, hi = self.bounds
        dropped = self.last - self.first + 1 - self.released
        return (
            f"before that, samples {self.first} to {self.last} under epsilon = {self.epsilon:g} and"
            f" bounds {lo:g} to {hi:g}: {self.released} released, {dropped} dropped"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One release that carried fresh noise, for samples `first` to `last`, counted from 1."""

    round: int
    first: int
    last: int
    blocks: int
    epsilon: float


def entry_between(before: Ledger, after: Ledger, *, round: int) -> Entry | None:  # noqa: A002 (the paper's word)
    """What a round has newly released; None if nothing."""
    if after.samples == before.samples:
        return None
    return Entry(
        round=round,
        first=before.samples + 1,
        last=after.samples,
        blocks=after.blocks - before.blocks,
        epsilon=after.epsilon,
    )


def require_next(covered: int, entry: Entry) -> None:
    """Refuse an entry that does not go on where those before it, up to `covered`, end."""
    if not entry.first == covered + 1 <= entry.last:
        raise LedgerError(
            "ledger",
            f"an entry for samples {entry.first} to {entry.last}",
            f"one from sample {covered + 1} on: a sample would be noised twice, or never listed",
        )
