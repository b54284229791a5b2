"""How far a node has come: what neighbours tell each other, and remember."""

from dataclasses import dataclass

from colme.errors import MessageError

LARGEST_CLAIM = 2**62
"""No neighbour may claim to have come further, so that there is always a next epoch to take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a node has come, as its neighbours remember it."""

    epoch: int
    round: int

    def __post_init__(self) -> None:
        for field in ("epoch", "round"):
            seen = getattr(self, field)
            if not 0 <= seen <= LARGEST_CLAIM:
                raise MessageError(field, seen, f"0 to {LARGEST_CLAIM}")
