"""Copies of a node's state, and their return.

A copy is marked as one: what the node has sent since would be noised again if it simply went on,
so a node that starts from a copy waits until its neighbours vouch for it.
"""

import os
import re
import tempfile
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from colme.errors import StoreError
from colme.node.state import database
from colme.node.state.lock import Lock

REPLACED = re.compile(r"replaced-(\d+)\.sqlite")
"""States that others have taken the place of, the newest with the largest number."""


def backup(folder: Path, to: Path) -> None:
    """Copy the state in a folder to a new file, while the node runs or not."""
    if to.exists():
        raise StoreError("backup", f"{to}: it exists", "a file that does not exist yet")
    with database.in_words(to), ExitStack() as undo:
        _marked_copy(folder / database.FILE, to.parent, undo).rename(to)
        database.sync_folder(to.parent)


def restore(file: Path, folder: Path) -> Path | None:
    """Put a copy in the place of the state in a folder whose node is stopped.

    What was there is kept, and where is told: it may be the newer one, and alone be of use.
    """
    database.make_private_folder(folder)
    path = folder / database.FILE
    with database.in_words(path), ExitStack() as undo:
        undo.callback(Lock.take(folder).release)
        copy = _marked_copy(file, folder, undo)
        kept = None
        # An empty file is what a power failure may leave of a state that was never written.
        if path.exists() and path.stat().st_size:
            # One that can't be copied, unless it is damaged, may be the newest there is: nothing is
            # restored then.
            try:
                kept = keep(folder, undo)
            except database.DamagedState:
                kept = _set_aside(folder)
        # The state first: without its log it would be an older one, and not known as such.
        # And no log of it may stay, of either kind: it would be played into the copy.
        for name in (path, *database.logs_of(path)):
            with suppress(FileNotFoundError):
                name.unlink()
            database.sync_folder(folder)
        copy.rename(path)
        database.sync_folder(folder)
    return kept


def keep(folder: Path, undo: ExitStack) -> Path:
    """Copy the state in a folder to a place of its own there, before it is changed or replaced."""
    place = _next_place(folder)
    _marked_copy(folder / database.FILE, folder, undo).rename(place)
    database.sync_folder(folder)
    return place


def _set_aside(folder: Path) -> Path:
    """A damaged state, as it is: somebody may be able to mend it."""
    path, place = folder / database.FILE, _next_place(folder)
    there, here = (path, *database.logs_of(path)), (place, *database.logs_of(place))
    for old, new in zip(there, here, strict=True):
        with suppress(FileNotFoundError):
            old.rename(new)
    return place


def _next_place(folder: Path) -> Path:
    """None is ever overwritten: the one before may be the newest state there is."""
    found = (REPLACED.fullmatch(one.name) for one in folder.iterdir())
    number = max((int(one[1]) for one in found if one), default=0) + 1
    return folder / f"replaced-{number}.sqlite"


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
