"""The seam between a node and its network: sessions, whoever opened them.

What stands above it knows neither sockets nor gRPC, and its time is the event loop's: with another
transport and another loop, nodes live in a simulated network.
"""

from collections.abc import Callable
from typing import Protocol

from colme.node.wire.codec import Refused


class Parted(Exception):  # noqa: N818 (it is no error)
    """A session is over, or was never opened; the reason in words."""


class PeerSession(Protocol):
    """A pair of streams of frames between this node and a neighbour that has proved who it is.

    Frames arrive in order, each whole and once, until the session is over. What is sent waits
    while the neighbour does not read; what the neighbour sends waits while nobody here receives.
    """

    peer: str

    async def send(self, frame: bytes) -> None:
        """Send a frame, once there is room for it; Parted if the session is over."""
        ...

    async def receive(self) -> bytes:
        """Return the next frame; Parted if the session is over."""
        ...

    async def close(self, why: str) -> None:
        """End the session after what was sent; whoever receives or sends here gets Parted."""
        ...


class Transport(Protocol):
    """Opens and takes sessions, with pinned neighbours alone."""

    async def start(self, kept_out: Callable[[Refused], None]) -> None:
        """Begin to listen; `kept_out` is told of callers that get no session."""
        ...

    async def stop(self) -> None:
        """Listen no longer, and end the sessions that others have opened."""
        ...

    async def dial(self, peer: str) -> PeerSession:
        """Open a session to a neighbour; Parted if it can't be reached, in bounded time."""
        ...

    async def accept(self) -> PeerSession:
        """Return the next session that a neighbour has opened."""
        ...
