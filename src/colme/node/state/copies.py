"""Copies of a node's state, and their return.

A copy is marked as one: what the node has sent since would be noised again if it simply went on,
so a node that starts from a copy waits until its neighbours vouch for it.
"""

import os
import tempfile
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from colme.errors import StoreError
from colme.node.state import database
from colme.node.state.lock import Lock

REPLACED = "replaced.sqlite"
"""A backup of the state that the last restore replaced."""


def backup(folder: Path, to: Path) -> None:
    """Copy the state in a folder to a new file, while the node runs or not."""
    if to.exists():
        raise StoreError("backup", f"{to}: it exists", "a file that does not exist yet")
    with database.in_words(to), ExitStack() as undo:
        _marked_copy(folder / database.FILE, to.parent, undo).rename(to)
        database.sync_folder(to.parent)


def restore(file: Path, folder: Path) -> None:
    """Put a copy in the place of the state in a folder whose node is stopped.

    What was there is kept as `REPLACED`: it may be the newer one, and the only one that is of use.
    """
    database.make_private_folder(folder)
    path = folder / database.FILE
    with database.in_words(path), ExitStack() as undo:
        undo.callback(Lock.take(folder).release)
        copy = _marked_copy(file, folder, undo)
        # An empty file is what a power failure may leave of a state that was never written.
        if path.exists() and path.stat().st_size:
            # A damaged one is not worth keeping. One that can't be kept for another reason is: it
            # may be the newest there is, so nothing is restored then.
            with suppress(database.DamagedState):
                _marked_copy(path, folder, undo).rename(folder / REPLACED)
        # The state first: without its log it would be an older one, and not known as such.
        # And no log of it may stay, of either kind: it would be played into the copy.
        for name in (path, *database.logs_of(path)):
            with suppress(FileNotFoundError):
                name.unlink()
            database.sync_folder(folder)
        copy.rename(path)
        database.sync_folder(folder)


def _marked_copy(source: Path, folder: Path, undo: ExitStack) -> Path:
    """A checked copy under a name of its own, which is removed if still there in the end."""
    with database.in_words(source), database.connected(source, mode="ro") as original:
        undo.callback(original.close)
        database.require_state(original, source)
    handle, name = tempfile.mkstemp(prefix="state-", suffix=".partial", dir=folder)
    os.close(handle)
    path = Path(name)
    undo.callback(path.unlink, missing_ok=True)
    with database.connected(path) as copy, closing(copy):
        original.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        # Of the version that the original has, so that whoever wrote it can restore it: every
        # schema has this mark.
        with database.transaction(copy):
            copy.execute("UPDATE meta SET from_backup = 1")
        database.require_state(copy, path)
    return path
