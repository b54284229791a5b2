"""States that earlier versions have stored, brought up to this one: a step for each version.

Nothing is guessed about the stream: what was taken in, noised and released is carried over as is.
And from rounds to relay: what was released stays so, as one first block.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from colme.errors import SnapshotError
from colme.protocol.stream import Stream
from colme.rules.release import EVEN, ReleaseSchedule

VERSION = 5


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot of any version as one of this version."""
    now, version = dict(data), data.get("version")
    if type(version) is not int:
        raise SnapshotError("version", type(version).__name__, "a whole number")
    if version > VERSION:
        expected = f"at most {VERSION}: a newer colme wrote this state; go on with that one"
        raise SnapshotError("version", version, expected)
    while now["version"] != VERSION:
        step = UPGRADES.get(now["version"])
        if step is None:
            known = ", ".join(map(str, [*UPGRADES, VERSION]))
            raise SnapshotError("version", now["version"], f"one of {known}")
        try:
            now = step(now)
        except (KeyError, TypeError, ValueError, AttributeError):
            # Not the content: it has exact sums in it, which no error may show.
            raise SnapshotError(
                "state", "something else", f"a state of version {version}"
            ) from None
    return now


def _in_parts(old: dict[str, Any]) -> dict[str, Any]:
    """3 -> 4: the stream apart from the rounds, the head says more, and blocks may be weighed."""
    state = dict(old["state"])
    stream = dict(state.pop("stream"))
    # All blocks weighed alike: what is closed is the plain sum, where the open block begins.
    stream |= {"opened": dict(stream["closed"]), "declared": 0.0}
    stream |= {"past_count": 0, "past_draws": 0, "incarnation": 0}
    return {
        "version": 4,
        # Version 3 did not name it, and let both open the same state. So with epsilon.
        "algorithm": None,
        "name": old["name"],
        "bounds": old["bounds"],
        "epsilon": None,
        "stream": stream,
        "exchange": state,
    }


_OF_TRACKING = ("weight", "excess", "input", "input_weight", "shared_rounds")
_OF_BOTH = ("shared", "released_trust")


def _without_tracking(old: dict[str, Any]) -> dict[str, Any]:
    """4 -> 5: what only `tracking` remembered of its rounds goes; its stream stays as it is."""
    algorithm, exchange = old["algorithm"], old.get("exchange")
    if exchange is None or algorithm not in (None, "paper", "tracking"):
        return old | {"version": 5}
    # Of a state that names none: where rounds were tracked, its consensus value is the numerator
    # of a mean, which `paper` must not go on from.
    if algorithm is None and exchange.get("shared_rounds", 0) > 0:
        algorithm = "tracking"
    peers = {name: _peer_without(peer) for name, peer in exchange.get("peers", {}).items()}
    exchange = _without(exchange, *_OF_TRACKING, *_OF_BOTH) | {"peers": peers}
    return old | {"version": 5, "algorithm": algorithm, "exchange": exchange}


def _peer_without(peer: dict[str, Any]) -> dict[str, Any]:
    """A neighbour, and its messages of a round."""
    kept = _without(peer, *_OF_TRACKING)
    for inbox in kept.keys() & {"now", "ahead"}:
        message = kept[inbox].get("consensus")
        if message is not None:
            kept[inbox] = kept[inbox] | {"consensus": _without(message, *_OF_TRACKING)}
    return kept


def _without(plain: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if name not in names}


UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    3: _in_parts,
    4: _without_tracking,
}
"""From each version to the next."""


def as_one_block(stream: Stream, after: ReleaseSchedule) -> Stream:
    """The stream of an agent whose samples all weighed alike, to go on by a schedule that weighs.

    What was released is one first block. It carries the noise of all blocks, so no sample gets
    noise twice. Its weight follows from its numbers of samples and draws, both public, and a record
    tells both. Closed blocks that wait for their noise belong to it, too: they take their draws
    when it is next published, and until then there is nothing to show. So does the open block if it
    has more samples already than the new schedule would have given it.
    """
    count, draws = stream.closed_count, stream.blocks + stream.blocks_due
    end = after.next_end(count)
    if end <= stream.count:
        count = end = stream.block_end
        draws += 1
    weights = after.weights(count, draws) if draws else EVEN
    return replace(
        stream,
        block_end=end if stream.count else 0,
        closed=stream.closed.times(weights),
        released=stream.released.times(weights),
        noise=stream.noise.times(weights),
        past_count=count,
        past_draws=draws,
    )
