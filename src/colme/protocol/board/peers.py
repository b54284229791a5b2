"""What each neighbour may lack, until it is sent."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from colme.protocol.board.record import Entry


@dataclass(slots=True)
class Owed:
    """What to send a neighbour at the next tick. It need not survive a crash: a digest finds out.

    Origins, not entries: by the time they are sent there may be newer ones. So nothing is owed
    twice, and all of it is never more than a board has.
    """

    digest: bool = True
    """All that I hold, in short: I do not know what it has."""
    answer: bool = False
    """The same, because it asked: it will not answer again."""
    pages: int = 0
    """Of its digests, since the last tick."""
    _origins: dict[str, None] = field(default_factory=dict)
    """In the order in which they came."""
    _sent: dict[str, Entry] = field(default_factory=dict)
    """What it was sent last of each, since it was last away: a digest may have crossed it."""
    yields: bool = False
    """Where both of us have the same news at the same time, it tells me: I wait for a tick."""
    _crossed: set[str] = field(default_factory=set)
    """Origins whose last news we told each other at the same time: it has them when I have them."""
    _waiting: dict[str, bool] = field(default_factory=dict)
    """News of these, which it probably has: whether a tick has passed. At the next one they are
    owed after all, unless it has told me."""

    def __len__(self) -> int:
        """Of how many origins there is anything in mind."""
        return max(len(self._origins), len(self._sent))

    def add(self, origins: Iterable[str]) -> None:
        """It may lack these; what was owed already keeps its place."""
        for origin in origins:
            if self.yields and origin in self._crossed and origin not in self._origins:
                self._waiting.setdefault(origin, False)
            else:
                self._origins.setdefault(origin)

    def drop(self, entry: Entry) -> None:
        """It turned out to have what I have: this, as the board holds it."""
        self._origins.pop(entry.origin, None)
        self._waiting.pop(entry.origin, None)
        if self.is_sent(entry):
            self._crossed.add(entry.origin)

    @property
    def is_waiting(self) -> bool:
        """Whether something is owed at a later tick, unless it tells me before."""
        return bool(self._waiting)

    def begin_tick(self) -> None:
        """Whoever was waited for in vain may lack what I have, now and next time."""
        in_vain = [origin for origin, waited in self._waiting.items() if waited]
        self._crossed.difference_update(in_vain)
        self._origins.update(dict.fromkeys(in_vain))
        self._waiting = {origin: True for origin, waited in self._waiting.items() if not waited}

    def keep_within(self, held: Container[str]) -> None:
        """Forget what I do not hold any more."""
        self._origins = {origin: None for origin in self._origins if origin in held}
        self._waiting = {origin: on for origin, on in self._waiting.items() if origin in held}
        self._sent = {origin: sent for origin, sent in self._sent.items() if origin in held}
        self._crossed = {origin for origin in self._crossed if origin in held}

    def start_anew(self) -> None:
        """It was away: nobody knows what of all that was sent has come to it."""
        self._origins.clear()
        self._waiting.clear()
        self._sent.clear()
        self._crossed.clear()
        self.digest = True

    def note_sent(self, entry: Entry) -> None:
        """It is on its way, or was lost with the session."""
        self._sent[entry.origin] = entry

    def is_sent(self, entry: Entry | None) -> bool:
        """Whether this, as the board holds it, was the last that it was sent of its origin."""
        return entry is not None and self._sent.get(entry.origin) is entry

    def forget_sent(self) -> None:
        """It asks anew: what came before may be lost."""
        self._sent.clear()

    def take(self, limit: int) -> list[str]:
        """The first of them, which are owed no longer."""
        taken = [origin for origin, _ in zip(self._origins, range(limit), strict=False)]
        for origin in taken:
            del self._origins[origin]
        return taken
