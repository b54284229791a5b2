"""`tracking` for many independent runs: rounds, and the answers to a round.

The formulas are those of `colme.rules.pooling`, compiled, for numbers or for registers of them.
"""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

import inspect
import zlib
from math import sqrt
from types import FunctionType
from typing import Any

import numpy as np

from colme.rules import pooling
from colme.sim.kernel.arrays import Array, Form, Register, compiled, inline
from colme.sim.kernel.pooled_arrays import Pool, PoolState
from colme.sim.kernel.simd import (
    fma,
    gather,
    ints,
    load,
    peek,
    reals,
    select,
    store,
    to_reals,
)


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
            accepted = abs(state.x[a, lane] - state.x[b, lane]) < z
            before = state.reach[pair, lane] > 0
            state.reach[pair, lane] = pooling.FARTHEST * z if accepted else 0.0
            if accepted != before:
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
    """1 / (size + 1), and the sum of W of Eq. (2) over every agent's accepted set."""
    for a in range(state.size.shape[0]):
        for lane in range(state.size.shape[1]):
            state.share[a, lane] = 1 / (state.size[a, lane] + 1)
    state.weights[:] = 0.0
    for pair in range(pool.ends.shape[0]):
        a, b = pool.ends[pair, 0], pool.ends[pair, 1]
        for lane in range(state.size.shape[1]):
            if state.reach[pair, lane] > 0:
                weight = min(state.share[a, lane], state.share[b, lane])
                state.weights[a, lane] += weight
                state.weights[b, lane] += weight


@inline
def _mix(
    form: Form, registers: int, a: int, r: int, whole: int, old: int, pool: Pool, state: PoolState
) -> Any:
    """What a's neighbours tell of numerator and denominator, weighted and added up."""
    zero = reals(form, 0.0)
    place = a * registers + r
    x, share = load(form, state.x, place), load(form, state.share, place)
    numerator, denominator = zero, zero
    for e in range(peek(pool.indptr, a), peek(pool.indptr, a + 1)):
        other = peek(pool.indices, e) * registers + r
        reach = load(form, state.reach, peek(pool.pair, e) * registers + r)
        # W of Eq. (2): one over the larger size + 1.
        weight = select(zero < reach, min(share, load(form, state.share, other)), zero)
        precision = load(form, state.shared, old + whole + other)
        told = _heard_numerator(load(form, state.shared, old + other), precision, x, reach)
        numerator = fma(weight, told, numerator)
        denominator = fma(weight, precision, denominator)
    return numerator, denominator


@inline
def _speaks(state: PoolState, a: int, t: int) -> bool:
    """Whether a has told an excess in the round before."""
    return 0 < peek(state.first, a) < t


@inline
def _gossip(
    form: Form,
    registers: int,
    a: int,
    r: int,
    t: int,
    excesses: int,
    reach: float,
    all_speak: bool,
    pool: Pool,
    state: PoolState,
) -> Any:
    """The average of the excess that a and its neighbours have told."""
    mine = load(form, state.shared, excesses + a * registers + r)
    total = mine
    first, end = peek(pool.indptr, a), peek(pool.indptr, a + 1)
    for e in range(first, end):
        b = peek(pool.indices, e)
        if not all_speak and not _speaks(state, b, t):
            # Whoever has nothing to say yet counts as if it said the same as a.
            total = total + mine
            continue
        told = load(form, state.shared, excesses + b * registers + r)
        total = total + _heard_excess(told, mine, reach)
    return total / (1 + end - first)


@inline
def _track(
    form: Form,
    state: PoolState,
    place: int,
    old: int,
    new: int,
    heard: Register,
    weights: Register,
    alpha: Register,
) -> None:
    """Numerator or denominator of an agent, at this place, from what it has heard of others'."""
    own = load(form, state.shared, old + place)
    mix = own + (heard - weights * own)
    value, before = load(form, state.inputs, place), load(form, state.before, place)
    store(state.mix, place, mix)
    store(state.before, place, value)
    store(state.shared, new + place, _tracked(alpha, value, before, mix))


@inline
def _share(form: Form, t: int, pool: Pool, state: PoolState) -> None:
    """Mix what everybody had in the round before, and take in the latest releases.

    Nearly all of the time is spent here. The lanes of an agent come a register at a time, and what
    is mixed apart from what is gossiped: more would not stay in the processor's registers.
    """
    agents, registers = state.first.size, state.x.shape[1] // len(form)
    whole = agents * registers
    old, new = (t - 1) % 2 * 3 * whole, t % 2 * 3 * whole
    zero = reals(form, 0.0)
    all_speak = True  # after the first rounds, which then need not look
    for a in range(agents):
        all_speak &= _speaks(state, a, t)
    for a in range(agents):
        first = peek(state.first, a)
        news = _forgetting(t - first)
        for r in range(registers):
            place = a * registers + r
            numerator, denominator = _mix(form, registers, a, r, whole, old, pool, state)
            age = ints(form, t) - load(form, state.since, place)
            alpha = to_reals(form, gather(pool.alpha, age))
            weights = load(form, state.weights, place)
            _track(form, state, place, old, new, numerator, weights, alpha)
            _track(form, state, whole + place, old, new, denominator, weights, alpha)
            variance = to_reals(form, load(form, state.v, place))
            excess = _excess(load(form, state.x, place), numerator / denominator, variance)
            excess = select(zero < denominator, excess, zero)
            if first > 0:
                gossip = _gossip(
                    form, registers, a, r, t, old + 2 * whole, pooling.LOUDEST * news, all_speak,
                    pool, state,
                )  # fmt: skip
                excess = _pooled_excess(news, excess, gossip)
            store(state.shared, new + 2 * whole + place, excess)


@inline
def _advance(
    form: Form, first: int, data: Array, units: Array, pool: Pool, state: PoolState
) -> None:
    for i in range(data.shape[0]):
        t, means = first + i, data[i]
        if not pool.known:
            _observe(t, means, state)
        if _release(t, means, units, pool, state):
            _decide(t, pool, state)
            _soften(t, state)
            _weigh(pool, state)
        _share(form, t, pool, state)


@inline
def _largest(a: int, lane: int, pool: Pool, state: PoolState) -> float:
    """The size of the largest accepted set among a's and those of the neighbours in it."""
    largest = state.size[a, lane]
    for e in range(pool.indptr[a], pool.indptr[a + 1]):
        if state.reach[pool.pair[e], lane] > 0:
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
    def advance(
        form: Form, first: int, data: Array, units: Array, pool: Pool, state: PoolState
    ) -> None:
        """Rounds first, first + 1, ...: each row of `data`, real [rounds, M, L], has data means.

        `form`: how many of the L lanes are worked on at a time, a part of them.

        `units[0, k, a]` [L] are the unit Laplace draws of agent a's block k, from 0; if the
        variance is not known, `units[1, k, a]` are those for its squares.
        """
        if edition >= 0:
            _advance(form, first, data, units, pool, state)

    @compiled
    def answer(t: int, means: Array, pool: Pool, state: PoolState, answers: Array) -> None:
        """Every agent's answer after round t, the latest, whose data means are `means`: [M, L]."""
        if edition >= 0:
            _answer(t, means, pool, state, answers)

    return advance, answer


advance, answer = _compiled_for(zlib.crc32(inspect.getsource(pooling).encode()))
