"""Who may speak on a board: those that are vouched for along pinned edges, or are on a roster.

An origin counts against the neighbour that brought it first. So whoever invents agents can invent
no more than the bound of one edge, and is known by what it vouched for.
"""

from collections.abc import Collection

from colme.node.contact import Contact
from colme.node.wire import Reason, Refused
from colme.protocol.board.record import Entry, Record

NOISE_DEVIATIONS = 40.0
"""Standard deviations of one sample's noise beyond the bounds: no released mean is ever there, as
noise of several blocks is less (chance: below 1e-20)."""


class Speakers:
    """What a board takes of a neighbour, and what not."""

    def __init__(
        self,
        *,
        behind: int,
        roster: Collection[str] | None,
        known: Collection[str],
    ) -> None:
        self._behind = behind
        self._roster = None if roster is None else frozenset(roster)
        self._known = frozenset(known)
        """Mine, and my neighbours' own: their certificates vouch for them."""

    def needs_a_voucher(self, origin: str) -> bool:
        """Whether it counts against whoever brings it."""
        return origin not in self._known

    def require_allowed(self, peer: Contact, entry: Entry, brings: Collection[str]) -> None:
        """Raise Refused for what must not get on the board.

        `brings`: the origins of its message that are new here, up to this one.
        """
        origin = entry.origin
        if not self.needs_a_voucher(origin):
            return
        if self._roster is not None and origin not in self._roster:
            expected = "an origin on my roster"
            raise Refused(Reason.UNKNOWN_ORIGIN, peer.name, "origin", origin, expected)
        vouched = len(peer.vouched_for) + len(brings)
        if self._roster is None and origin in brings and vouched > self._behind:
            seen = f"{origin}, one more than {self._behind}"
            expected = f"at most {self._behind} origins that came through it (origins.behind)"
            raise Refused(Reason.TOO_MANY_ORIGINS, peer.name, "origin", seen, expected)


def require_honest_mean(peer: Contact, entry: Entry) -> None:
    """Raise Refused for a mean that no honest author releases, by what it says of itself."""
    if not isinstance(entry, Record):
        return
    profile = entry.profile
    far = profile.half_range + NOISE_DEVIATIONS * profile.sigma2_dp**0.5
    if not abs(entry.mean - profile.midpoint) <= far:
        expected = f"within {far:g} of {profile.midpoint:g}, as its epsilon and bounds allow"
        raise Refused(Reason.INVALID_VALUE, peer.name, "mean", entry.mean, expected)
