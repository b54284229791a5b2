"""Names of a room that are imported when they are asked for.

A door that imported all of its room would make `colme state show` wait for gRPC.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def when_asked(room: str, **names: tuple[str, ...]) -> Callable[[str], Any]:
    """The `__getattr__` of a room whose modules have these names, each module of its own."""
    homes = {name: module for module, held in names.items() for name in held}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{homes[name]}"), name)

    return get
