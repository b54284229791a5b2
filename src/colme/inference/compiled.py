"""Numerical functions are written once: plain numpy, and compiled where numba is installed."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


@cache
def compiled(function: F, *called: Callable[..., object]) -> F:
    """The function, compiled on its first use: the same numbers, sooner, other threads running.

    `called` are those that it calls. They stand in the same file: what was compiled is kept until
    that changes.
    """
    if find_spec("numba") is None:
        return function
    numba, extending = import_module("numba"), import_module("numba.extending")
    for one in called:
        extending.register_jitable(one)
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # nowhere to keep what was compiled
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]
