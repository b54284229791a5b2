"""The arrays of `pooled`, and how they are made.

M = agents, E = edges (both directions), P = pairs of neighbours, L = lanes, T = rounds, "real" =
float32 or float64.
"""

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np

from colme.graph import Graph
from colme.rules.consensus import stepped_alpha
from colme.rules.decision import TightBernstein
from colme.rules.release import Blocks, Profile, laplace_scale
from colme.sim.kernel.arrays import Array, aligned, zeros


class Pool(NamedTuple):
    """What is public: the graph, and what follows from the agents' profiles."""

    indptr: Array  # int64 [M + 1]: a's edges are indptr[a] .. indptr[a + 1]
    indices: Array  # int32 [E]: the other agent of each
    pair: Array  # int32 [E]: its pair
    ends: Array  # int32 [P, 2]: the agents of each pair
    schedule: Array  # int32 [M]: row of `blocks`
    blocks: Array  # int32 [schedules, T + 1]: blocks by round t if one ends in it, else 0
    alpha: Array  # float64 [T + 1], by age
    level: Array  # float64 [T + 1]: s = ln(2 / theta), by count
    beta: Array  # float64 [M, L]: the tight parameter of a single sample
    sigma2_dp: Array  # float64 [M]
    scale: Array  # float64 [M]: of the noise of sums
    half_range: Array  # float64 [M]
    precision_times: Array  # float64 [M, L]: by what an agent overstates the weight of its releases
    variance_times: Array  # float64 [M, L]: and their variance, as the test of edges sees it
    known: bool  # whether the variance is; else it comes with the releases


class PoolState(NamedTuple):
    """What is remembered between rounds."""

    midpoint: Array  # float64 [M, L]: of the bounds
    sigma2: Array  # float64 [M, L]: the variance, or the bound on it
    mean: Array  # float64 [M, L]: the data mean of the round before
    squares: Array  # float64 [M, L]: sum of the samples' squared deviations from the midpoint
    noise: Array  # float64 [2, M, L]: sums of the unit draws, for sums and for squares
    x: Array  # real [M, L]: released means
    v: Array  # float64 [M, L]: their variances
    grown: Array  # float64 [M]: by how much the latest one is more precise than the one before
    bound: Array  # float64 [M, L]: an upper bound on sigma2, for the test of edges
    tested: Array  # float64 [M, L]: the variances of released means by that bound
    certain: Array  # uint8 [M, L]: whether sigma2 is known well enough to answer by
    changed: Array  # uint8 [M, L]: whether the accepted set did in this round; 0 between rounds
    inputs: Array  # real [2, M, L]: p x and p
    before: Array  # real [2, M, L]: of the round before
    size: Array  # float64 [M, L]: of the accepted set, the agent itself included
    since: Array  # int32 [M, L]: round before the last change of the accepted set
    share: Array  # real [M, L]: 1 / (size + 1); W of Eq. (2) is the smaller of two agents'
    reach: Array  # real [P, L]: how far a neighbour's shared mean may be; 0 if it is not accepted
    weights: Array  # real [M, L]: the sum of W over the accepted set
    shared: Array  # real [2, 3, M, L]: numerator, denominator, excess, of round t at t % 2
    mix: Array  # real [2, M, L]: numerator and denominator, mixed, of the latest round
    first: Array  # int32 [M]: round of the first release, 0 before it
    counted: Array  # int32 [M]: samples in the latest release
    drawn: Array  # int32 [M]: blocks in it


def blocks_by_round(epsilon: float, rounds: int) -> Array:
    """At t = 0 .. rounds: how many blocks have ended if one ends at t, else 0."""
    table = np.zeros(rounds + 1, np.int32)
    schedule, blocks = Blocks(epsilon), 1
    end = schedule.next_end(0)
    while end <= rounds:
        table[end] = blocks
        end, blocks = schedule.next_end(end), blocks + 1
    return table


def new_pool(
    graph: Graph,
    profiles: Sequence[Sequence[Profile]],
    rounds: int,
    *,
    known: bool,
    precision_times: Array | None = None,
    variance_times: Array | None = None,
) -> Pool:
    """From every run's agents' profiles. `known`: the variance is that of the profile.

    An agent's class is another in every run, and with it its variance; not so epsilon and range.
    Nobody overstates anything unless `precision_times` and `variance_times`, [M, L], say so.
    """
    nothing = np.ones((graph.agents, len(profiles)))
    first = np.repeat(np.arange(graph.agents), graph.degrees)
    pairs, number = np.unique(
        np.sort(np.stack([first, graph.indices], axis=1), axis=1), axis=0, return_inverse=True
    )
    agents = profiles[0]
    epsilons, schedule = np.unique([p.epsilon for p in agents], return_inverse=True)
    theta = TightBernstein().theta
    counts = range(1, rounds + 1)
    return Pool(
        indptr=np.asarray(graph.indptr, np.int64),
        indices=np.asarray(graph.indices, np.int32),
        pair=number.ravel().astype(np.int32),
        ends=pairs.astype(np.int32),
        schedule=schedule.astype(np.int32),
        blocks=np.array([blocks_by_round(float(epsilon), rounds) for epsilon in epsilons]),
        alpha=np.array([stepped_alpha(age) for age in range(rounds + 1)]),
        level=np.array([0.0, *(log(2 / theta(count)) for count in counts)]),
        beta=aligned(np.array([[p.tight_parameter(1) for p in run] for run in profiles]).T, float),
        sigma2_dp=np.array([p.sigma2_dp for p in agents]),
        scale=np.array([laplace_scale(p.half_range, p.epsilon) for p in agents]),
        half_range=np.array([p.half_range for p in agents]),
        precision_times=aligned(nothing if precision_times is None else precision_times, float),
        variance_times=aligned(nothing if variance_times is None else variance_times, float),
        known=known,
    )


def draw_units(pools: Sequence[Pool], seed: int, runs: Sequence[int]) -> Array:
    """Unit Laplace draws [2, blocks, M, L] as `advance` wants them, enough for all of these pools.

    They depend on nothing but seed, run, agent and block, so that all epsilons see the same.
    """
    agents = pools[0].schedule.size
    blocks = max(
        int(pool.blocks[np.unique(pool.schedule[pool.scale > 0])].max(initial=0)) for pool in pools
    )
    kinds = 1 if all(pool.known for pool in pools) else 2
    units = zeros((kinds, blocks, agents, len(runs)), np.float32)
    for kind in range(kinds):
        for lane, run in enumerate(runs):
            generator = np.random.default_rng([seed, _UNITS + kind, run])
            units[kind, ..., lane] = generator.laplace(size=(blocks, agents))
    return units


_UNITS = 3  # streams 3 and 4; those before are a scenario's


def new_pool_state(
    pool: Pool, profiles: Sequence[Sequence[Profile]], midpoint: Array, dtype: type
) -> PoolState:
    """The state before the first round. Squares are about `midpoint`, [M, L]: of the bounds."""
    agents, lanes = midpoint.shape
    pairs = pool.ends.shape[0]
    sigma2 = np.array([[p.sigma2 for p in run] for run in profiles]).T
    return PoolState(
        midpoint=aligned(midpoint, np.float64),
        sigma2=aligned(sigma2, np.float64),
        bound=aligned(sigma2, np.float64),
        tested=zeros((agents, lanes), np.float64),
        certain=aligned(np.full((agents, lanes), pool.known), np.uint8),
        changed=zeros((agents, lanes), np.uint8),
        mean=zeros((agents, lanes), np.float64),
        squares=zeros((agents, lanes), np.float64),
        noise=zeros((2, agents, lanes), np.float64),
        x=zeros((agents, lanes), dtype),
        v=zeros((agents, lanes), np.float64),
        grown=np.zeros(agents),
        inputs=zeros((2, agents, lanes), dtype),
        before=zeros((2, agents, lanes), dtype),
        size=aligned(np.ones((agents, lanes)), np.float64),
        since=zeros((agents, lanes), np.int32),
        share=zeros((agents, lanes), dtype),
        reach=zeros((pairs, lanes), dtype),
        weights=zeros((agents, lanes), dtype),
        shared=zeros((2, 3, agents, lanes), dtype),
        mix=zeros((2, agents, lanes), dtype),
        first=np.zeros(agents, np.int32),
        counted=np.zeros(agents, np.int32),
        drawn=np.zeros(agents, np.int32),
    )
