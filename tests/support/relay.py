"""A line between two nodes that a test can cut: bytes pass, until they do not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Relay:
    """Passes on what comes to its port, and breaks off at any time or after so many bytes."""

    def __init__(self, to: int) -> None:
        self.passed = 0
        self.breaks = 0
        self._to = to
        self._until: int | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._passing: set[asyncio.Task[None]] = set()

    def cut(self, after: int = 0) -> None:
        """Drop all connections, now or once so many bytes more have been passed on to the other."""
        self._until = self.passed + after
        if not after:
            self._break()

    def _break(self) -> None:
        self.breaks += 1
        self._until = None
        for end in tuple(self._ends):
            end.transport.abort()

    def met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody called."""
        task = asyncio.create_task(self._connect(reader, writer))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)

    async def over(self) -> None:
        """Cut it for good."""
        self._break()
        for task in (passing := tuple(self._passing)):
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:  # Nobody listens there any more.
            writer.close()
            return
        self._ends |= {writer, back}
        await asyncio.gather(self._pass(reader, back, count=True), self._pass(there, writer))
        self._ends -= {writer, back}

    async def _pass(
        self, reader: asyncio.StreamReader, to: asyncio.StreamWriter, *, count: bool = False
    ) -> None:
        try:
            while data := await reader.read(2**16):
                if count and self._until is not None and self.passed + len(data) > self._until:
                    to.write(data[: self._until - self.passed])
                    await to.drain()
                    self.passed = self._until
                    self._break()
                    return
                self.passed += len(data) if count else 0
                to.write(data)
                await to.drain()
        except OSError:
            pass
        finally:
            to.close()


@asynccontextmanager
async def relaying(port: int, to: int) -> AsyncIterator[Relay]:
    """From one port of this machine to another."""
    relay = Relay(to)
    server = await asyncio.start_server(relay.met, "127.0.0.1", port)
    try:
        yield relay
    finally:
        server.close()
        await relay.over()
        await server.wait_closed()
