"""`colme.study`: how much would each site of a table gain by collaborating?

`question.prepare` reads and checks everything, before anything is computed. `StudyExperiment` runs
the simulator's engines on what the sites are fed, batch by batch.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from colme import plugins
from colme.experiment.run import Arrays, Experiment, Report, run
from colme.experiment.streams import RandomStream, generator
from colme.graph import IntArray
from colme.sim.batch import Batch, runs_of_a_graph
from colme.sim.engines import (
    AlgorithmTable,
    Engine,
    PaperEngine,
    RelayTable,
    Setting,
    World,
    by_engine,
)
from colme.sim.kernel.simd import form_of
from colme.studies import MIN_SAMPLES
from colme.studies.feeds import FEEDS, SiteFeed
from colme.studies.findings import findings
from colme.studies.question import ASKED, FloatArray, StudyQuestion, prepare, recorded
from colme.studies.result import FILES, TITLE, StudyResult

BYTES_OF_SITE = 600
"""Memory that a site takes in a run at one epsilon, for each site that it hears of."""


class StudyExperiment(Experiment[range, StudyResult]):
    """All runs of a study, in batches: a part is the numbers of runs that share a graph."""

    files = FILES

    def __init__(self, question: StudyQuestion) -> None:
        self.question = question
        self._lanes = runs_of_a_graph(question.runs)

    def identity(self) -> Mapping[str, Any]:
        """Return the question, with digests of rows, edges and custom code."""
        return {"command": "study", "title": TITLE, **self.question.facts}

    def parts(self) -> Sequence[range]:
        """Return all batches."""
        runs, lanes = range(self.question.runs), self._lanes
        return [runs[first : first + lanes] for first in runs[::lanes]]

    def name(self, part: range) -> str:
        """Return which runs."""
        return f"{part.start}-{len(part)}"

    def work(self, part: range) -> int:
        """Return run-rounds."""
        return len(part) * self.question.samples

    def memory_of_part(self) -> int:
        """Return the bytes of one batch, about: each site may hold a record of each other."""
        question = self.question
        cells = len(question.algorithms) * len(question.epsilons)
        sites = len(question.sites.names)
        return BYTES_OF_SITE * sites * min(sites, ASKED) * cells * self._lanes

    def compute(self, part: range, report: Report = lambda _: None, *, threads: int = 1) -> Arrays:
        """Run all algorithms on what the sites are fed."""
        question, rounds = self.question, recorded(self.question)
        world = self._world(rounds, part)
        engines = self._engines(world, part.start)
        feed = self._feed(world, engines)
        batch = Batch(feed, engines, [SiteErrors(question, feed)])
        start = 1
        for stop in rounds.tolist():
            batch.advance(start, stop)
            report(len(part) * (stop + 1 - start))
            start = stop + 1
        return batch.sums()

    def combine(self, parts: Sequence[Arrays]) -> StudyResult:
        """Find out who gains."""
        curves, sites = findings(self.question, parts)
        return StudyResult(question=self.question, curves=curves, sites=sites)

    def save(self, result: StudyResult, out: Path) -> list[Path]:
        """Write page, JSON, tables and figure."""
        return result.save(out)

    def load(self, out: Path) -> StudyResult:
        """Read what `save` wrote."""
        return StudyResult.load(out, self.question)

    def _world(self, rounds: IntArray, numbers: range) -> World:
        """Give every site a mean of its own; all have one class, as nothing else is known."""
        question, sites = self.question, self.question.sites
        graph = question.links.draw([question.seed, RandomStream.STUDY_GRAPH, numbers[0]])
        setting = Setting(
            agents=len(sites.names),
            degree=float(graph.degrees.mean()),
            rounds=question.samples,
            recorded=rounds,
            seed=question.seed,
            centre=sites.midpoint,
            profiles=[[[profile]] for profile in question.profiles],
            keeps_answers=True,
        )
        return World.given(
            setting,
            graph,
            sites.means - sites.midpoint,
            numbers=numbers,
            form=form_of(np.float64, self._lanes),
            pace=question.paces,
        )

    def _engines(self, world: World, first: int) -> list[Engine]:
        tables = [
            self._evaluating(table, first)
            for table in self.question.algorithms
            if table.algorithm != "local"  # which is what all are compared with
        ]
        return [
            kind(world, own, kind.prepare(world.setting, own))
            for kind, own in by_engine(tables, len(self.question.epsilons)).items()
        ]

    def _evaluating(self, table: AlgorithmTable, first: int) -> AlgorithmTable:
        """Return relay with the sites that it evaluates in this batch: all, or the next in turn."""
        if not isinstance(table, RelayTable):
            return table
        question, sites = self.question, len(self.question.sites.names)
        number = min(sites, max(ASKED, -(-sites // len(self.parts()))))
        turns = generator(question.seed, RandomStream.STUDY_EVALUATED).permutation(sites)
        chosen = np.roll(turns, -(first // self._lanes) * number)[:number]
        return table.model_copy(update={"measured": sorted(chosen.tolist())})

    def _feed(self, world: World, engines: Sequence[Engine]) -> SiteFeed:
        question, noise = self.question, []
        if any(isinstance(engine, PaperEngine) for engine in engines):
            noise = [
                generator(question.seed, RandomStream.STUDY_NOISE, run) for run in world.numbers
            ]
        kind = FEEDS.get(question.mode) or plugins.load("mode", question.mode)
        feed: SiteFeed = kind(question, world, noise)
        return feed


class SiteErrors:
    """Records squared errors of every site in every run, [..., sites, runs]."""

    def __init__(self, question: StudyQuestion, feed: SiteFeed) -> None:
        self._feed, self._midpoint = feed, question.sites.midpoint
        self._labels = [table.label for table in question.algorithms]
        rows, sites = len(feed.world.setting.recorded), (feed.world.graph.agents, feed.world.runs)
        shape = len(self._labels), len(question.epsilons), *sites
        self._error, self._alone = np.zeros((rows, *shape)), np.zeros((rows, *sites))
        self._size, self._margin = np.ones(shape), np.full(shape, np.nan)

    def take(self, row: int, t: int, means: FloatArray, engines: Sequence[Engine]) -> None:
        """Compare all answers with the truth; sizes and margins are those of the last round."""
        truth = self._feed.truth
        self._alone[row] = (means - truth) ** 2
        self._error[row] = self._alone[row]
        for engine in engines:
            for table, level in engine.entrants:
                one = engine.answered((table.label, level))
                place = self._labels.index(table.label), level
                evaluated = one.weight > 0
                squared = (one.values - truth) ** 2
                self._error[row][place] = np.where(evaluated, squared, np.nan)
                if one.class_size is not None:
                    self._size[place] = np.where(evaluated, one.class_size, np.nan)
                if one.margin is not None:
                    self._margin[place] = np.where(evaluated, one.margin, np.nan)

    def sums(self, engines: Sequence[Engine]) -> Arrays:
        """Return everything. An estimate that stands for the truth does not tell coverage."""
        known = ~np.isnan(self._margin) & (self._feed.blur == 0).all()
        covered = np.where(known, self._error[-1] <= self._margin**2, np.nan)
        return {
            "error": self._error,
            "alone": self._alone,
            "truth": self._feed.truth + self._midpoint,
            "blur": self._feed.blur,
            "size": self._size,
            "margin": self._margin,
            "covered": covered,
        }


def study(
    data: Any,
    *,
    site: str | None = None,
    value: str | None = None,
    bounds: Any,
    epsilon: Any,
    mode: str | type[SiteFeed] = "resample",
    time: str | None = None,
    min_samples: int = MIN_SAMPLES,
    degree: int | None = None,
    edges: Any = None,
    algorithm: Any = "recommended",
    samples: int | None = None,
    runs: int | None = None,
    seed: int = 1,
    out: Path | str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
) -> StudyResult:
    """Whether it would have paid to learn together, with these data.

    `data` is a CSV or Parquet file, a dataframe, or a mapping: of columns, with the names of two
    of them as `site` and `value`, or from sites to their values. `bounds` (lo, hi) are public, and
    `epsilon`, one or several, is promised for each sample: pure epsilon-DP, event level,
    replace-one, counts public.

    `mode` "resample" draws rows of each site with replacement, up to `samples` at each; the truth
    is the mean of its rows. "replay" holds out a random half of each site's rows, whose mean is
    the truth, and feeds the others in their order (that of the column `time`, or of the data) at
    each site's own pace. Sites with fewer than `min_samples` rows are left out. Everybody is
    everybody's neighbour unless there is a `degree`, or `edges`: pairs of sites, or a file of them.
    `algorithm`: relay, paper or one of its rules, local; one or several. None of them is
    told a variance.

    `out`: a folder for finished parts and the report; the same call resumes there.
    `executor`: whoever computes the batches instead of threads, to the same bits. All rows are sent
    to its workers.
    """
    question = prepare(
        data,
        site=site,
        value=value,
        bounds=bounds,
        epsilon=epsilon,
        mode=mode,
        time=time,
        min_samples=min_samples,
        degree=degree,
        edges=edges,
        algorithm=algorithm,
        samples=samples,
        runs=runs,
        seed=seed,
    )
    experiment = StudyExperiment(question)
    return run(experiment, out=out, threads=threads, executor=executor).result
