"""What a state was made for: to be alike wherever it is opened, or changed as a whole."""

from typing import NamedTuple

from colme.node.state.stored import Stored
from colme.protocol.settings import Settings


class Difference(NamedTuple):
    """A setting that a state has otherwise."""

    setting: str
    seen: object
    stored: object


def differences(stored: Stored, settings: Settings) -> list[Difference]:
    """All that a state has otherwise than these settings: its noise was scaled by what it has."""
    snapshot, algorithm = stored.snapshot or {}, settings.algorithm
    stream = snapshot.get("stream", {})
    # Squares of blocks noised without them have no noise. Before the first block it is open.
    squares = stream["with_squares"] if stream.get("blocks") else algorithm.release_squares
    compared = (
        Difference("name", settings.name, stored.name),
        Difference("agreed.bounds", settings.profile.bounds, stored.bounds),
        Difference("privacy.epsilon", settings.profile.epsilon, stored.epsilon),
        # 0.1.0 did not name its algorithm.
        Difference("agreed.algorithm", algorithm.name, snapshot.get("algorithm") or algorithm.name),
        Difference("privacy.sigma2", _variance(algorithm.release_squares), _variance(squares)),
    )
    return [one for one in compared if one.seen != one.stored]


def _variance(squares: bool) -> str:
    return "a variance to be learned" if squares else "a known variance"
