"""`tracking` for many independent runs: rounds, and the answers to a round.

The formulas are those of `colme.rules.pooling`, compiled.
"""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

import inspect
import zlib
from math import sqrt
from types import FunctionType
from typing import Any

import numpy as np

from colme.rules import pooling
from colme.sim.kernel.arrays import Array, compiled, inline
from colme.sim.kernel.pooled_arrays import VOICES, Pool, PoolState


def _positional(function: Any) -> Any:
    """Compiled; numba knows no keyword-only arguments, so the same code without that mark."""
    code = function.__code__
    arguments = code.co_argcount + code.co_kwonlyargcount
    code = code.replace(co_argcount=arguments, co_kwonlyargcount=0)
    return inline(FunctionType(code, function.__globals__, function.__name__))


_tracked = _positional(pooling.tracked)
_forgetting = _positional(pooling.forgetting)
_own_share = _positional(pooling.own_share)
_surely_left = _positional(pooling.surely_left)
_excess = _positional(pooling.excess)
_heard_excess = _positional(pooling.heard_excess)
_heard_numerator = _positional(pooling.heard_numerator)
_pooled_excess = _positional(pooling.pooled_excess)
_trust = _positional(pooling.trust)
_worth_sharing = _positional(pooling.worth_sharing)
_variance_and_error = _positional(pooling.variance_and_error)
_variance_within = _positional(pooling.variance_within)
_public_precision = _positional(pooling.public_precision)
_softened_age = _positional(pooling.softened_age)


@inline
def _observe(t: int, means: Array, state: PoolState) -> None:
    """Recover this round's samples from the running means, for their squares."""
    for a in range(means.shape[0]):
        for lane in range(means.shape[1]):
            mean = float(means[a, lane])
            sample = t * mean - (t - 1) * state.mean[a, lane]
            deviation = sample - state.midpoint[a, lane]
            state.squares[a, lane] += deviation * deviation
            state.mean[a, lane] = mean


@inline
def _release(t: int, means: Array, units: Array, pool: Pool, state: PoolState) -> bool:
    """Publish the means of those whose block ends. Returns whether there are any."""
    some = False
    for a in range(means.shape[0]):
        blocks = pool.blocks[pool.schedule[a], t]
        if blocks == 0:
            continue
        some = True
        begins = state.first[a] == 0
        if begins:
            state.first[a] = t
        half_range, sigma2_dp, scale = pool.half_range[a], pool.sigma2_dp[a], pool.scale[a]
        precision = _public_precision(half_range, sigma2_dp, t, blocks)
        # Neighbours believe no more (`pooling.largest_weight`), however much a liar claims.
        heaviest = max(precision, pooling.HEAVIEST * _public_precision(half_range, 0.0, t, 0))
        if begins:
            state.grown[a] = np.inf
        else:
            before = _public_precision(half_range, sigma2_dp, state.counted[a], state.drawn[a])
            state.grown[a] = precision / state.inputs.dtype.type(before)
        state.counted[a], state.drawn[a] = t, blocks
        for lane in range(means.shape[1]):
            if begins:
                state.since[a, lane] = t - 1
            if scale > 0:
                for kind in range(units.shape[0]):
                    state.noise[kind, a, lane] += units[kind, blocks - 1, a, lane]
            x = means[a, lane] + scale * state.noise[0, a, lane] / t
            if not pool.known:
                # Squares are noised at 2 L times the scale of sums.
                noise = 2 * half_range * scale * state.noise[1, a, lane]
                estimate, error = _variance_and_error(
                    (state.squares[a, lane] + noise) / t,
                    x - state.midpoint[a, lane],
                    half_range=half_range,
                    sigma2_dp=sigma2_dp,
                    count=t,
                    blocks=blocks,
                )
                inside = _variance_within(estimate, half_range)
                upper = _variance_within(estimate + pooling.BOUND_ERRORS * error, half_range)
                state.sigma2[a, lane], state.bound[a, lane] = inside, upper
                state.certain[a, lane] = error <= pooling.ERROR_SHARE * inside
            state.x[a, lane] = x
            tested = (state.bound[a, lane] + sigma2_dp * blocks / t) / t
            state.tested[a, lane] = pool.variance_times[a, lane] * tested
            v = (state.sigma2[a, lane] + sigma2_dp * blocks / t) / t
            state.v[a, lane] = max(v, pooling.SMALLEST_VARIANCE * half_range * half_range)
            weight = min(pool.precision_times[a, lane] * precision, heaviest)
            state.inputs[0, a, lane], state.inputs[1, a, lane] = weight * x, weight
    return some


@inline
def _decide(t: int, pool: Pool, state: PoolState) -> None:
    """Test every pair of which an end has just released (`TightBernstein`)."""
    for pair in range(pool.ends.shape[0]):
        a, b = pool.ends[pair, 0], pool.ends[pair, 1]
        count = min(state.counted[a], state.counted[b])
        if count == 0 or (state.counted[a] < t and state.counted[b] < t):
            continue
        s = pool.level[count]
        for lane in range(state.x.shape[1]):
            mine, theirs = pool.beta[a, lane], pool.beta[b, lane]
            bs = max(mine / state.counted[a], theirs / state.counted[b]) * s
            variance = state.tested[a, lane] + state.tested[b, lane]
            z = bs + sqrt(bs * bs + 2 * variance * s)
            state.reach[pair, lane] = pooling.FARTHEST * z
            accepted = abs(state.x[a, lane] - state.x[b, lane]) < z
            if accepted != state.accepted[pair, lane]:
                state.accepted[pair, lane] = accepted
                for agent in (a, b):
                    state.size[agent, lane] += 1 if accepted else -1
                    state.changed[agent, lane] = 1


@inline
def _soften(t: int, state: PoolState) -> None:
    """Let the age of agents whose accepted set changed fall back."""
    for a in range(state.since.shape[0]):
        for lane in range(state.since.shape[1]):
            if state.changed[a, lane] != 0:
                state.changed[a, lane] = 0
                state.since[a, lane] = t - _softened_age(t - 1 - state.since[a, lane], True)


@inline
def _weigh(pool: Pool, state: PoolState) -> None:
    """W of Eq. (2), and the sum of every agent's."""
    state.weights[:] = 0.0
    for pair in range(pool.ends.shape[0]):
        a, b = pool.ends[pair, 0], pool.ends[pair, 1]
        for lane in range(state.size.shape[1]):
            larger = max(state.size[a, lane], state.size[b, lane])
            weight = 1 / (larger + 1) if state.accepted[pair, lane] else 0.0
            state.weight[pair, lane] = weight
            state.weights[a, lane] += weight
            state.weights[b, lane] += weight


# The loops below are one statement each, with few arrays: else LLVM, which has to check that no two
# of them overlap, gives up on vectorising. For the same reason most are over all agents' lanes.


@inline
def _listen(
    a: int, pool: Pool, weight: Array, reach: Array, x: Array, told: Array, heard: Array
) -> None:
    """Add up what a's neighbours say, weighted."""
    lanes = heard.shape[2]
    for e in range(pool.indptr[a], pool.indptr[a + 1], VOICES):
        b, c, d, f = pool.indices[e], pool.indices[e + 1], pool.indices[e + 2], pool.indices[e + 3]
        p, q, r, s = pool.pair[e], pool.pair[e + 1], pool.pair[e + 2], pool.pair[e + 3]
        for i in range(lanes):
            mine = x[a, i]
            heard[0, a, i] += (
                weight[p, i] * _heard_numerator(told[0, b, i], told[1, b, i], mine, reach[p, i])
                + weight[q, i] * _heard_numerator(told[0, c, i], told[1, c, i], mine, reach[q, i])
                + weight[r, i] * _heard_numerator(told[0, d, i], told[1, d, i], mine, reach[r, i])
                + weight[s, i] * _heard_numerator(told[0, f, i], told[1, f, i], mine, reach[s, i])
            )
        for i in range(lanes):
            heard[1, a, i] += (
                weight[p, i] * told[1, b, i]
                + weight[q, i] * told[1, c, i]
                + weight[r, i] * told[1, d, i]
                + weight[s, i] * told[1, f, i]
            )


@inline
def _mix(mix: Array, own: Array, heard: Array, weights: Array) -> None:
    for i in range(mix.shape[0]):
        mix[i] = own[i] + (heard[i] - weights[i] * own[i])


@inline
def _track(new: Array, alpha: Array, value: Array, before: Array, mix: Array) -> None:
    for i in range(mix.shape[0]):
        new[i] = _tracked(alpha[i], value[i], before[i], mix[i])


@inline
def _measure(new: Array, x: Array, variance: Array, numerator: Array, denominator: Array) -> None:
    for i in range(x.shape[0]):
        excess = _excess(x[i], numerator[i] / denominator[i], variance[i])
        new[i] = excess if denominator[i] > 0 else 0.0


@inline
def _gossip(a: int, t: int, pool: Pool, first: Array, old: Array, new: Array, heard: Array) -> None:
    """Take the excess that a has measured into what it and its neighbours had."""
    weight = _forgetting(t - first[a])
    reach = old.dtype.type(pooling.LOUDEST * weight)
    silent = 0
    for e in range(pool.indptr[a], pool.indptr[a] + pool.degree[a]):
        b = pool.indices[e]
        if first[b] == 0 or first[b] == t:
            silent += 1
            continue
        for i in range(heard.shape[2]):
            heard[2, a, i] += _heard_excess(old[2, b, i], old[2, a, i], reach)
    for i in range(heard.shape[2]):
        # Whoever has nothing to say yet counts as if it said the same as a.
        average = ((1 + silent) * old[2, a, i] + heard[2, a, i]) / (1 + pool.degree[a])
        new[2, a, i] = _pooled_excess(weight, new[2, a, i], average)


@inline
def _share(t: int, pool: Pool, state: PoolState) -> None:
    """Mix what everybody had in the round before, and take in the latest releases."""
    old, new, heard, mix = state.shared[(t - 1) % 2], state.shared[t % 2], state.heard, state.mix
    x, alpha, since = state.x.reshape(-1), state.alpha.reshape(-1), state.since.reshape(-1)
    heard[:] = 0.0
    for i in range(since.shape[0]):
        alpha[i] = pool.alpha[t - since[i]]
    for a in range(state.first.shape[0]):
        _listen(a, pool, state.weight, state.reach, state.x, old, heard)
    for k in range(2):
        value, before, mixed = (
            state.inputs[k].reshape(-1),
            state.before[k].reshape(-1),
            mix[k].reshape(-1),
        )
        _mix(mixed, old[k].reshape(-1), heard[k].reshape(-1), state.weights.reshape(-1))
        _track(new[k].reshape(-1), alpha, value, before, mixed)
        for i in range(value.shape[0]):
            before[i] = value[i]
    _measure(
        new[2].reshape(-1),
        x,
        state.v.reshape(-1),
        heard[0].reshape(-1),
        heard[1].reshape(-1),
    )
    for a in range(state.first.shape[0]):
        if state.first[a] > 0:
            _gossip(a, t, pool, state.first, old, new, heard)


@inline
def _advance(first: int, data: Array, units: Array, pool: Pool, state: PoolState) -> None:
    for i in range(data.shape[0]):
        t, means = first + i, data[i]
        if not pool.known:
            _observe(t, means, state)
        if _release(t, means, units, pool, state):
            _decide(t, pool, state)
            _soften(t, state)
            _weigh(pool, state)
        _share(t, pool, state)


@inline
def _largest(a: int, lane: int, pool: Pool, state: PoolState) -> float:
    """The size of the largest accepted set among a's and those of the neighbours in it."""
    largest = state.size[a, lane]
    for e in range(pool.indptr[a], pool.indptr[a] + pool.degree[a]):
        if state.accepted[pool.pair[e], lane]:
            largest = max(largest, state.size[pool.indices[e], lane])
    return largest


@inline
def _answer(t: int, means: Array, pool: Pool, state: PoolState, answers: Array) -> None:
    for a in range(means.shape[0]):
        count, blocks, sigma2_dp = state.counted[a], state.drawn[a], pool.sigma2_dp[a]
        begun = count > 0 and t - state.first[a] >= pooling.FIRST_ANSWER
        for lane in range(means.shape[1]):
            local, sigma2 = float(means[a, lane]), state.sigma2[a, lane]
            answers[a, lane] = local
            exact = sigma2
            if not pool.known:
                deviation = local - state.midpoint[a, lane]
                exact = max(0.0, state.squares[a, lane] / t - deviation * deviation)
            worth = _worth_sharing(sigma2=sigma2, sigma2_dp=sigma2_dp, count=count, blocks=blocks)
            precision = state.mix[1, a, lane]
            ready = begun and worth and precision > 0 and state.certain[a, lane] != 0
            if ready and state.size[a, lane] > 1:
                own = _own_share(pool.alpha[t - state.since[a, lane]], state.weights[a, lane])
                left = _surely_left(own, _largest(a, lane, pool, state))
                # What is mixed in a round is of the round before: a release of now is not in it.
                variance = state.v[a, lane] * (state.grown[a] if count == t else 1.0)
                if left * variance >= exact / t:
                    continue
                shared = state.mix[0, a, lane] / precision
                trust = _trust(
                    local=local,
                    shared=shared,
                    sigma2=exact,
                    count=t,
                    bias2=state.shared[t % 2, 2, a, lane]
                    * state.v[a, lane]
                    * state.inputs[1, a, lane]
                    / precision,
                )
                answers[a, lane] = trust * shared + (1 - trust) * local


def _compiled_for(edition: int) -> tuple[Any, Any]:
    """`advance` and `answer`.

    numba's cache notices an edit of this file, but not one of `pooling`. It does tell closures
    apart by their variables.
    """

    @compiled
    def advance(first: int, data: Array, units: Array, pool: Pool, state: PoolState) -> None:
        """Rounds first, first + 1, ...: each row of `data`, real [rounds, M, L], has data means.

        `units[0, k, a]` [L] are the unit Laplace draws of agent a's block k, from 0; if the
        variance is not known, `units[1, k, a]` are those for its squares.
        """
        if edition >= 0:
            _advance(first, data, units, pool, state)

    @compiled
    def answer(t: int, means: Array, pool: Pool, state: PoolState, answers: Array) -> None:
        """Every agent's answer after round t, the latest, whose data means are `means`: [M, L]."""
        if edition >= 0:
            _answer(t, means, pool, state, answers)

    return advance, answer


advance, answer = _compiled_for(zlib.crc32(inspect.getsource(pooling).encode()))
