"""The secret with which an owner's programs ask the node: a file only the owner can read."""

import os
import secrets
from pathlib import Path

from colme.errors import IdentityError
from colme.node import files

SHORTEST = 32


def owner_token(folder: Path) -> str:
    """The token in this folder; made at the first call."""
    path, partial = folder / "token", folder / "token.partial"
    if os.path.lexists(path):
        return read_token(folder)
    try:
        partial.unlink(missing_ok=True)  # of a start that was killed
        file = files.made_own_file(partial)
    except OSError as error:
        raise IdentityError("token", str(path), f"a place to write ({error.strerror})") from None
    try:
        with open(file, "w", encoding="ascii") as out:
            out.write(f"{secrets.token_urlsafe(32)}\n")
            out.flush()
            os.fsync(out.fileno())
        # Whole or not at all: an owner who asks now must not be told to delete half a token.
        partial.rename(path)
    except OSError as error:
        partial.unlink()
        raise IdentityError("token", str(path), f"room to write ({error.strerror})") from None
    return read_token(folder)


def read_token(folder: Path) -> str:
    """The token in this folder, which must be there and the owner's alone."""
    path = folder / "token"
    try:
        token = files.read_secret(path).decode("ascii", "replace").strip()
    except files.Exposed as error:
        raise IdentityError("token", error.seen, error.remedy) from None
    except OSError as error:
        remedy = f"the owner's token; the node makes it when it starts ({error.strerror})"
        raise IdentityError("token", str(path), remedy) from None
    if not (token.isascii() and token.isprintable() and len(token) >= SHORTEST):
        remedy = (
            f"{SHORTEST} or more printable characters; delete the file, and the node makes"
            " another when it starts"
        )
        raise IdentityError("token", str(path), remedy)
    return token
