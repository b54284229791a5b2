"""Privacy in words for people; flags, files and data say `inf`."""

from math import inf


def level(epsilon: float) -> str:
    """An epsilon, as tables and figures show it."""
    return "∞" if epsilon == inf else f"{epsilon:g}"
