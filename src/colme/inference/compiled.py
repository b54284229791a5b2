"""Compiling with numba: the same source serves plain numpy and machine code, which is stored.

numba stores machine code under a digest of the one file that holds the function. A compiled
function contains what it calls, so after an edit of a callee in another file the stored code would
be stale. `jit` stores it under a digest of the whole folder instead. Two rules follow for
compiled functions. They call compiled functions of their own folder only. And they contain no
comprehension: numba inlines it, and then drops a later `a += b` if `a` itself is not read again,
though it may be a view of what is returned.
"""

import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., object])


def bring_compiler() -> None:
    """Import numba, if it is installed, so that all later answers are computed by compiled code."""
    if find_spec("numba") is not None:
        import_module("numba")


def compiled(function: F) -> F:
    """Return the function and all it calls, compiled: the same numbers, without Python's lock.

    Only if numba is in use already, as in the simulator; else the function itself. To import numba
    takes a second and 130 MB: a node that answers once an hour, in 30 ms at most, is better off
    without.
    """
    return _compiled(function) if "numba" in sys.modules else function


@cache
def _compiled(function: Any) -> Any:
    around = function.__globals__
    # It calls what is compiled already, else each callee would be compiled once more within it.
    callees = {
        name: _compiled(around[name])
        for name in function.__code__.co_names
        if isinstance(around.get(name), FunctionType)
    }
    return jit(FunctionType(function.__code__, around | callees, function.__name__))


def jit(function: Any, **options: Any) -> Any:
    """Return a function compiled by numba, with machine code from the disk if sources are the same.

    The code lies where numba stores it: in `__pycache__`, or in the user's cache if the package
    can't be written to, or nowhere if neither can. Code of other sources is overwritten there.
    """
    numba = import_module("numba")
    try:
        dispatcher = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder to store it in
        return numba.njit(nogil=True, **options)(function)
    # Private to numba, and the reason for the upper limit on its version in pyproject.toml.
    dispatcher._cache._cache_file._source_stamp = _digest(
        Path(function.__code__.co_filename).parent
    )
    return dispatcher


@cache
def _digest(folder: Path) -> bytes:
    """Return a digest of all sources in a folder."""
    total = sha256()
    for source in sorted(folder.glob("*.py")):
        total.update(source.name.encode() + sha256(source.read_bytes()).digest())
    return total.digest()
