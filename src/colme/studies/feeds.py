"""What sites are fed in each run, as running means, and what their answers are held against."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from colme.experiment.streams import RandomStream, generator
from colme.graph import IntArray
from colme.studies.inquiry import Inquiry, fed_rows
from colme.studies.sites import FloatArray


class SiteFeed(ABC):
    """Of the runs of one batch. Everything is relative to the midpoint of the bounds."""

    truth: FloatArray
    """[sites, runs]"""
    blur: FloatArray
    """[sites, runs]: the variance of that truth, where it is an estimate itself."""

    @abstractmethod
    def take(self, first: int, last: int) -> FloatArray:
        """[rounds, sites, runs]: means of all samples so far, in the rounds first .. last."""


class Resampled(SiteFeed):
    """A row of its own, drawn with replacement, for every site in every round."""

    def __init__(self, question: Inquiry, numbers: range) -> None:
        sites = question.sites
        self._flat = np.concatenate(sites.values) - sites.midpoint
        self._sizes = sites.counts
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._generators = [
            generator(question.seed, RandomStream.STUDY_ROWS, number) for number in numbers
        ]
        shape = len(sites.names), len(numbers)
        self._total = np.zeros(shape)
        self.truth = np.repeat(sites.means[:, None] - sites.midpoint, len(numbers), axis=1)
        self.blur = np.zeros(shape)

    def take(self, first: int, last: int) -> FloatArray:
        """The rounds follow those taken before."""
        counts = np.arange(first, last + 1)
        taken = np.empty((counts.size, *self._total.shape))
        for run, lots in enumerate(self._generators):
            drawn = (lots.random((counts.size, self._sizes.size)) * self._sizes).astype(int)
            taken[:, :, run] = self._flat[self._starts + drawn]
        totals = self._total + np.cumsum(taken, axis=0)
        self._total = totals[-1]
        return np.asarray(totals / counts[:, None, None])


class Replayed(SiteFeed):
    """A random half of each site's rows in their order; the truth is the mean of the others."""

    def __init__(
        self, question: Inquiry, numbers: range, counts: Callable[[int], IntArray]
    ) -> None:
        sites = question.sites
        self._counts = counts
        fed = fed_rows(sites.counts)
        self._starts = np.cumsum(fed) - fed
        shape = len(sites.names), len(numbers)
        self.truth, self.blur = np.zeros(shape), np.zeros(shape)
        self._totals = np.zeros((int(fed.sum()), len(numbers)))
        for run, number in enumerate(numbers):
            lots = generator(question.seed, RandomStream.STUDY_HALVES, number)
            for a, values in enumerate(sites.values):
                chosen = np.zeros(values.size, np.bool_)
                chosen[lots.choice(values.size, int(fed[a]), replace=False)] = True
                own, held = values[chosen] - sites.midpoint, values[~chosen] - sites.midpoint
                start = self._starts[a]
                self._totals[start : start + own.size, run] = np.cumsum(own)
                self.truth[a, run] = held.mean()
                self.blur[a, run] = held.var(ddof=1) / held.size

    def take(self, first: int, last: int) -> FloatArray:
        """Any rounds."""
        counts = np.array([self._counts(t) for t in range(first, last + 1)])
        return np.asarray(self._totals[self._starts + counts - 1] / counts[:, :, None])
