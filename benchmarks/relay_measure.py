"""What is read off a world that was played: figures with their standard errors over runs."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from relay_play import Moment
from relay_world import Floats

Played = dict[int, list[Moment]]
"""The moments of all runs, by round."""

FIRST = 10
"""Samples from which on coverage counts."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, its standard error, and where it was found."""

    value: float
    error: float
    where: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """What to read, in words and as a function of what was played (rare events: as of a world)."""

    words: str
    read: Callable[[Played, bool], Cell]
    bar: float | None = None
    """What it may be at most; at least, for a coverage."""
    at_least: bool = False

    def misses(self, cell: Cell) -> bool:
        """Whether the estimate, two standard errors to the worse, is beyond the bar."""
        if self.bar is None:
            return False
        if self.at_least:
            return cell.value - 2 * cell.error < self.bar
        return cell.value + 2 * cell.error > self.bar


def worst_round(bar: float | None = None) -> Figure:
    """Where MSE / Local is largest."""

    def read(played: Played, rare: bool) -> Cell:
        cells = {t: _against_local(moments, rare) for t, moments in played.items()}
        worst = max(cells, key=lambda t: cells[t].value)
        return Cell(cells[worst].value, cells[worst].error, f"t = {worst:,}")

    return Figure("worst MSE / Local", read, bar)


def worst_class(bar: float | None = None) -> Figure:
    """Where that of one class is."""

    def read(played: Played, rare: bool) -> Cell:
        labels = {k for moments in played.values() for one in moments for k in one.label.tolist()}
        cells = {
            (t, k): _against_local(moments, rare, k)
            for t, moments in played.items()
            for k in labels
        }
        t, k = max(cells, key=lambda place: cells[place].value)
        return Cell(cells[t, k].value, cells[t, k].error, f"t = {t:,}, class {k + 1}")

    return Figure("of one class", read, bar)


def at(t: int, bar: float | None = None) -> Figure:
    """MSE / Local at one round."""
    words = f"MSE / Local at t = {t:,}"
    return Figure(words, lambda played, rare: _against_local(played[t], rare), bar)


def of_ideal(t: int, bar: float) -> Figure:
    """MSE / that of the mean of the whole class, on the same data."""

    def read(played: Played, rare: bool) -> Cell:
        moments = played[t]
        error = np.array([one.error.sum() for one in moments])
        return _ratio(error, np.array([one.ideal.sum() for one in moments]))

    return Figure(f"MSE / Ideal of the whole class at t = {t:,}", read, bar)


def coverage(bar: float | None = None) -> Figure:
    """The least of any round."""

    def read(played: Played, rare: bool) -> Cell:
        cells = {
            t: _ratio(
                np.array([float(one.covered.sum()) for one in moments]),
                np.array([float(one.covered.size) for one in moments]),
            )
            for t, moments in played.items()
            if t >= FIRST
        }
        least = min(cells, key=lambda t: cells[t].value)
        return Cell(cells[least].value, cells[least].error, f"t = {least:,}")

    return Figure("least coverage of 95% intervals", read, bar, at_least=True)


def _against_local(moments: list[Moment], rare: bool, label: int | None = None) -> Cell:
    """MSE / Local, of all or of one class."""

    def total(values: Floats, one: Moment) -> float:
        return float((values if label is None else values[one.label == label]).sum())

    error = np.array([total(one.error, one) for one in moments])
    local = np.array([total(one.local, one) for one in moments])
    if not rare:
        return _ratio(error, local)
    # What both have of rare events cancels out, and on average nothing is added.
    expected = np.array([total(one.expected, one) for one in moments])
    return _ratio(error - local + expected, expected)


def _ratio(above: Floats, below: Floats) -> Cell:
    """Of sums over runs, which are independent."""
    whole = below.sum()
    if whole == 0:
        return Cell(0.0, 0.0)
    value = above.sum() / whole
    spread = (above - value * below).std(ddof=1) if above.size > 1 else 0.0
    return Cell(float(value), float(spread * sqrt(above.size) / whole))
