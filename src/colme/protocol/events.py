"""What an agent is told, and the work it asks for in return."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from colme.errors import RemoteProtocolError
from colme.protocol.board.membership import Policy as Policy
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
    """A neighbour that was away is back: wait for it again, from the next round on.

    A hello of it also says how often it has started (`epoch`, 1 or more) and the round it is in.
    """

    peer: str
    epoch: int = 0
    round: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When rounds or ticks begin, and how long neighbours are waited for. Times are in seconds."""

    interval: float
    """Between two ticks, or two rounds by the clock; rounds as fast as neighbours deliver need
    none."""
    deadline: float
    """For which an exchange waits, or a restored agent for answers."""
    clock: float | None = None
    """When round 1 begins, for rounds by the clock: round k begins k - 1 intervals later."""
    last: int | None = None
    """The last round or tick of a trial."""
    always: bool = False
    """Whether ticks begin though there is no news: in a trial, whose samples come with ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The neighbours have answered, or were waited for: from now on `due` says what to begin.

    An agent that gets no `Start` begins nothing by itself: its caller says `Begin` and `Deadline`.
    """

    pace: Pace
    round: int = 0
    """The latest round that a neighbour is in."""
    after: int = 0
    """No round up to this one may begin: a state that was lost may have had it."""


@dataclass(frozen=True, slots=True)
class ClockJumped:
    """The wall clock gained (or lost) so many seconds beside the time that really passed."""

    seconds: float


Event = Observe | Begin | Received | Deadline | Returned | Start | Policy | ClockJumped

Due = Begin | Deadline
"""What an agent wants to be told now; a `Begin` still lacks its noise."""


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
    hello: bool = False
    """Whether to say hello to all neighbours again: they have stopped waiting for this agent."""
    changed: tuple[str, ...] = ()
    """Publishers of which the board holds something newer than before."""
    refused: tuple[RemoteProtocolError, ...] = ()
    """What was not taken of a message whose rest was."""
    noted: tuple[RemoteProtocolError, ...] = ()
    """What was harmless, yet may tell of a neighbour that is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeStatus:
    """How an exchange is, in counts and names only; None for what its kind does not have."""

    phase: str | None = None
    """The exchange of a round that is open."""
    awaited: frozenset[str] = frozenset()
    """The neighbours whose message it waits for."""
    class_size: int | None = None
    """How many look alike, this agent included."""
    trust: float | None = None
    """The weight of what is shared in the answer, as far as releases tell."""
    suspects: frozenset[str] | None = None
    """The neighbours that are not waited for."""
    accepted: frozenset[str] | None = None
    """The neighbours that look to be of the same class."""
    late: Mapping[str, int] | None = None
    """How many messages of each neighbour came after their exchange."""
    records: int | None = None
    """Records on the board."""
    blocked: tuple[str, ...] = ()
    """Publishers that contradict themselves."""
    introduced: Mapping[str, int] = field(default_factory=dict)
    """How many publishers each neighbour brought first."""
