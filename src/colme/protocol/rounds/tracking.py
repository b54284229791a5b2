"""`tracking`: blocks, a tight rule, consensus that follows its inputs, and a pooled check.

The mathematics is in `colme.rules.pooling`; docs/recommended.md says what it is worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from colme.protocol.own_data import OwnData
from colme.protocol.rounds.exchange import InUse, RoundsAlgorithm
from colme.protocol.rounds.state import Peer, RoundState
from colme.rules.consensus import edge_weight, mixed, stepped_alpha
from colme.rules.decision import DecisionRule, TightBernstein
from colme.rules.pooling import (
    FIRST_ANSWER,
    SMALLEST_VARIANCE,
    excess,
    forgetting,
    own_share,
    pooled_excess,
    public_precision,
    softened_age,
    surely_left,
    tracked,
    trust,
    worth_sharing,
)
from colme.rules.release import Blocks, Profile, Release, ReleaseSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking(RoundsAlgorithm):
    """Private, yet as good as public once classes are told apart; nothing to tune."""

    name: ClassVar[str] = "tracking"
    weighted: ClassVar[bool] = True

    release_squares: bool = False

    @property
    def rule(self) -> DecisionRule:
        """No other is held to the bars of this algorithm."""
        return TightBernstein()

    def schedule_for(self, profile: Profile) -> ReleaseSchedule:
        """Blocks that grow."""
        return Blocks(profile.epsilon)

    def aged(self, age: int, changed: bool) -> int:
        """A topology change sets it back to a quarter."""
        return softened_age(age, changed)

    def share(self, state: RoundState, own: OwnData, mine: Release, in_use: InUse) -> None:
        """Take my latest release into what is shared, and weigh that against my exact mean."""
        since = state.shared_rounds
        state.shared_rounds += 1
        spread, stream = own.spread, own.stream
        profile = own.profile.with_variance(spread.estimate)
        n, blocks = stream.released_count, stream.blocks
        variance = max(profile.released_variance(n, blocks), SMALLEST_VARIANCE)
        precision = public_precision(profile.half_range, profile.sigma2_dp, n, blocks)

        pairs = [(edge_weight(state.class_size, size), peer) for size, peer in in_use]
        numerator = mixed(state.consensus, [(w, peer.consensus) for w, peer in pairs])
        denominator = mixed(state.weight, [(w, peer.weight) for w, peer in pairs])
        state.excess = _gossiped(state, mine.mean, variance, pairs, forgetting(since))

        alpha = stepped_alpha(state.age)
        value = precision * mine.mean
        # What is mixed in a round is of the round before: a new release is not yet in it.
        mixed_variance = variance * (precision / state.input_weight if state.input_weight else inf)
        state.consensus = tracked(alpha, value, state.input, numerator)
        state.weight = tracked(alpha, precision, state.input_weight, denominator)
        state.input, state.input_weight = value, precision

        state.trust = 0.0
        worth = worth_sharing(
            sigma2=spread.estimate, sigma2_dp=profile.sigma2_dp, count=n, blocks=blocks
        )
        # The owner's exact mean and variance: they steer the answer, and nothing that is sent.
        local_variance = own.own_variance / stream.count
        largest = max([state.class_size, *(size for size, _ in in_use)])
        my_share = own_share(alpha, sum(w for w, _ in pairs))
        ready = in_use and denominator > 0 and since >= FIRST_ANSWER and worth and spread.certain
        if ready and surely_left(my_share, largest) * mixed_variance < local_variance:
            bias2 = state.excess * variance * precision / denominator
            state.shared = numerator / denominator
            left = max(my_share, 1 / state.class_size)
            state.shared_variance = left * mixed_variance + max(0.0, bias2)
            state.trust = trust(
                local=stream.mean,
                shared=state.shared,
                sigma2=own.own_variance,
                count=stream.count,
                bias2=bias2,
            )


def _gossiped(
    state: RoundState,
    x_tilde: float,
    variance: float,
    pairs: Sequence[tuple[float, Peer]],
    weight: float,
) -> float:
    """This round's excess over what noise explains, taken into mine and all my neighbours'."""
    theirs = sum(w * peer.weight for w, peer in pairs)
    now = 0.0
    if theirs > 0:
        now = excess(x_tilde, sum(w * peer.consensus for w, peer in pairs) / theirs, variance)
    told = [peer.excess for peer in state.peers.values()]
    everyone = [state.excess, *(state.excess if one is None else one for one in told)]
    return pooled_excess(weight, now, sum(everyone) / len(everyone))
