"""The best partition of records on a line into classes, however many: where to start with many."""

from math import log

import numpy as np

from colme.inference.cells import Cells
from colme.inference.em import Floats

PIECES = 1024
"""Pieces of neighbouring records that are not cut: a partition costs the square of their number."""


def partition(board: Cells) -> tuple[Floats, Floats]:
    """Means and weights of the classes that explain the records best, each in one class.

    A class of n among M records costs what their distances from its mean do, n ln(M / n) for who
    is in it and ln M for its two parameters. Classes are intervals, so the best end of the last
    one but one is found piece by piece.
    """
    order = np.argsort(board.x, kind="stable")
    p = (board.n / board.v)[order]
    x, n = board.x[order], board.n[order]
    ends = np.unique(np.linspace(0, x.size, min(x.size, PIECES) + 1).round().astype(np.int64))
    centre = (p * x).sum() / p.sum()
    d = x - centre
    counts, precisions, firsts, seconds = (
        np.concatenate(([0.0], np.cumsum(values)))[ends] for values in (n, p, p * d, p * d * d)
    )
    total = counts[-1]
    best = np.zeros(ends.size)
    begins = np.zeros(ends.size, dtype=np.int64)
    for j in range(1, ends.size):
        size, precision = counts[j] - counts[:j], precisions[j] - precisions[:j]
        first, second = firsts[j] - firsts[:j], seconds[j] - seconds[:j]
        cost = best[:j] + 0.5 * (second - first * first / precision)
        cost += size * np.log(total / size) + log(total)
        begins[j] = cost.argmin()
        best[j] = cost[begins[j]]
    cuts = [ends.size - 1]
    while cuts[-1] > 0:
        cuts.append(int(begins[cuts[-1]]))
    cuts.reverse()
    first, precision = np.diff(firsts[cuts]), np.diff(precisions[cuts])
    return centre + first / precision, np.diff(counts[cuts]) / total
