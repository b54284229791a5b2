"""What leaves an agent, in words: every message, with what it is not allowed to show beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Record
from colme.protocol.messages import ConsensusMessage, Message, ReleaseMessage, SizeMessage


@dataclass(frozen=True, slots=True)
class Said:
    """What a message says."""

    words: str
    released: float | None = None
    """The sender's own released mean, where the message has it."""
    count: int = 0
    """The samples that it is of: the first so many."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that left an agent, to one neighbour or to several alike."""

    round: int
    to: tuple[str, ...]
    said: Said
    exact: float | None
    """The mean of the same samples without noise, which stays inside; None where none is told."""


def said(message: Message, sender: str, names: Mapping[str, str]) -> Said:
    """In words; `names` are those of origins, the sender's own among them."""
    match message:
        case ReleaseMessage(release=release):
            if release is None:
                return Said("nothing released yet")
            return Said(f"released mean of {release.count} samples", release.mean, release.count)
        case SizeMessage(size=size, accepts=accepts):
            return Said(f"{size} look alike here; you {'do' if accepts else 'do not'}")
        case ConsensusMessage(value=value):
            return Said(f"consensus value {value:.4g}")
        case RecordsMessage(entries=entries):
            return _records(entries, sender, names)
        case DigestMessage(answer=answer):
            return Said("digest: which records I hold" + (", as asked" if answer else ""))
        case _:
            assert_never(message)


def _records(entries: tuple[object, ...], sender: str, names: Mapping[str, str]) -> Said:
    known = [(names.get(one.origin, "?"), one) for one in entries if isinstance(one, Record)]
    own = next((one for name, one in known if name == sender), None)
    others = sorted(
        (name for name, _ in known if name != sender), key=lambda name: (len(name), name)
    )
    passed_on = f"passes on {len(others)}: of {', '.join(others)}" if others else ""
    if own is None:
        return Said(passed_on or "a proof that somebody signed two records")
    mine = f"its record, the released mean of {own.count} samples"
    return Said(f"{mine}; {passed_on}" if passed_on else mine, own.mean, own.count)
