"""Files that a node's owner alone may change: who else could is found out before one is used.

What is looked at is what is used: a descriptor, or a name in a folder that nobody else can change.
Every open file and every connection takes a descriptor, and a process has only so many.
"""

import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from colme.errors import IdentityError

FOLDER_MODE, FILE_MODE = 0o700, 0o600
WRITABLE_BY_OTHERS, OPEN_TO_OTHERS = 0o022, 0o077
ROOT = 0

_READ = os.O_RDONLY | os.O_NONBLOCK
"""At once: to open a pipe in a file's place would wait for its writer."""


class Exposed(Exception):  # noqa: N818 (it reads as what it is)
    """Somebody else could change a file, or read a secret one: what was seen and what is right."""

    def __init__(self, path: Path, seen: str, remedy: str) -> None:
        super().__init__(path, seen, remedy)
        self.seen = f"{path}: {seen}"
        self.remedy = remedy


@contextmanager
def usable(field: str, path: Path, expected: str) -> Iterator[None]:
    """Turn what is wrong with a file of an identity into an error that names the remedy."""
    try:
        yield
    except Exposed as error:
        raise IdentityError(field, error.seen, error.remedy) from None
    except OSError as error:
        raise IdentityError(field, str(path), f"{expected} ({error.strerror})") from None


def make_own_folder(folder: Path) -> None:
    """A folder that its owner alone may enter, unless it is there, whatever the umask; so too those
    above it."""
    if not folder.parent.exists():
        make_own_folder(folder.parent)
    try:
        folder.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        return
    folder.chmod(FOLDER_MODE)


def made_own_file(path: Path) -> int:
    """A descriptor of a new file, its owner's alone whatever the umask; FileExistsError if there
    is anything of that name, a link too."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE)
    os.fchmod(file, FILE_MODE)
    return file


def replace(path: Path, content: bytes, *, mode: int = FILE_MODE) -> None:
    """Write a file whole or not at all. Before it has all, nobody but its owner can read it."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)  # of a process that was killed
    with open(made_own_file(partial), "wb") as file:
        try:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            partial.rename(path)
        except OSError:
            partial.unlink()
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def require_own_folder(folder: Path) -> None:
    """Refuse a folder that is somebody else's, in which others may write, or a link to one."""
    found = os.lstat(folder)
    if stat.S_ISLNK(found.st_mode):
        raise Exposed(folder, "a symbolic link", f"a folder itself, such as {folder.resolve()}")
    if not stat.S_ISDIR(found.st_mode):
        raise Exposed(folder, "a file", "a folder, or a path where none is yet")
    _require_own(folder, found)
    if found.st_mode & WRITABLE_BY_OTHERS:
        seen = f"mode {stat.S_IMODE(found.st_mode):o}, others may write in it"
        raise Exposed(folder, seen, f"a folder that is its owner's alone: chmod 700 {folder}")


def require_own_file(path: Path) -> None:
    """Refuse a file that is somebody else's, open to others, or a link; in a folder of one's own.

    It is not opened: whoever closes a file loses all locks that the process has on it.
    """
    _require_secret(path, os.lstat(path))


def read_secret(path: Path) -> bytes:
    """The content of a file that is its owner's alone, and no link to one."""
    with _opened(path, _READ | os.O_NOFOLLOW) as file:
        _require_secret(path, os.fstat(file.fileno()))
        _require_no_exchange(path)
        return file.read()


def read_unforged(path: Path) -> bytes:
    """The content of a file that others may read and nobody but its owner, or root, may change."""
    with _opened(path, _READ) as file:
        found = os.fstat(file.fileno())
        _require_regular(path, found)
        if found.st_uid != ROOT:
            _require_own(path, found)
        if found.st_mode & WRITABLE_BY_OTHERS:
            seen = f"mode {stat.S_IMODE(found.st_mode):o}, others may write to it"
            raise Exposed(path, seen, f"a file that only its owner can write: chmod go-w {path}")
        _require_no_exchange(path)
        return file.read()


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[BinaryIO]:
    try:
        file = os.open(path, flags)
    except OSError:
        if path.is_symlink():
            _require_regular(path, os.lstat(path))
        raise
    with open(file, "rb") as opened:
        yield opened


def _require_secret(path: Path, found: os.stat_result) -> None:
    _require_regular(path, found)
    _require_own(path, found)
    if found.st_mode & OPEN_TO_OTHERS:
        seen = f"mode {stat.S_IMODE(found.st_mode):o}, open to others"
        remedy = f"a file that only its owner can read or write: chmod 600 {path}"
        raise Exposed(path, seen, remedy)


def _require_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise Exposed(path, "a symbolic link", "the file itself, its owner's alone")
    if not stat.S_ISREG(found.st_mode):
        raise Exposed(path, "no regular file", "a file")


def _require_own(path: Path, found: os.stat_result) -> None:
    if found.st_uid == os.geteuid():
        return
    # Root too: what lies in another user's folder is as that user pleases.
    seen = f"it belongs to user {found.st_uid}, and this process to user {os.geteuid()}"
    remedy = (
        f"one's own: run as user {found.st_uid}, or, if you trust what that user has put there, "
        f"chown -R {os.geteuid()} {path}"
    )
    raise Exposed(path, seen, remedy)


def _require_no_exchange(path: Path) -> None:
    """Whoever may write in its folder could put another file in its place."""
    folder = path.absolute().parent
    found = os.stat(folder)
    # In a sticky folder one may remove only one's own.
    if not found.st_mode & WRITABLE_BY_OTHERS or found.st_mode & stat.S_ISVTX:
        return
    if not os.statvfs(folder).f_flag & os.ST_RDONLY:
        seen = f"in a folder of mode {stat.S_IMODE(found.st_mode):o}, others may replace it"
        remedy = f"a folder in which only its owner can write: chmod go-w {folder}"
        raise Exposed(path, seen, remedy)


ENOUGH = 2**16
"""More than a node ever uses; some systems allow a billion, which costs some libraries time."""
FEWEST = 8


def raise_limit() -> None:
    """Let this process have as many as it may, up to enough."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # As a sandbox may have it: with fewer, then.
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def bearable(most: int) -> int:
    """So many connections at one port, or fewer where that would be a quarter of the descriptors.

    A node has two ports; the other half is for its files, its own calls and what is being accepted.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else min(most, max(FEWEST, soft // 4))
