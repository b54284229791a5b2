"""The explorer's server, in a thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from colme.explore.server import ExplorerServer


@contextmanager
def exploring() -> Iterator[ExplorerServer]:
    """A server at a free port, until the end of the block."""
    server = ExplorerServer(0)
    thread = Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join()
