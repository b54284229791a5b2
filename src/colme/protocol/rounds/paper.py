"""`paper`: Private-C-ColME as published, Algorithm 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from colme.errors import ConfigError
from colme.protocol.algorithm import Algorithm
from colme.protocol.board.identity import BoardIdentity
from colme.protocol.own_data import OwnData
from colme.protocol.rounds.exchange import Rounds
from colme.rules.consensus import AlphaSchedule, stepped_alpha
from colme.rules.decision import Bernstein, DecisionRule, PowerTheta, require_sound
from colme.rules.release import EVERY_SAMPLE, Profile, ReleaseSchedule

UNTUNED = Bernstein(PowerTheta(3, 1 / 5))
"""For those who know neither the degree nor the others' epsilon: Sec. V has it at r = 20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(Algorithm):
    """Noise on every sample, a decision rule of choice, and consensus that averages history."""

    name: ClassVar[str] = "paper"

    rule: DecisionRule = UNTUNED
    alpha: AlphaSchedule = stepped_alpha
    schedule: ReleaseSchedule = EVERY_SAMPLE
    """Where blocks end; the paper's have one sample each."""

    def __post_init__(self) -> None:
        if not isinstance(self.rule, DecisionRule):
            expected = "a DecisionRule, such as Bernstein(PowerTheta(3, 0.2))"
            raise ConfigError("rule", self.rule, expected)
        if not callable(self.alpha):
            raise ConfigError("alpha", self.alpha, "a function of the age, such as stepped_alpha")
        require_sound(self.rule)

    @property
    def release_squares(self) -> bool:
        """False: the paper takes the variance of the data as known."""
        return False

    def schedule_for(self, profile: Profile, origin: str) -> ReleaseSchedule:
        """As chosen."""
        return self.schedule

    def exchange(self, own: OwnData, neighbours: Sequence[str], identity: BoardIdentity) -> Rounds:
        """The rounds of one agent: neighbours know each other, and nothing needs to be signed."""
        return Rounds(own, neighbours, rule=self.rule, alpha=self.alpha)
