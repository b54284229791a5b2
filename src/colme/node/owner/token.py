"""The secret with which an owner's programs ask the node: a file only the owner can read."""

import os
import secrets
from pathlib import Path

from colme.errors import IdentityError
from colme.node import files

SHORTEST = 32


def owner_token(folder: Path) -> str:
    """The token in this folder; made at the first call."""
    path = folder / "token"
    if not os.path.lexists(path):
        with files.usable("token", path, "a place to write"):
            # Whole or not at all: an owner who asks now must not be told to delete half a token.
            files.replace(path, f"{secrets.token_urlsafe(32)}\n".encode())
    return read_token(folder)


def read_token(folder: Path) -> str:
    """The token in this folder, which must be there and the owner's alone."""
    path = folder / "token"
    with files.usable("token", path, "the owner's token; the node makes it when it starts"):
        token = files.read_secret(path).decode("ascii", "replace").strip()
    if not (token.isascii() and token.isprintable() and len(token) >= SHORTEST):
        remedy = (
            f"{SHORTEST} or more printable characters; delete the file, and the node makes"
            " another when it starts"
        )
        raise IdentityError("token", str(path), remedy)
    return token
