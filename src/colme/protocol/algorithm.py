"""What every algorithm says: what it releases, how it decides, what it exchanges and answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from colme.protocol.board.identity import BoardIdentity
from colme.protocol.board.record import Entry
from colme.protocol.events import Due, Effects, Estimate, Event, ExchangeStatus
from colme.protocol.own_data import OwnData
from colme.rules.release import Profile, ReleaseSchedule


class Exchange(ABC):
    """What one agent exchanges with its neighbours, and what it makes of that: a pure machine.

    Time is data: `now` comes with each event, in seconds of a clock that never jumps.
    """

    state: Any
    """All that it remembers, a dataclass: the part `exchange` of a snapshot."""

    @property
    @abstractmethod
    def round(self) -> int:
        """The last round begun, or the last tick; 0 before the first."""

    @property
    def announced_round(self) -> int:
        """The round that neighbours remember of this agent, to tell an outdated state by."""
        return self.round

    @property
    @abstractmethod
    def draws_due(self) -> tuple[float, ...]:
        """The scales of the draws that the next `Begin` must bring, in order."""

    @property
    @abstractmethod
    def wake_at(self) -> float | None:
        """When something may be due though nothing comes; None if nothing will be."""

    @abstractmethod
    def due(self, now: float) -> Due | None:
        """Return what it wants to be told at this time, if anything. Changes nothing."""

    @abstractmethod
    def step(self, event: Event, now: float = 0.0) -> Effects:
        """Take one event other than a sample. An illegal one raises and changes nothing."""

    @property
    @abstractmethod
    def status(self) -> ExchangeStatus:
        """How it is, in counts and names only."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """What of `state` is stored entry by entry, by publisher; nothing, in most exchanges."""
        return {}

    @property
    def via(self) -> Mapping[str, str | None]:
        """The neighbour that brought each of `entries` first; None for the agent's own."""
        return {}

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """Fingerprints of all own entries so far, by number."""
        return {}

    @property
    def digest(self) -> str | None:
        """A hash of `entries`: the same wherever the same are held; None without any."""
        return None

    @property
    def rest(self) -> Any:
        """`state` without what is stored apart."""
        return self.state

    def held_of(self, peer: str) -> Entry | None:
        """Return the newest entry of a neighbour's own, for it to compare with its state."""
        return None

    def require_newest_state(self) -> None:  # noqa: B027 (rounds hear of no own releases)
        """Raise StaleStateError if neighbours know of releases that this state has not made."""

    @property
    def is_over(self) -> bool:
        """Whether the last round or tick of a trial has ended."""
        return False

    @abstractmethod
    def resume(self, state: Any) -> None:
        """Go on from a stored state; neighbours may have come and gone since."""

    @abstractmethod
    def estimate(self) -> Estimate:
        """The owner's answer, never sent. There is a sample."""


class Algorithm(ABC):
    """One object, shared by library, simulator and node; `algorithms.py` lists those with names.

    Frozen, with its options as fields. It holds no state: what an agent remembers is in its
    `OwnData` and in the `Exchange` that the algorithm makes for it.
    """

    __slots__ = ()

    name: ClassVar[str]
    """Kept in states and compared between neighbours: never an alias."""

    signs: ClassVar[bool] = False
    """Whether what is sent is signed and passed on: then a state belongs to the key that signs."""

    @property
    @abstractmethod
    def release_squares(self) -> bool:
        """Whether noisy sums of squares are published too, for a variance that is not known."""

    @abstractmethod
    def schedule_for(self, profile: Profile, origin: str) -> ReleaseSchedule:
        """Where blocks end: a function of public facts, such as the hash of one's key."""

    @abstractmethod
    def exchange(
        self, own: OwnData, neighbours: Sequence[str], identity: BoardIdentity
    ) -> Exchange:
        """The machine of one agent, before its first event."""
