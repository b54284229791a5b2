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
        self.bytes = 0
        """That have crossed it, both ways."""

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

    def heal(self) -> None:
        """Who calls from now on is connected. What was there before stays as dead as it is."""
        self._state = "whole"

    def _hang_up(self) -> None:
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
        for source, sink in ((reader, back), (there, writer)):
            call = asyncio.create_task(self._pass_on(source, sink))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Until it is cut: a call that was open then never speaks again."""
        try:
            while data := await source.read(PIECE):
                if self._state != "whole":
                    return
                self.bytes += len(data)
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        sink.close()
