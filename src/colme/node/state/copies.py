"""Copies of a node's state, and their return.

A copy is marked as one: what the node has sent since would be noised again if it simply went on,
so a node that starts from a copy waits until its neighbours vouch for it.
"""

import os
import re
import tempfile
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from colme.errors import ColmeError, StoreError
from colme.node.state import database
from colme.node.state.database import Lock
from colme.node.state.stored import Progress, read
from colme.node.state.upgrades import to_read

REPLACED = re.compile(r"replaced-(\d+)\.sqlite")
"""States that others have taken the place of, the newest with the largest number."""
UNFINISHED = "state-*.partial*"
"""Copies in the making, and SQLite's logs of them: made under the lock, so whoever has it and finds
one knows that it was left behind."""


def backup(folder: Path, to: Path) -> None:
    """Copy the state in a folder to a new file, while the node runs or not."""
    if to.exists():
        raise StoreError("backup", f"{to}: it exists", "a file that does not exist yet")
    with database.in_words(to), ExitStack() as undo:
        # Not as UNFINISHED: it may be made in the state folder, and without the lock.
        copy = _marked_copy(folder / database.FILE, to.parent, undo, prefix="backup-")
        copy.rename(to)
        database.sync_folder(to.parent)


def restore(file: Path, folder: Path) -> Path | None:
    """Put a copy in the place of the state in a folder whose node is stopped.

    What was there is kept, and where is told: it may be the newer one, and alone be of use.
    """
    _require_file(file)
    database.make_private_folder(folder)
    path = folder / database.FILE
    with database.in_words(path), ExitStack() as undo:
        undo.callback(Lock.take(folder).release)
        try:
            copy = _marked_copy(file, folder, undo)
        except database.DamagedState as error:
            # Of the backup: the state is as it was.
            raise _no_backup(error.seen) from error
        kept = None
        if _is_there(path):
            # One that can't be copied, unless it is damaged, may be the newest there is: nothing is
            # restored then.
            try:
                kept = keep(folder, undo)
            except database.DamagedState:
                kept = _set_aside(folder)
            else:
                _fold_logs(path)
        # No log may stay, of either kind: it would be played into the copy. What was in the log is
        # in the state by now, so that wherever this is cut off there is a whole one.
        for name in database.logs_of(path):
            name.unlink(missing_ok=True)
        database.sync_folder(folder)
        copy.rename(path)
        database.sync_folder(folder)
        _sweep(folder)
    return kept


def require_no_loss(folder: Path) -> None:
    """Refuse a folder, under its lock, whose state is gone: an empty one would know of nothing.

    Where there is a state, what others left unfinished is removed.
    """
    path = folder / database.FILE
    if _is_there(path):
        _sweep(folder)
        return
    kept = sorted((one.name for one in folder.iterdir() if REPLACED.fullmatch(one.name)), key=_age)
    # A log of a state that is gone, too; a journal may be what a first start was killed with.
    left = [*folder.glob(f"{database.FILE}-wal"), *folder.glob(UNFINISHED)]
    found = [*kept, *sorted(one.name for one in left)]
    if found:
        which = f", or the newest of these, {kept[-1]}" if kept else ""
        raise StoreError(
            "state",
            f"{folder}: no {database.FILE}, but {', '.join(found)}",
            "the state that was there: a restore was cut off, or it was removed. Bring it back: "
            f"colme state restore FILE {folder}, with the backup that was being restored{which}. "
            "An empty one would noise the same samples a second time",
        )


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
    found = (one.name for one in folder.iterdir() if REPLACED.fullmatch(one.name))
    number = max(map(_age, found), default=0) + 1
    return folder / f"replaced-{number}.sqlite"


def _age(name: str) -> int:
    return int(name.removeprefix("replaced-").removesuffix(".sqlite"))


def _is_there(path: Path) -> bool:
    """An empty file is what a power failure may leave of a state that was never written."""
    return path.exists() and path.stat().st_size > 0


def _fold_logs(path: Path) -> None:
    """Make the state whole without its log, which a node that was killed has left beside it."""
    with database.connected(path) as connection, closing(connection):
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    if mode != "delete":
        remedy = "that no other program has it open"
        raise StoreError("state", f"{path}: its log can't be ended", remedy)


def _sweep(folder: Path) -> None:
    for one in folder.glob(UNFINISHED):
        one.unlink(missing_ok=True)


def _require_file(file: Path) -> None:
    if not file.is_file():
        seen = "a folder" if file.is_dir() else "no such file"
        raise _no_backup(f"{file}: {seen}")


def _no_backup(seen: object) -> StoreError:
    return StoreError("backup", seen, "a file as colme state backup wrote it")


def _marked_copy(source: Path, folder: Path, undo: ExitStack, *, prefix: str = "state-") -> Path:
    """A checked copy under a name of its own, which is removed if still there in the end."""
    with ExitStack() as reading:
        with database.in_words(source):
            original = reading.enter_context(database.connected(source, mode="ro"))
            reading.callback(original.close)
            database.require_state(original, source)
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=".partial", dir=folder)
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


def newest_instead(folder: Path) -> str:
    """What would be right where a state is an old one."""
    return (
        "the newest: going on would noise samples twice. Put the newest state back (colme state "
        "restore); if it is lost, move this one away and begin with an empty one, --state-lost "
        f"and, for a file, --first-lines skip, and never feed it old samples{replaced_in(folder)}"
    )


def replaced_in(folder: Path) -> str:
    """Return the end of a sentence, for errors, that names replaced states in a folder, if any.

    One of them may be the newest there is.
    """
    found = ((one, REPLACED.fullmatch(one.name)) for one in folder.iterdir())
    numbered = sorted((int(match[1]), one) for one, match in found if match)
    listed = ", ".join(_described(one) for _, one in numbered)
    return f". States that were replaced here, to be restored or kept: {listed}" if listed else ""


def _described(path: Path) -> str:
    try:
        with database.in_words(path), to_read(path) as connection:
            stored = read(connection, path)
    except ColmeError:
        return f"{path} (not readable)"
    return f"{path} (start {stored.epoch}, round {Progress.of(stored.snapshot).round})"
