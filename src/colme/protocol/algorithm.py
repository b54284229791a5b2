"""What every algorithm says: what it releases, how it decides, what it exchanges and answers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from colme.protocol.board.identity import BoardIdentity
from colme.protocol.events import Effects, Estimate, Event
from colme.protocol.own_data import OwnData
from colme.rules.release import Profile, ReleaseSchedule


class Exchange(ABC):
    """What one agent exchanges with its neighbours, and what it makes of that: a pure machine."""

    state: Any
    """All that it remembers, a dataclass: the part `exchange` of a snapshot."""

    @property
    @abstractmethod
    def round(self) -> int:
        """The last round begun, or the last tick; 0 before the first."""

    @property
    @abstractmethod
    def draws_due(self) -> tuple[float, ...]:
        """The scales of the draws that the next `Begin` must bring, in order."""

    @abstractmethod
    def step(self, event: Event) -> Effects:
        """Take one event other than a sample. An illegal one raises and changes nothing."""

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
