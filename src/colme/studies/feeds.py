"""What sites are fed in each run, as running means, and what their answers are compared with.

To feed something else, subclass `SiteFeed` in a file of your own and pass it to `colme.study` as
`mode`.
"""

from collections.abc import Sequence

import numpy as np

from colme.experiment.streams import RandomStream, generator
from colme.sim.batch import Given
from colme.sim.engines import World
from colme.studies.question import FloatArray, StudyQuestion, fed_rows


class SiteFeed(Given):
    """The rows of one batch of runs. Everything is relative to the midpoint of the bounds."""

    blur: FloatArray
    """[sites, runs]: the variance of the truth; 0 if it is not an estimate itself."""

    def __init__(
        self, question: StudyQuestion, world: World, noise: Sequence[np.random.Generator]
    ) -> None:
        super().__init__(world, noise)
        self.question = question


class Resampled(SiteFeed):
    """A row of its own, drawn with replacement, for every site in every round."""

    def __init__(
        self, question: StudyQuestion, world: World, noise: Sequence[np.random.Generator]
    ) -> None:
        super().__init__(question, world, noise)
        sites = question.sites
        self._flat = np.concatenate(sites.values) - sites.midpoint
        self._sizes = sites.counts
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._generators = [
            generator(question.seed, RandomStream.STUDY_ROWS, number) for number in world.numbers
        ]
        self.truth = world.truth_at(0)
        self.blur = np.zeros(self.truth.shape)
        self._total = np.zeros(self.truth.shape)

    def means(self, first: int, last: int) -> FloatArray:
        """Draw the rounds first .. last, which follow those drawn before."""
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
        self, question: StudyQuestion, world: World, noise: Sequence[np.random.Generator]
    ) -> None:
        super().__init__(question, world, noise)
        sites, numbers = question.sites, world.numbers
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

    def means(self, first: int, last: int) -> FloatArray:
        """Return any rounds."""
        counts = self.world.counts_in(range(first, last + 1))
        return np.asarray(self._totals[self._starts + counts - 1] / counts[:, :, None])


FEEDS: dict[str, type[SiteFeed]] = {"resample": Resampled, "replay": Replayed}
"""By mode."""
