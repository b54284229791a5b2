"""Records that agree better than their noise lets them: made up, whoever signed them.

Of independent Laplace draws no more than so many fall into a narrow window, wherever it is and
whatever the data were. Where more do, nobody has drawn them.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from colme.inference.em import Floats
from colme.inference.quantiles import quantiles

WINDOWS = (1e-4, 1e-3, 1e-2, 1e-1, 0.3)
"""Widths, in standard deviations of the noise of a typical record. Steps of the lattice that means
are released on are far below."""

CHANCE = 6.0
"""Standard deviations, and records, beyond what is expected at most that chance is granted: once in
a thousand million boards."""


def made_up(x: Floats, noise: Floats) -> NDArray[np.bool_]:
    """Which of the records at x, whose noise has these variances, are in too narrow a crowd."""
    found = np.zeros(x.size, dtype=np.bool_)
    sd = np.sqrt(noise)
    (typical,) = quantiles(sd, [0.5])
    if typical == 0:
        return found
    order = np.argsort(x)
    # The density of a Laplace draw is nowhere above 1 / (sqrt(2) sd), and adding draws lowers it.
    densest = 1 / np.maximum(sqrt(2) * sd, WINDOWS[0] * typical)
    for width in WINDOWS:
        expected = float(np.minimum(1.0, width * typical * densest).sum())
        more = int(expected + CHANCE * sqrt(expected) + CHANCE)
        if more >= order.size:
            break
        ordered = x[order]
        begins = np.flatnonzero(ordered[more:] - ordered[:-more] <= width * typical)
        for begin in begins.tolist():
            found[order[begin : begin + more + 1]] = True
        if begins.size:
            # Wider windows are about the others: who only stands beside a crowd is not of it.
            order = order[~found[order]]
    return found
