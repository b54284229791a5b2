"""What neighbours say to each other about their boards. Valid by construction."""

from dataclasses import dataclass

from colme.errors import MessageError
from colme.protocol.board.board import Page
from colme.protocol.board.record import Entry

LARGEST_BATCH = 256
"""Entries in a message: about 50 kB of records, 330 kB if all are the longest proofs."""


@dataclass(frozen=True, slots=True)
class RecordsMessage:
    """Entries that you may lack, my own or others'."""

    entries: tuple[Entry, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.entries) <= LARGEST_BATCH:
            raise MessageError("entries", len(self.entries), f"1 to {LARGEST_BATCH}")
        # Then whether an entry is news does not depend on the others of its message.
        if len({entry.origin for entry in self.entries}) < len(self.entries):
            raise MessageError("entries", "an origin twice", "each origin once")


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestMessage:
    """A page of what I hold. Unless it is an answer, answer it."""

    page: Page
    answer: bool


BoardMessage = RecordsMessage | DigestMessage
