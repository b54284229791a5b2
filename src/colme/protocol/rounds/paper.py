"""`paper`: Private-C-ColME as published, Algorithm 1."""

from dataclasses import dataclass
from typing import ClassVar

from colme.errors import ConfigError
from colme.protocol.own_data import OwnData
from colme.protocol.rounds.exchange import InUse, RoundsAlgorithm
from colme.protocol.rounds.state import RoundState
from colme.rules.consensus import (
    AlphaSchedule,
    consensus,
    edge_weight,
    looks_no_larger_than_two,
    mixed,
    next_age,
    stepped_alpha,
)
from colme.rules.decision import Bernstein, DecisionRule, PowerTheta, require_sound
from colme.rules.release import EVERY_SAMPLE, Profile, Release, ReleaseSchedule

UNTUNED = Bernstein(PowerTheta(3, 1 / 5))
"""For those who know neither the degree nor the others' epsilon: Sec. V has it at r = 20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(RoundsAlgorithm):
    """Noise on every sample, a decision rule of choice, and consensus that averages history."""

    name: ClassVar[str] = "paper"

    rule: DecisionRule = UNTUNED
    alpha: AlphaSchedule = stepped_alpha
    schedule: ReleaseSchedule = EVERY_SAMPLE
    """Where blocks end; the paper's have one sample each."""
    release_squares: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.rule, DecisionRule):
            expected = "a DecisionRule, such as Bernstein(PowerTheta(3, 0.2))"
            raise ConfigError("rule", self.rule, expected)
        if not callable(self.alpha):
            raise ConfigError("alpha", self.alpha, "a function of the age, such as stepped_alpha")
        require_sound(self.rule)

    def schedule_for(self, profile: Profile, origin: str) -> ReleaseSchedule:
        """As chosen."""
        return self.schedule

    def aged(self, age: int, changed: bool) -> int:
        """A topology change resets it to 1."""
        return next_age(age, changed)

    def share(self, state: RoundState, own: OwnData, mine: Release, in_use: InUse) -> None:
        """Algorithm 1, line 15 and the last branch."""
        mix = mixed(
            state.consensus,
            [(edge_weight(state.class_size, size), peer.consensus) for size, peer in in_use],
        )
        state.consensus = consensus(self.alpha(state.age), mine.mean, mix)
        sizes = [state.class_size, *(size for size, _ in in_use)]
        state.shared = state.consensus
        state.trust = 0.0 if looks_no_larger_than_two(sizes) else 1.0
        state.released_trust = state.trust
        # Theorem 1: twice what averaging a class gives; that class has at least my neighbours.
        state.shared_variance = 2 * mine.variance / state.class_size

    def forget(self, state: RoundState, mine: Release | None) -> None:
        """From my release, not from 0 as in line 1: neighbours that have come far would feel it."""
        state.consensus = 0.0 if mine is None else mine.mean
        state.trust = state.released_trust = 0.0
        state.age = 0
