"""Plays a world on a complete graph without delay, and measures everybody's answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median_low

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from colme.inference.answers import Owners, Releases, answers
from colme.inference.table import LARGEST_COUNT
from colme.inference.variances import released_variances
from colme.rules.release import laplace_scale
from colme.rules.weighing import WeighedBlocks, blend
from relay_world import Floats, Ints, Population, Told, World

MARKS = (10, 20, 30, 60, 100, 200, 300, 500, 1_000, 3_000, 10_000, 30_000)
"""Rounds that are always recorded."""

EARLY = tuple(range(16, 256, 32))
"""How much earlier than at most first blocks end: eight of the 256 ways there are, as likely."""

BETWEEN = 1.9
"""Block ends whose next round is recorded are at least this factor apart."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One round of one run: arrays, one entry for each honest agent that was asked."""

    round: int
    error: Floats
    """Squared, of the answers."""
    local: Floats
    """Squared, of the own means."""
    expected: Floats
    """What `local` is on average."""
    ideal: Floats
    """Squared, of the mean of all exact means of the own class."""
    covered: NDArray[np.bool_]
    label: Ints


class Streams:
    """Agents of one schedule and pace, so that their blocks end together."""

    def __init__(
        self, world: World, population: Population, agents: Ints, schedule: WeighedBlocks
    ) -> None:
        self.agents, self.schedule = agents, schedule
        self.closed = 0
        self.count = 0
        self.total, self.squares = np.zeros((2, agents.size))
        self._draw = population.sums
        self._half_range = world.half_range
        self._block, self._block_squares = np.zeros((2, agents.size))
        self._weighed, self._weighed_squares = np.zeros((2, agents.size))

    def advance(self, rng: Generator, count: int) -> None:
        """To so many samples, over all block ends on the way."""
        while (end := self.schedule.next_end(self.closed)) <= count:
            self._take(rng, end)
            self._close(rng, end)
        self._take(rng, count)

    def released(self) -> tuple[Floats, Floats]:
        """The mean and the mean square, about the midpoint."""
        made_of = blend(self.schedule, self.closed)
        return self._weighed / made_of.weight, self._weighed_squares / made_of.square_weight

    def _take(self, rng: Generator, count: int) -> None:
        if count == self.count:
            return
        sums, squares = self._draw(rng, count - self.count, self.agents)
        self.total += sums
        self.squares += squares
        self._block += sums
        self._block_squares += squares
        self.count = count

    def _close(self, rng: Generator, end: int) -> None:
        scale = laplace_scale(self._half_range, self.schedule.epsilon)
        noise, square_noise = rng.laplace(size=(2, self.agents.size))
        weights = self.schedule.weights(end - self.closed, 1)
        self._weighed += weights.sum * (self._block + scale * noise)
        square_scale = scale * 2 * self._half_range
        self._weighed_squares += weights.squares * (
            self._block_squares + square_scale * square_noise
        )
        self._block, self._block_squares = np.zeros((2, self.agents.size))
        self.closed = end


def recorded(world: World) -> list[int]:
    """The marks, and rounds after block ends, where first looks at new records are."""
    schedule = WeighedBlocks(world.epsilon, EARLY[len(EARLY) // 2])
    first = schedule.next_end(0)
    rounds = {mark for mark in MARKS if first <= mark <= world.rounds}
    end, last = first, 0.0
    while end < world.rounds:
        if end + 1 >= BETWEEN * last:
            last = end + 1
            rounds.add(end + 1)
        end = schedule.next_end(end)
    return sorted(rounds)


def play(world: World, seed: int, run: int) -> Iterator[Moment]:
    """One run, at all recorded rounds. The same seed and run are the same data."""
    rng, lots = (np.random.default_rng([seed, run, part]) for part in range(2))
    population = world.population(rng)
    size = population.mean.size
    honest = np.ones(size, dtype=np.bool_)
    honest[lots.permutation(size)[: round(world.liars * size)]] = False
    asked = np.flatnonzero(honest)
    if world.asked is not None and world.asked < asked.size:
        asked = np.sort(lots.choice(asked, world.asked, replace=False))
    epsilon = np.full(size, world.epsilon) if population.epsilon is None else population.epsilon
    pace = np.ones(size) if population.pace is None else population.pace
    early = lots.choice(EARLY, size)
    alike: dict[tuple[float, WeighedBlocks], list[int]] = {}
    for agent in range(size):
        schedule = WeighedBlocks(float(epsilon[agent]), int(early[agent]))
        alike.setdefault((float(pace[agent]), schedule), []).append(agent)
    groups = [
        (p, Streams(world, population, np.array(agents), schedule))
        for (p, schedule), agents in alike.items()
    ]
    for t in recorded(world):
        for p, streams in groups:
            streams.advance(rng, int(p * t))
        yield _measured(world, population, [streams for _, streams in groups], honest, asked, t)


def _measured(
    world: World,
    population: Population,
    groups: list[Streams],
    honest: NDArray[np.bool_],
    asked: Ints,
    t: int,
) -> Moment:
    size = honest.size
    count, closed = np.ones((2, size), dtype=np.int64)
    x_bar, own_variance, x, square = np.zeros((4, size))
    schedules = [WeighedBlocks(world.epsilon)] * size
    begun, released = np.zeros((2, size), dtype=np.bool_)
    for one in groups:
        who = one.agents
        begun[who], released[who] = one.count > 0, one.closed > 0
        for agent in who.tolist():
            schedules[agent] = one.schedule
        count[who] = max(one.count, 1)
        mean = one.total / count[who]
        x_bar[who] = mean + world.midpoint
        own_variance[who] = np.maximum(one.squares / count[who] - mean**2, 0.0)
        if one.closed:
            closed[who] = one.closed
            x[who], square[who] = one.released()
    x += world.midpoint
    board = _board(world, population, Told(x, closed), square, schedules, honest, released)
    place = np.where(released, np.cumsum(released) - 1, -1)
    asked = asked[begun[asked]]
    known = world.declared is not None
    declared = (world.declared or 0.0) * population.variance
    found = answers(
        board,
        Owners(
            mean=x_bar[asked],
            count=count[asked].astype(np.float64),
            variance=(declared if known else own_variance)[asked],
            known=np.full(asked.size, known),
            half_range=np.full(asked.size, world.half_range),
            index=place[asked],
        ),
    )
    truth, label = population.mean[asked], population.label[asked]
    mates = {k: x_bar[honest & begun & (population.label == k)].mean() for k in set(label.tolist())}
    return Moment(
        round=t,
        error=(found.value - truth) ** 2,
        local=(x_bar[asked] - truth) ** 2,
        expected=population.variance[asked] / count[asked],
        ideal=(np.array([mates[k] for k in label.tolist()]) - truth) ** 2,
        covered=np.abs(found.value - truth) <= found.margin,
        label=label,
    )


def _board(
    world: World,
    population: Population,
    told: Told,
    square: Floats,
    schedules: list[WeighedBlocks],
    honest: NDArray[np.bool_],
    released: NDArray[np.bool_],
) -> Releases:
    """As a reader makes it of all records, whose claims are believed as far as public facts go."""
    made_of = [blend(one, n) for one, n in zip(schedules, told.count.tolist(), strict=True)]
    cap = world.half_range**2
    v = np.array([one.data for one in made_of]) * population.variance
    v += np.array([one.noise for one in made_of]) * cap
    lies = world.lie(told, population.mean, np.sqrt(v))
    x = np.where(honest, told.mean, lies.mean)[released]
    who = np.flatnonzero(released).tolist()
    count = np.where(honest, told.count, lies.count)[released].tolist()
    most = LARGEST_COUNT * median_low(count or [1])
    believed = [blend(schedules[a], min(n, most)) for a, n in zip(who, count, strict=True)]
    data = np.array([one.data for one in believed])
    noise = np.array([one.noise for one in believed])
    half_range = np.full(x.size, world.half_range)
    if world.declared is not None:
        variance = world.declared * population.variance[released]
        error = np.zeros(x.size)
    else:
        variance, error = released_variances(
            square[released],
            x - world.midpoint,
            data=data,
            noise=noise,
            square_data=np.array([one.square_data for one in believed]),
            square_noise=np.array([one.square_noise for one in believed]),
            half_range=half_range,
        )
    return Releases(
        x=x,
        data=data,
        noise=noise,
        half_range=half_range,
        variance=variance,
        error=error,
        origin=world.midpoint,
        unit=world.half_range,
    )
