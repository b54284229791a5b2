"""What was read off a cell, held against its bar and its goal."""

from dataclasses import dataclass
from typing import Self

from colme.sim.figures.readings import Measured, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One of a table, of a picture, and of the JSON."""

    cell: str
    what: str
    value: float
    error: float
    at_worst: float
    where: str
    bar: float
    goal: float
    meets_bar: bool
    meets_goal: bool

    @classmethod
    def of(cls, cell: str, reading: Reading, measured: Measured) -> Self:
        """As bad as it may well be is what counts."""
        return cls(
            cell=cell,
            what=reading.words,
            value=measured.value,
            error=measured.error,
            at_worst=measured.at_worst,
            where=measured.where,
            bar=reading.bar,
            goal=reading.goal,
            meets_bar=reading.meets(measured, reading.bar),
            meets_goal=reading.meets(measured, reading.goal),
        )

    @property
    def word(self) -> str:
        """What it comes to."""
        return ("fails", "passes", "goal")[self.meets_bar + self.meets_goal]
