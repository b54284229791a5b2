"""Agents whose states are those of `tracking`, an algorithm of earlier versions."""

from dataclasses import dataclass
from typing import ClassVar

from colme.protocol.rounds.paper import Paper
from colme.rules.release import Blocks, Profile, ReleaseSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking(Paper):
    """Releases in even blocks that grow, with squares or without; it exchanges as `paper` does."""

    name: ClassVar[str] = "tracking"
    squares: bool = False

    @property
    def release_squares(self) -> bool:
        return self.squares

    def schedule_for(self, profile: Profile, origin: str) -> ReleaseSchedule:
        return Blocks(profile.epsilon)
