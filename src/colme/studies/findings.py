"""What a study found: curves over samples, every site on its own, who gained and who lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np

from colme.experiment.run import Arrays
from colme.experiment.statistics import BatchMean
from colme.graph import IntArray
from colme.studies.question import FloatArray, StudyQuestion, fed_rows, recorded

ENOUGH = 4
"""Runs, of many in which a site took its turn, from which on its gain is told."""

Verdict = Literal["gained", "lost", "even"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One algorithm at one epsilon: its error as a multiple of the error alone."""

    algorithm: str
    epsilon: float
    samples: tuple[int, ...]
    """At every site; in a replay, at a site on average."""
    mse_over_local: tuple[float, ...]
    """Both averaged over sites and runs, then divided: below 1 it pays."""
    standard_error: tuple[float, ...]
    margin: tuple[float, ...]
    """Half the width of the 95% interval."""
    gained: tuple[int, ...]
    """Sites whose error is clearly smaller than alone, at each count."""
    lost: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteResult:
    """One site, with one algorithm at one epsilon, at the last count."""

    site: str
    algorithm: str
    epsilon: float
    rows: int
    samples: int
    runs: int
    """In which it was asked: all, but where there are many sites."""
    truth: float
    alone: float
    """Root mean squared error over the runs of its own exact mean."""
    together: float
    """The same of the algorithm's answer."""
    gain: float
    """1 - (together / alone)^2: the share of its squared error that it is spared. NaN: unknown."""
    verdict: Verdict
    """Whether that gain, or loss, is clear of chance."""
    interval: float
    """Half the width of its 95% interval, on average; NaN where none is told."""
    coverage: float
    """In how many runs that interval holds the truth; NaN where none is told."""
    class_found: float
    """How many sites were taken to be alike, itself included, on average."""
    gains: tuple[float, ...]
    """At every count of the curve."""


def findings(
    question: StudyQuestion, parts: Sequence[Arrays]
) -> tuple[tuple[Curve, ...], tuple[SiteResult, ...]]:
    """Return all curves and all sites, from all batches.

    Runs of one batch share a graph: error bars are over batches.
    """
    sizes = [part["alone"].shape[-1] for part in parts]
    batch = np.repeat(np.arange(len(parts)), sizes)
    # Where all runs have the same graph, a site's runs are independent, and are more than batches.
    unit = batch if question.links.degree is not None else np.arange(batch.size)
    joined = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
    samples, own = _counts(question)
    curves, sites = [], []
    for k, table in enumerate(question.algorithms):
        for level, epsilon in enumerate(question.epsilons):
            error = joined["error"][:, k, level]
            asked = ~np.isnan(error)
            alone = np.where(asked, joined["alone"], nan)
            # A truth that is an estimate is wrong itself, by as much in both.
            blur = np.where(asked, joined["blur"], nan)
            paired = _Paired(error - blur, alone - blur)
            verdicts, ratio = paired.verdicts(unit), paired.ratio(batch)
            curves.append(
                Curve(
                    algorithm=table.label,
                    epsilon=epsilon,
                    samples=tuple(samples.tolist()),
                    mse_over_local=tuple(ratio.value.tolist()),
                    standard_error=tuple(ratio.error.tolist()),
                    margin=tuple(ratio.margin.tolist()),
                    gained=tuple(int(count) for count in (verdicts < 0).sum(axis=1)),
                    lost=tuple(int(count) for count in (verdicts > 0).sum(axis=1)),
                )
            )
            gains, last = paired.gains(), verdicts[-1].tolist()
            together_rms, alone_rms = paired.root_mean_squares()
            interval, coverage, found = (
                _mean(joined[name][k, level]) for name in ("margin", "covered", "size")
            )
            truth = joined["truth"].mean(axis=-1)
            for a, name in enumerate(question.sites.names):
                sites.append(
                    SiteResult(
                        site=name,
                        algorithm=table.label,
                        epsilon=epsilon,
                        rows=int(question.sites.counts[a]),
                        samples=int(own[a]),
                        runs=int(paired.runs[-1, a]),
                        truth=float(truth[a]),
                        alone=float(alone_rms[a]),
                        together=float(together_rms[a]),
                        gain=float(gains[-1, a]),
                        verdict=_WORDS[last[a]],
                        interval=float(interval[a]),
                        coverage=float(coverage[a]),
                        class_found=float(found[a]),
                        gains=tuple(gains[:, a].tolist()),
                    )
                )
    return tuple(curves), tuple(sites)


_WORDS: dict[int, Verdict] = {-1: "gained", 0: "even", 1: "lost"}


class _Paired:
    """Squared errors together and alone, [counts, sites, runs]; NaN if not evaluated."""

    def __init__(self, together: FloatArray, alone: FloatArray) -> None:
        self._together, self._alone = together, alone
        self.runs: IntArray = (~np.isnan(together)).sum(axis=-1)
        """[counts, sites]: runs in which a site was evaluated."""

    def ratio(self, batch: IntArray) -> BatchMean:
        """Return the ratio of means over sites and runs, [counts]; NaN if none can be told.

        Alone, a site's error less that of a truth which is an estimate may not be positive.
        """
        ratio = BatchMean.of_groups(
            np.nanmean(self._together, axis=1), np.nanmean(self._alone, axis=1), batch
        )
        return ratio.where(ratio.below.sum(axis=0) > 0)

    def verdicts(self, batch: IntArray) -> IntArray:
        """[counts, sites]: -1 where the error is clearly smaller than alone, 1 where larger."""
        difference = self._together - self._alone
        return BatchMean.of_groups(difference, np.ones(difference.shape), batch).clear(than=0.0)

    def gains(self) -> FloatArray:
        """[counts, sites]: NaN if unknown. Both errors have to be positive to be compared."""
        together, alone = _mean(self._together), _mean(self._alone)
        # A site whose rows are all the same has nothing to gain, and lost nothing.
        same = (self._together == self._alone).all(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = np.where((together > 0) & (alone > 0), 1 - together / alone, nan)
        gains = np.where(same & (alone == 0), 0.0, gains)
        return np.where(self.runs >= min(ENOUGH, self._together.shape[-1]), gains, nan)

    def root_mean_squares(self) -> tuple[FloatArray, FloatArray]:
        """[sites] each, at the last count; NaN where a truth's own error leaves less than zero."""
        with np.errstate(invalid="ignore"):
            return np.sqrt(_mean(self._together[-1])), np.sqrt(_mean(self._alone[-1]))


def _mean(values: FloatArray) -> FloatArray:
    """Over runs, of what is there; NaN where nothing is."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, values, 0.0).sum(axis=-1) / there.sum(axis=-1))


def _counts(question: StudyQuestion) -> tuple[IntArray, IntArray]:
    """Return the samples of a site at each recorded round, on average, and of each at the end."""
    rounds, sites = recorded(question), question.sites
    if question.paces is None:
        return rounds, np.full(len(sites.names), question.samples)
    average = np.asarray(np.rint(rounds * question.paces.mean()), np.int64)
    return average, fed_rows(sites.counts)
