"""Numerical functions are written once: plain numpy, and compiled for those who use numba."""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


def bring_compiler() -> None:
    """For those who have many answers ahead: from here on they are compiled, if numba is there."""
    if find_spec("numba") is not None:
        import_module("numba")


def compiled(function: F, *called: Callable[..., object]) -> F:
    """The function, compiled on its first use: the same numbers, sooner, other threads running.

    Only where numba is in use already, as in the simulator. To import it takes a second and 130 MB:
    a node that answers once an hour, in 30 ms at most, is better off without.

    `called` are those that it calls, each before those that it calls itself. They stand in the same
    file: what was compiled is kept until that changes.
    """
    return _compiled(function, *called) if "numba" in sys.modules else function


@cache
def _compiled(function: F, *called: Callable[..., object]) -> F:
    numba = import_module("numba")
    # It calls what is compiled already, else each of them would be compiled once more within it.
    around = function.__globals__ | {
        one.__name__: _compiled(one, *called[i + 1 :]) for i, one in enumerate(called)
    }
    alike = FunctionType(function.__code__, around, function.__name__)
    try:
        return numba.njit(cache=True, nogil=True)(alike)  # type: ignore[no-any-return]
    except RuntimeError:  # nowhere to keep what was compiled
        return numba.njit(nogil=True)(alike)  # type: ignore[no-any-return]
