"""One process at a time may change a node's state."""

import sqlite3
from pathlib import Path
from typing import Self

from colme.errors import StoreError
from colme.node.state.database import in_words, make_private_file

LOCK_FILE = "lock"


class Lock:
    """Held until released, or until the process is gone, however it went.

    SQLite's own file lock, on a file beside the state: it works on every system, and whoever only
    reads the state does not meet it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def take(cls, folder: Path) -> Self:
        """The lock of a folder that exists, or an error if another process has it."""
        path = folder / LOCK_FILE
        with in_words(path):
            make_private_file(path)
            connection = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode = OFF")  # Nothing is ever written to it.
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                connection.close()
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
                seen = f"{folder}: in use by another process"
                remedy = "that the node which has it is stopped first"
                raise StoreError("state", seen, remedy) from None
            except sqlite3.Error:
                connection.close()
                raise
        return cls(connection)

    def release(self) -> None:
        """Let others have it."""
        self._connection.close()
