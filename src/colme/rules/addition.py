"""Sums of floats that have the same bits wherever they are computed."""

from collections.abc import Iterable


def added(values: Iterable[float]) -> float:
    """One after the other, each sum rounded.

    Python's own `sum` does so up to 3.11, and carries what rounding loses from 3.12 on: agents that
    go on under a newer Python, and the compiled kernel, would differ from it in the last bit.
    """
    total = 0.0
    for value in values:
        total += value
    return total
