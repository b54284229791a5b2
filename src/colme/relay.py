"""`relay`: everybody's releases reach everybody, and the answer is a posterior mean.

What is exchanged is in `colme.protocol.relay`, what follows from it in `colme.inference`;
docs/relay.md says what it is worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from colme.errors import ConfigError
from colme.protocol.board.board import CAPACITY
from colme.protocol.board.identity import BoardIdentity
from colme.protocol.board.record import weighed_blocks
from colme.protocol.events import Estimate
from colme.protocol.own_data import OwnData
from colme.protocol.relay import BoardAlgorithm, BoardExchange, Evidence
from colme.rules.release import Profile, ReleaseSchedule

if TYPE_CHECKING:
    from colme.inference.answers import Own


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay(BoardAlgorithm):
    """Learns from all whom a path of neighbours connects, from the first releases on."""

    name: ClassVar[str] = "relay"

    release_squares: bool = True
    """Without, everybody's variance has to be right as it is declared."""
    any_bounds: bool = False
    """Use records with other bounds, too: where every class has its own, as in the paper, yet all
    measure the same thing in the same unit."""
    capacity: int = CAPACITY
    """Origins on a board; beyond it, a random sample of them, the same everywhere."""

    def __post_init__(self) -> None:
        if not (type(self.capacity) is int and self.capacity >= 1):
            expected = "a whole number: room for at least 1 origin"
            raise ConfigError("capacity", self.capacity, expected)

    def schedule_for(self, profile: Profile, origin: str) -> ReleaseSchedule:
        """Blocks that double early, weighed by what is public of each."""
        return weighed_blocks(profile.epsilon, origin)

    def exchange(
        self, own: OwnData, neighbours: Sequence[str], identity: BoardIdentity
    ) -> BoardExchange:
        """The board of one agent."""
        return BoardExchange(self, own, neighbours, identity, capacity=self.capacity)

    def answer(self, evidence: Evidence, warm: object) -> tuple[Estimate, object]:
        """Of my mean, given my exact one and a prior learned from the records."""
        # Not before: numpy is an eighth of a node's memory, and most nodes are hardly ever asked.
        from colme.inference.answers import posterior
        from colme.inference.mixture import Models

        learned = warm if isinstance(warm, Models) else None
        found = posterior(
            self.own(evidence), evidence.records, warm=learned, admitted=evidence.admitted
        )
        estimate = Estimate.around(
            found.value,
            found.margin,
            evidence.bounds,
            round=evidence.round,
            alone=evidence.own_mean,
            class_size=round(found.class_size),
            trust=found.trust,
        )
        return estimate, found.models

    def own(self, evidence: Evidence) -> "Own":
        """My side of it: never sent."""
        from colme.inference.answers import Own

        return Own(
            mean=evidence.own_mean,
            count=evidence.own_count,
            variance=evidence.own_variance,
            known=evidence.known,
            bounds=evidence.bounds,
            origin=evidence.origin,
            any_bounds=self.any_bounds,
        )
