"""The secret with which an owner's programs ask the node: a file only the owner can read."""

import os
import secrets
import stat
from pathlib import Path

from colme.errors import IdentityError

SHORTEST = 32


def owner_token(folder: Path) -> str:
    """The token in this folder; made at the first call."""
    path = folder / "token"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_token(folder)
    except OSError as error:
        raise IdentityError("token", str(path), f"a place to write ({error.strerror})") from None
    try:
        with open(file, "w", encoding="ascii") as out:
            out.write(f"{secrets.token_urlsafe(32)}\n")
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        path.unlink()  # Half a token would be in the way of the next start.
        raise IdentityError("token", str(path), f"room to write ({error.strerror})") from None
    return read_token(folder)


def read_token(folder: Path) -> str:
    """The token in this folder, which must be there and the owner's alone."""
    path = folder / "token"
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            token = file.read().decode("ascii", "replace").strip()
    except OSError as error:
        remedy = f"the owner's token; the node makes it when it starts ({error.strerror})"
        raise IdentityError("token", str(path), remedy) from None
    if mode & 0o077:
        remedy = f"a file that only its owner can read or write: chmod 600 {path}"
        raise IdentityError("token", f"mode {mode:o}", remedy)
    if not (token.isascii() and token.isprintable() and len(token) >= SHORTEST):
        remedy = (
            f"{SHORTEST} or more printable characters; delete the file, and the node makes"
            " another when it starts"
        )
        raise IdentityError("token", str(path), remedy)
    return token
