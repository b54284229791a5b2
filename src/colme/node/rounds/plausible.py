"""Messages that are valid, yet nobody honest would send: they must not upset anybody's numbers."""

from colme.node.wire import Reason, Refused
from colme.protocol.messages import ConsensusMessage, ReleaseMessage, RoundMessage
from colme.protocol.rounds.exchange import RoundsAlgorithm
from colme.protocol.settings import Settings
from colme.rules.pooling import LARGEST_EXCESS

DEVIATIONS = 40.0
"""Standard deviations beyond the bounds where no released mean ever is (chance: below 1e-20)."""
HALF_RANGES = 1e12
"""So far out no shared mean ever is; its square still has room in a float."""

ROUNDING = 1e-9
"""An excess is an average of numbers of at least -1, up to this."""


def require_plausible(peer: str, message: RoundMessage, settings: Settings) -> None:
    """Raise Refused for an absurd mean, of a release or a shared one."""
    profile = settings.profile
    match message:
        case ReleaseMessage(release=release) if release is not None:
            # By its noise it may lie outside the bounds.
            far = profile.half_range + DEVIATIONS * release.variance**0.5
            if abs(release.mean - profile.midpoint) > far:
                expected = f"within {far:g} of {profile.midpoint:g}, as its variance allows"
                raise Refused(Reason.INVALID_VALUE, peer, "mean", release.mean, expected)
        case ConsensusMessage(value=value, weight=weight, excess=excess):
            # Without a weight it is the mean itself, which starts at 0, wherever the bounds are.
            algorithm = settings.algorithm
            weighted = isinstance(algorithm, RoundsAlgorithm) and algorithm.weighted
            weight = weight if weighted else 1.0
            far = weight * (HALF_RANGES * profile.half_range + abs(profile.midpoint))
            if not abs(value - weight * profile.midpoint) <= far:
                expected = f"a mean near {profile.midpoint:g}, and a weight that is not negative"
                raise Refused(
                    Reason.INVALID_VALUE, peer, "value, weight", (value, weight), expected
                )
            if excess is not None and not -1 - ROUNDING <= excess <= LARGEST_EXCESS:
                expected = f"-1 to {LARGEST_EXCESS:g}"
                raise Refused(Reason.INVALID_VALUE, peer, "excess", excess, expected)
        case _:
            pass
