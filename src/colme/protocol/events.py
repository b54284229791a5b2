"""What an agent is told, and the work it asks for in return."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from colme.protocol.messages import Message


@dataclass(frozen=True, slots=True)
class Observe:
    """A sample arrived."""

    value: float


@dataclass(frozen=True, slots=True)
class Begin:
    """A round begins. `noise`: one draw for each of `Agent.draws_due`, in lattice steps."""

    round: int
    noise: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Received:
    """A neighbour's message arrived."""

    peer: str
    message: Message


@dataclass(frozen=True, slots=True)
class Deadline:
    """The open exchange has waited long enough: go on with what is there."""


@dataclass(frozen=True, slots=True)
class Returned:
    """A neighbour that was away is back: wait for it again, from the next round on."""

    peer: str


Event = Observe | Begin | Received | Deadline | Returned


TOGETHER = 0.005
"""The least trust that is more than nothing: what is shown as 0.00 is not together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The owner's answer, in the words of a node's. None of it is ever sent.

    The true mean lies between `low` and `high` in about 95% of cases (`colme.protocol.own_data`).
    `trust` is the weight of what is shared in `value`; below `TOGETHER` it is not `collaborative`.
    """

    round: int
    value: float
    low: float
    high: float
    alone: float
    """What it would be without the others: the exact mean of the samples."""
    class_size: int
    trust: float

    @classmethod
    def around(
        cls, value: float, margin: float, bounds: tuple[float, float], **rest: Any
    ) -> "Estimate":
        """No mean lies beyond the bounds. Noise may carry a value there: it is in its interval."""
        lo, hi = bounds
        low, high = min(value, max(lo, value - margin)), max(value, min(hi, value + margin))
        return cls(value=value, low=low, high=high, **rest)

    @property
    def collaborative(self) -> bool:
        """Whether others have a part in it."""
        return self.trust >= TOGETHER


class Part(StrEnum):
    """A part of an agent's state that is stored as a whole. All together are its snapshot."""

    STREAM = "stream"
    """The samples taken in and what has been released of them: never to be lost, nor to be put
    back to an older one, since that would noise samples twice."""
    EXCHANGE = "exchange"
    """What it has told its neighbours and heard from them."""


EVERYTHING = frozenset(Part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Save the parts of the agent's snapshot that `persist` names, all in one step, then `send`."""

    persist: frozenset[Part] = frozenset()
    send: tuple[tuple[str, Message], ...] = ()
