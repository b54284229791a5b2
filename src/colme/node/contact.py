"""A neighbour: all that a node knows of one, in one record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from colme.node.config import NodeConfig
from colme.node.wire.codec import Standing

NEVER = Standing(epoch=0, round=0)


@dataclass(slots=True, kw_only=True)
class Contact:
    """Shared by those who speak with it, hear it, drive rounds with it and store what it told."""

    name: str
    address: str = ""

    # How far it has come. It must not be let in with less than this: its state would be an old one.
    standing: Standing = NEVER
    standing_is_stored: bool = True
    booted: tuple[int, int] = (0, 0)
    """The epoch of its last hello, and what its process drew then: two are two with one state."""

    is_copied: bool = False
    """Whether a second process with its state was turned away since its last start."""

    # The session with it.
    received: tuple[int, int] = (0, 0)
    """The last of its frames that was taken in, and the epoch which that number is of."""
    unheard: bool = True
    """Whether it has yet to answer, or to fail to, since this start."""
    unsure: bool = False
    """Whether it has yet to say that my state is the newest."""
    doubts_me: bool = False
    """Whether it has turned me away as an old state or a copy, and not let me in since."""
    is_audience: bool = False
    """Whether it let me in: what is stored from then on it may have been told."""
    round_when_met: int = 0
    """Where it was when it let me in."""
    last_error: str | None = None
    """Why there is no session."""

    @classmethod
    def all_of(cls, config: NodeConfig, standings: Mapping[str, Standing]) -> dict[str, Self]:
        """The configured ones, with what is stored of each, in order of their names."""
        return {
            one.name: cls(
                name=one.name, address=one.address, standing=standings.get(one.name, NEVER)
            )
            for one in sorted(config.neighbours, key=lambda one: one.name)
        }

    def remember(self, standing: Standing) -> None:
        """Keep how far it is, with the next commit."""
        self.standing = standing
        self.standing_is_stored = False

    def heard_in(self, round_: int) -> None:
        """A message tells as much as a hello."""
        if round_ > self.standing.round:
            self.remember(Standing(epoch=self.standing.epoch, round=round_))


Contacts = Mapping[str, Contact]


def names(peers: Iterable[Contact]) -> list[str]:
    """For words to the owner."""
    return [one.name for one in peers]
