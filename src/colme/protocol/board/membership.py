"""Whose records are taken: the neighbours', those that a neighbour introduces, or an allowlist's.

A publisher counts against the neighbour that brought it first. So whoever invents publishers can
invent no more than the limit of one edge, and is known by what it introduced.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import median_low

from colme.errors import Reason, RemoteProtocolError
from colme.protocol.board.record import Entry, Proof, Record

NOISE_DEVIATIONS = 40.0
"""Standard deviations of one sample's noise beyond the bounds: no released mean is ever there, as
noise of several blocks is less (chance: below 1e-20)."""
FEW = 6
"""Records that say nothing of what is usual."""
UNUSUAL = 1000
"""Times the usual count: nobody has so many more samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Whose records are taken beyond the neighbours' own. What is held and not admitted goes."""

    limit: int | None = None
    """Publishers that one neighbour may introduce; None for any number."""
    allowlist: frozenset[str] | None = None
    """These alone, whoever introduces them; None for all."""


class Membership:
    """The publishers on a board, and the neighbour that introduced each."""

    def __init__(self, *, pinned: Iterable[str], neighbours: Iterable[str]) -> None:
        self._policy = Policy()
        self._pinned = frozenset(pinned)
        """The agent's own publisher, and its neighbours': their certificates vouch for them."""
        self._introduced: dict[str, set[str]] = {name: set() for name in neighbours}
        self._via: dict[str, str | None] = {}
        self._newest_from: dict[str, str | None] = {}
        """Who brought what is held of a publisher, as far as it came since the start."""
        self._usual_count: int | None = None

    @property
    def via(self) -> Mapping[str, str | None]:
        """The neighbour that brought each publisher first; None for the agent itself."""
        return self._via

    @property
    def order(self) -> Mapping[str, int]:
        """The order of admission: first those that certificates vouch for, then who came first."""
        by_arrival = sorted(self._via, key=lambda origin: origin not in self._pinned)
        return {origin: place for place, origin in enumerate(by_arrival)}

    @property
    def introduced(self) -> Mapping[str, int]:
        """How many publishers on the board each neighbour brought first."""
        return {name: len(origins) for name, origins in self._introduced.items()}

    def is_new(self, origin: str) -> bool:
        """Whether a publisher would be here by the word of whoever brings it."""
        return origin not in self._via and origin not in self._pinned

    def require_admitted(self, peer: str, entry: Entry, brings: Collection[str]) -> None:
        """Raise for an entry that must not get on the board.

        `brings`: the new publishers of the same message, up to this one.
        """
        _require_possible_mean(peer, entry)
        origin, policy = entry.origin, self._policy
        if origin in self._pinned:
            return
        if not self._is_listed(origin):
            expected = "a publisher on my roster"
            raise RemoteProtocolError(peer, "origin", origin, expected, Reason.UNKNOWN_ORIGIN)
        limit, would_be = policy.limit, len(self._introduced[peer]) + len(brings)
        listed = policy.allowlist is not None
        if limit is not None and not listed and origin in brings and would_be > limit:
            seen = f"{origin}, one more than {limit}"
            expected = f"at most {limit} publishers that came through it (origins.behind)"
            raise RemoteProtocolError(peer, "origin", seen, expected, Reason.TOO_MANY_ORIGINS)

    def notes(self, peer: str, entry: Entry, held: Entry | None) -> Iterable[RemoteProtocolError]:
        """Yield what is harmless, yet may tell of a neighbour that is not."""
        # Others may have been quicker than an honest neighbour; it never falls behind itself.
        is_its_own = self._newest_from.get(entry.origin) == peer
        is_older = held is not None and entry.order < held.order
        if is_its_own and is_older and not isinstance(entry, Proof):
            seen = f"{entry.order} of {entry.origin}"
            yield RemoteProtocolError(peer, "record", seen, "a newer one", Reason.OLD_RECORD)
        usual = self._usual_count
        if isinstance(entry, Record) and usual is not None and entry.count > UNUSUAL * usual:
            # It is taken for no more than a few times the median where it counts.
            seen = f"{entry.count} of {entry.origin}"
            yield RemoteProtocolError(peer, "count", seen, "a usual one", Reason.LARGE_COUNT)

    def arrive(self, origin: str, via: str | None) -> None:
        """A record got on the board; the neighbour that brought its publisher first stays."""
        self._newest_from[origin] = via
        first = self._via.setdefault(origin, via)
        if first is not None and origin not in self._pinned:
            self._introduced[first].add(origin)

    def look_at(self, board: Iterable[Entry]) -> None:
        """Forget publishers that have no place on the board any more, and learn what is usual."""
        entries = list(board)
        for origin in self._via.keys() - {entry.origin for entry in entries}:
            via = self._via.pop(origin)
            self._newest_from.pop(origin, None)
            if via is not None:
                self._introduced[via].discard(origin)
        counts = [entry.count for entry in entries if isinstance(entry, Record)]
        self._usual_count = median_low(counts) if len(counts) >= FEW else None

    def resume(self, stored: Collection[str], via: Mapping[str, str | None]) -> list[str]:
        """Begin anew with a stored board, and return the publishers that may stay.

        One stays if the neighbour that introduced it is a neighbour still. Nobody is known to have
        introduced those that were stored without it: they stay.
        """
        self._via.clear()
        for origins in self._introduced.values():
            origins.clear()
        in_order = dict.fromkeys([*(one for one in via if one in stored), *stored])
        staying = [one for one in in_order if via.get(one) is None or via[one] in self._introduced]
        for origin in staying:
            self.arrive(origin, via.get(origin))
        return staying

    def adopt(self, policy: Policy, board: Iterable[Entry]) -> list[str]:
        """Take a policy over, and return the publishers on the board that it does not admit."""
        self._policy = policy
        return [
            entry.origin
            for entry in board
            if entry.origin not in self._pinned and not self._is_listed(entry.origin)
        ]

    def _is_listed(self, origin: str) -> bool:
        return self._policy.allowlist is None or origin in self._policy.allowlist


def _require_possible_mean(peer: str, entry: Entry) -> None:
    """Refuse a mean that no honest publisher releases, by what it says of itself."""
    if not isinstance(entry, Record):
        return
    profile = entry.profile
    far = profile.half_range + NOISE_DEVIATIONS * profile.sigma2_dp**0.5
    if not abs(entry.mean - profile.midpoint) <= far:
        expected = f"within {far:g} of {profile.midpoint:g}, as its epsilon and bounds allow"
        raise RemoteProtocolError(peer, "mean", entry.mean, expected, Reason.INVALID_VALUE)
