"""Connections to the owner's side: so many at a time, and none that keeps the node waiting."""

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""In which a client has to send a whole request, and to take in the answer."""


class BoundedConnection(H11Protocol):
    """One of `most`. Where one more comes, that ends whose client has been awaited longest.

    So whoever asks at once is answered, however many others hold a connection and are silent.
    `cut` is told why a connection was ended from here.
    """

    def __init__(self, *, most: int, cut: Callable[[str], None], **rest: Any) -> None:
        super().__init__(**rest)
        self._most = most
        self._cut = cut
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            self._make_room()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request, a whole one, or several."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """The client's turn again: it has as long for the next request."""
        self._stop_waiting()
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        self._stop_waiting()
        self._watch()

    def _watch(self) -> None:
        """Wait for the client, from the first moment on that it is its turn; a byte is no turn."""
        whole = self.conn.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)
        answering = self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY)
        if whole and answering and not self.flow.write_paused:
            self._stop_waiting()
        elif self._patience is None and self in self.connections:
            self._patience = self.loop.call_later(
                REQUEST_SECONDS, self._end, f"no whole request within {REQUEST_SECONDS:g} s"
            )

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _make_room(self) -> None:
        idle = {
            one: one._patience.when()
            for one in self.connections
            if isinstance(one, BoundedConnection) and one._patience is not None
        }
        # Where the node is at work for all others, it is the new one that has to go.
        longest = min(idle, key=idle.__getitem__, default=self)
        longest._end(f"more than {self._most} connections")

    def _end(self, why: str) -> None:
        self._cut(why)
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()
