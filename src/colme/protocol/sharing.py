"""The two ways to come to a shared value and an answer: the paper's, and the one that tracks.

Both write into the agent's state: what to send (`consensus`, `weight`, `excess`), and the answer,
as a `shared` mean and how far to `trust` it against one's own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from colme.protocol.state import Peer, State
from colme.protocol.stream import Spread
from colme.rules.consensus import (
    AlphaSchedule,
    consensus,
    edge_weight,
    looks_no_larger_than_two,
    mixed,
)
from colme.rules.pooling import (
    FIRST_ANSWER,
    SMALLEST_VARIANCE,
    excess,
    forgetting,
    pooled_excess,
    public_precision,
    tracked,
    trust,
    worth_sharing,
)
from colme.rules.release import Release

if TYPE_CHECKING:
    from colme.protocol.agent import Settings

InUse = Sequence[tuple[int, Peer]]
"""The neighbours whose edge both ends use this round, with the class sizes they announced."""


def average(state: State, mine: Release, in_use: InUse, alpha: AlphaSchedule) -> None:
    """Algorithm 1, line 15 and the last branch."""
    mix = mixed(
        state.consensus,
        [(edge_weight(state.class_size, size), peer.consensus) for size, peer in in_use],
    )
    state.consensus = consensus(alpha(state.age), mine.mean, mix)
    sizes = [state.class_size, *(size for size, _ in in_use)]
    state.shared = state.consensus
    state.trust = 0.0 if looks_no_larger_than_two(sizes) else 1.0
    # Theorem 1: twice what averaging a class gives; that class has at least my neighbours in it.
    state.shared_variance = 2 * mine.variance / state.class_size


def track(
    state: State, x_tilde: float, in_use: InUse, settings: "Settings", spread: Spread
) -> None:
    """Tracking consensus with a pooled check (`colme.rules.pooling`)."""
    since = state.shared_rounds
    state.shared_rounds += 1
    stream, profile = state.stream, settings.profile.with_variance(spread.estimate)
    n, blocks = stream.released_count, stream.blocks
    variance = max(profile.released_variance(n, blocks), SMALLEST_VARIANCE)
    precision = public_precision(profile.half_range, profile.sigma2_dp, n, blocks)

    pairs = [(edge_weight(state.class_size, size), peer) for size, peer in in_use]
    numerator = mixed(state.consensus, [(w, peer.consensus) for w, peer in pairs])
    denominator = mixed(state.weight, [(w, peer.weight) for w, peer in pairs])
    state.excess = _gossiped(state, x_tilde, variance, pairs, forgetting(since))

    alpha = settings.alpha(state.age)
    value = precision * x_tilde
    state.consensus = tracked(alpha, value, state.input, numerator)
    state.weight = tracked(alpha, precision, state.input_weight, denominator)
    state.input, state.input_weight = value, precision

    state.trust = 0.0
    worth = worth_sharing(
        sigma2=spread.estimate, sigma2_dp=profile.sigma2_dp, count=n, blocks=blocks
    )
    if in_use and denominator > 0 and since >= FIRST_ANSWER and worth and spread.certain:
        own = settings.release_squares
        bias2 = state.excess * variance * precision / denominator
        state.shared = numerator / denominator
        state.shared_variance = variance / state.class_size + max(0.0, bias2)
        state.trust = trust(
            local=stream.mean,
            shared=state.shared,
            sigma2=stream.exact_variance(profile) if own else profile.sigma2,
            count=stream.count,
            bias2=bias2,
        )


def _gossiped(
    state: State,
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
