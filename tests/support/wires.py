"""A wire between two nodes: what crosses it is counted, and it can be cut."""

import asyncio
from typing import Self

PIECE = 2**16


class Wire:
    """Listens at an address of its own and passes on to another, whoever calls."""

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._state = "whole"
        self._ends: set[asyncio.StreamWriter] = set()
        self._calls: set[asyncio.Task[None]] = set()
        self._left: int | None = None
        """Bytes that may still cross it towards the target before it hangs up."""
        self.bytes = 0
        """That have crossed it, both ways."""
        self.breaks = 0
        """How often it has hung up."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for call in self._calls:
            call.cancel()
        self._hang_up()

    def cut(self, *, silent: bool) -> None:
        """Nothing crosses from now on: it hangs up on whoever calls or, `silent`, tells nobody."""
        self._state = "silent" if silent else "cut"
        if not silent:
            self._hang_up()

    def break_off(self, after: int = 0) -> None:
        """Hang up, now or once so many bytes more have come to the target; who calls again may."""
        self._left = after or None
        if not after:
            self._hang_up()

    def heal(self) -> None:
        """Who calls from now on is connected. What was there before stays as dead as it is."""
        self._state = "whole"

    def _hang_up(self) -> None:
        self.breaks += 1
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._state == "cut":
            writer.transport.abort()
            return
        self._ends.add(writer)
        if self._state == "silent":
            return
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._ends.add(back)
        for source, sink, forward in ((reader, back, True), (there, writer, False)):
            call = asyncio.create_task(self._pass_on(source, sink, forward=forward))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _pass_on(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, forward: bool
    ) -> None:
        """Until it is cut: a call that was open then never speaks again."""
        try:
            while data := await source.read(PIECE):
                if self._state != "whole":
                    return
                is_the_last = forward and self._left is not None and len(data) > self._left
                if is_the_last:
                    data = data[: self._left]
                self.bytes += len(data)
                sink.write(data)
                await sink.drain()
                if is_the_last:
                    self.break_off()
                    return
                if forward and self._left is not None:
                    self._left -= len(data)
        except OSError:
            pass
        sink.close()
