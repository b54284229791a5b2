"""`tracking`: blocks, a tight rule, consensus that follows its inputs, and a pooled check.

The mathematics is in `colme.rules.pooling`; docs/tracking.md says what it is worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from colme.protocol.own_data import OwnData
from colme.protocol.rounds.exchange import InUse, RoundsAlgorithm
from colme.protocol.rounds.state import Peer, RoundState
from colme.rules.addition import added
from colme.rules.consensus import edge_weight, stepped_alpha
from colme.rules.decision import TightBernstein
from colme.rules.pooling import (
    FARTHEST,
    FIRST_ANSWER,
    LOUDEST,
    SMALLEST_VARIANCE,
    excess,
    forgetting,
    heard_excess,
    heard_numerator,
    largest_weight,
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
    def rule(self) -> TightBernstein:
        """No other is held to the bars of this algorithm."""
        return TightBernstein()

    def schedule_for(self, profile: Profile, origin: str) -> ReleaseSchedule:
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
        least = SMALLEST_VARIANCE * profile.half_range * profile.half_range
        variance = max(profile.released_variance(n, blocks), least)
        precision = public_precision(profile.half_range, profile.sigma2_dp, n, blocks)

        voices = [self._voice(state, profile.half_range, mine, *edge) for edge in in_use]
        numerator = state.consensus + added(
            one.edge * (one.numerator - one.mine * state.consensus) for one in voices
        )
        denominator = state.weight + added(
            one.edge * (one.denominator - one.mine * state.weight) for one in voices
        )
        state.excess = _gossiped(state, mine.mean, variance, voices, forgetting(since))

        alpha = stepped_alpha(state.age)
        value = precision * mine.mean
        # What is mixed in a round is of the round before: a new release is not yet in it.
        mixed_variance = variance * (precision / state.input_weight if state.input_weight else inf)
        state.consensus = tracked(alpha, value, state.input, numerator)
        state.weight = tracked(alpha, precision, state.input_weight, denominator)
        state.input, state.input_weight = value, precision

        state.trust = state.released_trust = 0.0
        worth = worth_sharing(
            sigma2=spread.estimate, sigma2_dp=profile.sigma2_dp, count=n, blocks=blocks
        )
        if in_use and denominator > 0 and since >= FIRST_ANSWER and worth and spread.certain:
            bias2 = state.excess * variance * precision / denominator
            mine_in_it = own_share(alpha, added(one.edge for one in voices))
            largest = max([state.class_size, *(size for size, _ in in_use)])
            left = surely_left(mine_in_it, largest) * mixed_variance
            state.shared = numerator / denominator
            state.shared_variance = max(mine_in_it, 1 / state.class_size) * mixed_variance
            state.shared_variance += max(0.0, bias2)

            def weighed(local: float, sigma2: float, count: int) -> float:
                if left >= sigma2 / count:
                    return 0.0
                return trust(
                    local=local, shared=state.shared, sigma2=sigma2, count=count, bias2=bias2
                )

            # The owner's exact mean and variance: they steer the answer, and nothing that is sent.
            state.trust = weighed(stream.mean, own.own_variance, stream.count)
            state.released_trust = weighed(mine.mean, spread.estimate, n)

    def forget(self, state: RoundState, mine: Release | None) -> None:
        """My own part alone, and no excess; I answer again once gossip has travelled."""
        state.consensus, state.weight = state.input, state.input_weight
        state.excess = state.trust = state.released_trust = 0.0
        state.shared_rounds = state.age = 0

    def _voice(
        self, state: RoundState, half_range: float, mine: Release, size: int, peer: Peer
    ) -> "_Voice":
        """What a neighbour says, as far as an honest one could say it."""
        assert peer.now.release is not None
        theirs = peer.now.release.release
        assert theirs is not None  # The edge is in use: both have released.
        largest = largest_weight(half_range, min(mine.count, theirs.count))
        denominator = min(max(peer.weight, 0.0), largest)
        numerator = peer.consensus
        if peer.weight > largest:
            numerator *= largest / peer.weight
        return _Voice(
            edge=edge_weight(state.class_size, size),
            numerator=heard_numerator(
                numerator, denominator, mine.mean, FARTHEST * self.rule.threshold(mine, theirs)
            ),
            denominator=denominator,
            mine=largest / state.weight if state.weight > largest else 1.0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Voice:
    """A neighbour's pair as it is mixed."""

    edge: float
    """W of the edge."""
    numerator: float
    denominator: float
    mine: float
    """The share of my own pair that takes part in this exchange."""


def _gossiped(
    state: RoundState, x_tilde: float, variance: float, voices: Sequence[_Voice], weight: float
) -> float:
    """This round's excess over what noise explains, taken into mine and all my neighbours'."""
    theirs = added(one.edge * one.denominator for one in voices)
    now = 0.0
    if theirs > 0:
        now = excess(x_tilde, added(one.edge * one.numerator for one in voices) / theirs, variance)
    everyone = [state.excess, *(_told(state, peer, weight) for peer in state.peers.values())]
    return pooled_excess(weight, now, added(everyone) / len(everyone))


def _told(state: RoundState, peer: Peer, weight: float) -> float:
    """What a neighbour gossiped in the last round; one who said nothing counts as if it agreed."""
    if peer.excess is None or peer.consensus_round != state.round - 1:
        return state.excess
    return heard_excess(peer.excess, state.excess, LOUDEST * weight)
