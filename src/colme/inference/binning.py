"""Many records made fewer: cells for the fit, and the best partition of them into classes."""

from dataclasses import dataclass
from math import log

import numpy as np

from colme.inference.em import Floats
from colme.inference.tuning import TUNING, Tuning


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells of n records each, at x, with variance v: arrays, one entry for each cell."""

    x: Floats
    v: Floats
    n: Floats


def cells(x: Floats, v: Floats, tuning: Tuning = TUNING) -> Cells:
    """Draw many records at x with variance v, neighbours in both, together into cells.

    Cells are much narrower than the records' own error, and a fit to them costs less.
    """
    if x.size <= tuning.unbinned:
        return Cells(x, v, np.ones(x.size))
    layer = np.floor(np.log(v) / np.log(tuning.cell_step) + tuning.cell_offset)
    place = np.floor(
        x / (tuning.cell_width * np.sqrt(tuning.cell_step**layer)) + tuning.cell_offset
    )
    order = np.lexsort((place, layer))
    edges = (np.diff(place[order]) != 0) | (np.diff(layer[order]) != 0)
    first = np.concatenate(([0], np.flatnonzero(edges) + 1))
    precision = 1 / v[order]
    n = np.diff(np.concatenate((first, [x.size]))).astype(np.float64)
    p = np.add.reduceat(precision, first)
    return Cells(np.add.reduceat(precision * x[order], first) / p, n / p, n)


def partition(board: Cells, tuning: Tuning = TUNING) -> tuple[Floats, Floats]:
    """Return means and weights of the classes that explain the records best, however many.

    Each record is in one class; a fit with many components starts here. A class of n among M
    records costs what their distances from its mean do, n ln(M / n) for which are in it and ln M
    for its two parameters. Classes are intervals, so the best end of the last one but one is found
    piece by piece.
    """
    order = np.argsort(board.x, kind="stable")
    p = (board.n / board.v)[order]
    x, n = board.x[order], board.n[order]
    ends = np.unique(
        np.linspace(0, x.size, min(x.size, tuning.pieces) + 1).round().astype(np.int64)
    )
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
