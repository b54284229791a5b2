"""All that an agent remembers of its exchange of boards, as plain values: what a snapshot holds."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class BoardState:
    """It may be lost: neighbours have it too. What it is owed to them is found out by digests."""

    round: int = 0
    """The last tick."""
    entries: dict[str, str] = field(default_factory=dict)
    """The board: the bytes of each origin's entry, in hex."""
