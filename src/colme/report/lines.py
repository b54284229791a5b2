"""Line styles: as many as there are algorithms, no two alike."""

from collections.abc import Sequence
from typing import Any

_PAPER = {"oracle": "-", "bernstein": ":", "optimistic": "-."}
_FIRST: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))


def styles(names: Sequence[str]) -> dict[str, Any]:
    """One for each; those of Figure 1 as the paper has them, where there are no others."""
    if all(name in _PAPER for name in names):
        return {name: _PAPER[name] for name in names}
    return {name: _style(number) for number, name in enumerate(names)}


def _style(number: int) -> Any:
    if number < len(_FIRST):
        return _FIRST[number]
    # A long dash, and after it as many dots as tell it from those before.
    dots = number - len(_FIRST) + 3
    return 0, (6.0, 1.5, *(1.0, 1.5) * dots)
