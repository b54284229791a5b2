"""`tracking` in the simulator: pairs of neighbours, runs side by side in registers."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from colme.graph import IntArray
from colme.sim.engines.engine import (
    ANSWERS,
    AlgorithmTable,
    Cell,
    Chunk,
    Cost,
    Engine,
    Entrant,
    FloatArray,
    World,
    of_answers,
    of_decisions,
)
from colme.sim.engines.liars import Claims, Told
from colme.sim.kernel import (
    Array,
    advance_pool,
    answer_pool,
    blocks_by_round,
    draw_units,
    new_pool,
    new_pool_state,
    register_of,
)

MESSAGES_PER_EDGE = 3
BYTES_PER_EDGE = 40
NUMBERS_PER_EDGE = 7
OWN_NUMBERS = 13
"""For each neighbour and round a mean and its count, a size, and numerator, denominator, excess; of
each the same kept, and whether it is accepted. And the agent's own: count, sum, noise, blocks,
released mean, count and first round, two inputs, numerator, denominator, excess, age."""

MORE_BYTES, MORE_NUMBERS_PER_EDGE, MORE_OWN_NUMBERS = 8, 1, 3
"""With a released variance: the mean square; and its sum, noise and the bound."""


RELEASES_WATCHED = 40
"""At most, of each schedule."""


class TrackingEngine(Engine):
    """Every entrant with arrays of its own; the unit noise is the same for all."""

    work: ClassVar[float] = 5.0
    rounding: ClassVar[float] = 0.02

    @classmethod
    def eventful(cls, epsilons: FloatArray, rounds: int) -> IntArray:
        """Of some releases, early and late, the round itself and the next, which has their noise.

        Of the smallest and the largest epsilon, where agents have their own.
        """
        found = [np.zeros(0, np.int64)]
        for epsilon in {float(epsilons.min()), float(epsilons.max())}:
            ends = np.flatnonzero(blocks_by_round(epsilon, rounds))
            wanted = np.searchsorted(ends, np.geomspace(1, rounds, RELEASES_WATCHED))
            ends = ends[np.unique(wanted.clip(max=len(ends) - 1))] if len(ends) else ends
            found += [ends, ends + 1]
        together = np.unique(np.concatenate(found))
        return together[together <= rounds]

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: Any = None) -> None:
        super().__init__(world, entrants, prepared)
        setting = world.setting
        claims = setting.claims
        # Lanes that no run has are computed like the last, and dropped.
        lanes = len(world.form)
        self._form = register_of(world.form)
        self._pools, self._states = [], []
        for table, level in entrants:
            profiles = world.reported_profiles(level)
            profiles += profiles[-1:] * (lanes - world.runs)
            pool = new_pool(
                world.graph,
                profiles,
                setting.rounds,
                known=not _releases_squares(table),
                precision_times=self._where_lied(1.0 if claims is None else claims.times),
                variance_times=self._where_lied(_variance_times(claims)),
            )
            self._pools.append(pool)
            midpoints = np.pad(world.midpoints, ((0, 0), (0, lanes - world.runs)), mode="edge")
            self._states.append(new_pool_state(pool, profiles, midpoints, world.form[0].dtype))
        self._told = [
            Told(world.liars, world.honest, world.truth_at, world.profiles(level))
            if world.liars
            else None
            for _, level in entrants
        ]
        self._draws = [np.maximum.accumulate(pool.blocks, axis=1) for pool in self._pools]
        """[schedules, T + 1]: blocks that have ended by each round."""
        numbers = range(world.numbers.start, world.numbers.start + lanes)
        self._units = draw_units(self._pools, setting.seed, numbers)
        self._units *= world.honest_in_lanes  # Lies need no noise.
        ends = self._pools[0].ends
        alike = world.in_runs(world.mean_groups)
        self._same = alike[ends[:, 0]] == alike[ends[:, 1]]
        self._honest_ends = world.honest[ends[:, 0]], world.honest[ends[:, 1]]

    def advance(self, chunk: Chunk) -> None:
        """One entrant after the other."""
        runs = self.world.runs
        for k, (table, level) in enumerate(self.entrants):
            pool, state = self._pools[k], self._states[k]
            means = self._as_told(k, chunk.first, chunk.data_in_lanes)
            advance_pool(self._form, chunk.first, means, self._units, pool, state)
            if chunk.row is None:
                continue
            truth, honest = self.world.truth_at(chunk.last), self.world.honest
            in_lanes = np.empty(means.shape[1:])
            answer_pool(chunk.last, means[-1], pool, state, in_lanes)
            answers, size = in_lanes[:, :runs], state.size[:, :runs]
            tolerance = self.world.setting.tolerance
            values = of_answers(answers, means[-1, :, :runs], truth, tolerance, honest)
            values[ANSWERS] = self._as_answered(answers, size)
            # A pair of neighbours stands for both directions of an edge.
            values |= of_decisions(
                self._same,
                state.reach[:, :runs] > 0,
                self.world.honest_agents,
                each=2,
                honest=self._honest_ends,
            )
            self.note((table.label, level), chunk.row, values)

    def _where_lied(self, times: float) -> Array:
        """[M, lanes]: 1, or `times` where an agent lies."""
        return np.where(self.world.honest_in_lanes, 1.0, times)

    def _as_told(self, k: int, first: int, means: Array) -> Array:
        """The rounds first, ... with the lies of those in which somebody releases.

        Others are heard by nobody, unless squares are told too: those go by every round's.
        """
        told, pool, draws = self._told[k], self._pools[k], self._draws[k]
        if told is None:
            return means
        means, runs = means.copy(), self.world.runs
        for i, t in enumerate(range(first, first + len(means))):
            if not pool.known or pool.blocks[:, t].any():
                honest = means[i, :, :runs]
                means[i, :, :runs] = told.means(t, honest, draws[pool.schedule, t])
        return means

    def cost(self, cell: Cell) -> Sequence[Cost]:
        """The same in every round and run."""
        (table,) = (one for one, level in self.entrants if (one.label, level) == cell)
        more, degree = _releases_squares(table), float(self.world.graph.degrees.mean())
        one = Cost(
            messages=MESSAGES_PER_EDGE * degree,
            payload=(BYTES_PER_EDGE + more * MORE_BYTES) * degree,
            memory=(NUMBERS_PER_EDGE + more * MORE_NUMBERS_PER_EDGE) * degree
            + OWN_NUMBERS
            + more * MORE_OWN_NUMBERS,
        )
        return [one] * self.world.runs


class TrackingTable(AlgorithmTable):
    """Nothing to tune: only a variance that is known, or comes with the releases."""

    algorithm: Literal["tracking"]
    variance: Literal["known", "released"] = "known"
    """Declared by all, or released with noise beside the means."""

    @property
    def engine(self) -> type[Engine]:
        """With arrays of its own."""
        return TrackingEngine

    @property
    def allows_liars(self) -> bool:
        """What they tell at a release is a lie; what they mix and gossip follows from it."""
        return True


def _variance_times(claims: Claims | None) -> float:
    """By what a liar's claims multiply the variance that others hear of."""
    if claims is None:
        return 1.0
    return 0.0 if claims.no_variance else 1 / claims.times


def _releases_squares(table: AlgorithmTable) -> bool:
    assert isinstance(table, TrackingTable)
    return table.variance == "released"
