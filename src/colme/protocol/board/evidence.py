"""All that an answer may rest on: for the owner alone, since its own totals are exact."""

from dataclasses import dataclass

from colme.protocol.board.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """My own data, exactly, and everybody's releases, mine among them."""

    round: int
    """The last tick."""
    own_mean: float
    """Exact, and never sent."""
    own_count: int
    own_variance: float
    """Of a sample: the exact one of the samples, with one that was declared; never sent."""
    known: bool
    """Whether one was declared."""
    bounds: tuple[float, float]
    origin: str
    """Mine: that of the record which shares its data with `own_mean`."""
    records: tuple[Record, ...]
    """Of all origins that are not barred, in order of origin."""
