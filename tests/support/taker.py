"""A node as its source sees it: somebody who takes samples and remembers how far that went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class Enough(Exception):  # noqa: N818 (it ends a run, nothing went wrong)
    """A file has no end: the run is over once it has handed over so many bytes."""


@dataclass
class Taker:
    """What a node keeps of its source."""

    until: int | None = None
    values: list[float] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    refused: list[tuple[str, int]] = field(default_factory=list)

    async def take(self, values: Sequence[float], marks: Mapping[str, int]) -> None:
        self.values += values
        self.marks |= marks
        self.batches += 1
        if self.until in marks.values():
            raise Enough

    def refuse(self, reason: str, line_number: int) -> None:
        self.refused.append((reason, line_number))
