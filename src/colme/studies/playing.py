"""One batch of a study: the simulator's engines on what its sites are fed."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from colme.experiment.streams import RandomStream, generator
from colme.graph import IntArray
from colme.sim.engines import (
    AlgorithmTable,
    Chunk,
    Engine,
    Entrant,
    PaperEngine,
    RelayTable,
    Setting,
    World,
)
from colme.sim.kernel import RunningMeans, form_of, rows_for, zeros
from colme.studies.feeds import Replayed, Resampled, SiteFeed
from colme.studies.inquiry import ASKED, Inquiry, recorded
from colme.studies.sites import FloatArray

Part = Mapping[str, FloatArray]
"""What a batch has found: arrays, runs last."""

ROUNDS = 16
"""Of a chunk, at least."""


def play(question: Inquiry, first: int, runs: int, report: Callable[[int], None]) -> Part:
    """Runs first .. first + runs - 1. `report` hears of every run-round."""
    rounds = recorded(question)
    world = _world(question, rounds, range(first, first + runs))
    feed = _feed(question, world)
    together = [
        _asking(table, question, first)
        for table in question.algorithms
        if table.algorithm != "local"
    ]
    engines = _engines(world, together, len(question.epsilons))
    labels = [table.label for table in question.algorithms]
    shape = len(question.algorithms), len(question.epsilons), len(question.sites.names), runs
    error = np.zeros((len(rounds), *shape))
    alone = np.zeros((len(rounds), *shape[2:]))
    size, margin = np.ones(shape), np.full(shape, np.nan)
    needs_noise = any(isinstance(engine, PaperEngine) for engine in engines)
    stream = Fed(question, world, feed, needs_noise)
    start = 1
    for row, stop in enumerate(rounds.tolist()):
        while start <= stop:
            last = min(start + stream.rows - 1, stop)
            chunk = Chunk(
                start, last, row if last == stop else None, stream.take(start, last), runs
            )
            for engine in engines:
                engine.advance(chunk)
            report(runs * (last - start + 1))
            start = last + 1
        alone[row] = (chunk.data[-1] - feed.truth) ** 2
        error[row] = alone[row]
        for engine in engines:
            for table, level in engine.entrants:
                one = engine.answered((table.label, level))
                k = labels.index(table.label)
                asked = one.weight > 0
                error[row, k, level] = np.where(asked, (one.values - feed.truth) ** 2, np.nan)
                if one.class_size is not None:
                    size[k, level] = np.where(asked, one.class_size, np.nan)
                if one.margin is not None:
                    margin[k, level] = np.where(asked, one.margin, np.nan)
    # Whether an interval holds a truth that is an estimate itself tells nothing of it.
    unknown = np.isnan(margin) | (feed.blur > 0)
    covered = np.where(unknown, np.nan, error[-1] <= margin**2)
    return {
        "error": error,
        "alone": alone,
        "truth": feed.truth + question.sites.midpoint,
        "blur": feed.blur,
        "size": size,
        "margin": margin,
        "covered": covered,
    }


class Fed:
    """Feeds running means to the engines as the simulator's own do: a few rounds at a time."""

    def __init__(self, question: Inquiry, world: World, feed: SiteFeed, noisy: bool) -> None:
        agents, form = world.graph.agents, world.form
        self.rows = max(ROUNDS, rows_for(agents, form))
        self._feed, self._runs = feed, world.runs
        data, noise = (zeros((self.rows, agents, len(form)), np.float64) for _ in range(2))
        self._kept = RunningMeans(
            bits=zeros((4, len(form)), np.int32),
            data=data,
            noise=noise,
            motion=zeros((self.rows, 2, len(form)), np.float64),
        )
        self._before = np.zeros((2, agents, world.runs))
        self._generators = (
            [generator(question.seed, RandomStream.STUDY_NOISE, run) for run in world.numbers]
            if noisy
            else []
        )

    def take(self, first: int, last: int) -> RunningMeans:
        """The rounds first .. last, which follow those taken before."""
        kept, runs = self._kept, self._runs
        counts = np.arange(first, last + 1)
        data = self._feed.take(first, last)
        noise = np.zeros(data.shape)
        for run, drawn in enumerate(self._generators):
            noise[:, :, run] = drawn.laplace(size=data.shape[:2])
        total = (first - 1) * self._before[1] + np.cumsum(noise, axis=0)
        means = np.stack([data, total / counts[:, None, None]], axis=1)
        moved = np.abs(np.diff(means, axis=0, prepend=self._before[None]))
        self._before = means[-1]
        rows = (counts - 1) % self.rows
        kept.data[rows, :, :runs], kept.noise[rows, :, :runs] = means[:, 0], means[:, 1]
        kept.motion[rows, :, :runs] = moved.max(axis=2)
        return kept


def _asking(table: AlgorithmTable, question: Inquiry, first: int) -> AlgorithmTable:
    """Relay, with those whose answers are computed in this batch: all, or the next in turn."""
    if not isinstance(table, RelayTable):
        return table
    sites, lanes = len(question.sites.names), lanes_for(question.runs)
    batches = -(-question.runs // lanes)
    number = min(sites, max(ASKED, -(-sites // batches)))
    turns = generator(question.seed, RandomStream.STUDY_EVALUATED).permutation(sites)
    chosen = np.roll(turns, -(first // lanes) * number)[:number]
    return table.model_copy(update={"measured": sorted(chosen.tolist())})


def _feed(question: Inquiry, world: World) -> SiteFeed:
    if question.mode == "resample":
        return Resampled(question, world.numbers)
    return Replayed(question, world.numbers, world.counts)


def _engines(world: World, tables: Sequence[AlgorithmTable], levels: int) -> list[Engine]:
    entrants: dict[type[Engine], list[Entrant]] = {}
    for table in tables:
        entrants.setdefault(table.engine, []).extend((table, level) for level in range(levels))
    return [kind(world, own, kind.prepare(world.setting, own)) for kind, own in entrants.items()]


def _world(question: Inquiry, rounds: IntArray, numbers: range) -> World:
    """Every site with a mean of its own; nothing else is told apart."""
    sites, paces = question.sites, question.paces
    graph = question.links.draw([question.seed, RandomStream.STUDY_GRAPH, numbers[0]])
    setting = Setting(
        agents=graph.agents,
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
        form=form_of(np.float64, lanes_for(question.runs)),
        pace=None if paces is None else np.asarray(paces),
    )


def lanes_for(runs: int) -> int:
    """Runs that stand side by side: few enough for error bars over batches."""
    return 4 if runs >= 32 else 1
