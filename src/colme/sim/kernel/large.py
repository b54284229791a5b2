"""One run on one large graph, by as many threads as there are.

Here no runs stand side by side, and agents do not fit into a cache: what takes time is to look up
neighbours. So an agent looks at each neighbour once a round, at one place of memory: in the pass of
round t it mixes the neighbours' consensus values of round t - 1 by the weights of round t, and
decides by the releases of round t + 1 who will be accepted then. Nobody writes to a neighbour, so
that a pass may be cut into spans of agents, each a thread's; all passes of a round end before the
next begins. The sums are those of `rounds`, in the same order, and the draws those of `generator`:
results are the same bits, however many spans there are.
"""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from typing import Any, Final, NamedTuple

import numpy as np

from colme.sim.kernel.acceptance import append, same_row, to_top
from colme.sim.kernel.arrays import (
    ORACLE,
    WORD,
    Algorithms,
    Array,
    Form,
    Origin,
    Register,
    aligned,
    compiled,
    inline,
    zeros,
)
from colme.sim.kernel.generator import generator_state, leap_on, leap_over, leapt, next_sample
from colme.sim.kernel.recording import OF_THREE, square
from colme.sim.kernel.simd import (
    absolute,
    floor,
    fma,
    ints,
    load,
    minus_one,
    peek,
    popcount,
    prefetch,
    reals,
    select,
    store,
    to_doubles,
    to_reals,
    unsigned_shift_right,
)

ROWS: Final = 3
"""Rounds of data kept: the one that may be recorded, the next and the one after, just drawn."""

FIELDS: Final = 4
"""Of a node, side by side in one line of the cache: what its neighbours look at, its consensus
value, its share (1 / (size + 1)) and its release; and the round before its last change."""

BLOCK: Final = 2048
"""Agents whose samples are drawn before they are used: they stay in the cache meanwhile."""

AHEAD: Final = 8
"""Agents between the one whose neighbours are called for and the one whose turn it is: measured."""

COUNTED: Final = ("size", "local", "close", "missed", "mixed_up")
"""What is counted in a recorded round, in this order; as in `KernelRecord`."""


class Neighbours(NamedTuple):
    """Both directions of every edge. Accepted sets are bits, as in `Edges`; a's words begin at
    indptr[a] // 32 + a, where there is room for all of them."""

    indptr: Array  # int64 [M + 1]
    indices: Array  # int32 [2 E], ascending within a row


class LargeState(NamedTuple):
    """Before the pass of round t, side t % 2 of `nodes` has consensus values of t - 1, shares of t,
    releases of t + 1; the pass writes the other side."""

    nodes: Array  # real [A, 2, M, 4, L]
    accepted: Array  # int32 [A, words, L]: of round t
    data: Array  # real [3, M, L]: running means of round t at (t - 1) % 3
    noise: Array  # real [M, L]: the running mean of the unit noise, of the round drawn last
    answers: Array  # real [A, M, L]: of the latest recorded round
    alike: Array  # int32 [M, L]: equal for agents of the same mean
    bits: Array  # int32 [spans, 4, L]: the generator, where each span goes on
    leaps: Array  # int32 [spans, 128, 4]: over the draws of all other spans
    counts: Array  # int32 [spans, A, 5, L]: COUNTED, of the latest recorded round


def new_large_state(
    form: Form, graph: Neighbours, rules: Algorithms, alike: Any, *, start: float, seed: int,
    runs: range, spans: list[tuple[int, int]],
) -> LargeState:  # fmt: skip
    """The state before anything is drawn; `runs` are those of the lanes."""
    dtype, lanes = form[0].dtype, len(form)
    agents, count = graph.indptr.size - 1, rules.rule.size
    words = int(graph.indptr[-1]) // WORD + agents
    nodes = zeros((count, 2, agents, FIELDS, lanes), dtype)
    nodes[:, :, :, 0], nodes[:, :, :, 1] = start, 0.5  # nobody but oneself is accepted yet
    bits = zeros((len(spans), 4, lanes), np.int32)
    seeds = np.array([generator_state(seed, run) for run in runs], np.uint32).view(np.int32)
    for span, (first, _) in enumerate(spans):
        bits[span] = np.array([leapt(one, leap_over(2 * first)) for one in seeds]).T
    leaps = [leap_over(2 * (agents - (end - first))) for first, end in spans]
    return LargeState(
        nodes=nodes,
        accepted=zeros((count, words, lanes), np.int32),
        data=zeros((ROWS, agents, lanes), dtype),
        noise=zeros((agents, lanes), dtype),
        answers=zeros((count, agents, lanes), dtype),
        alike=aligned(alike, np.int32),
        bits=bits,
        leaps=np.array(leaps),
        counts=zeros((len(spans), count, len(COUNTED), lanes), np.int32),
    )


@inline
def _draw(form: Form, t: int, first: int, end: int, population: Origin, state: LargeState,
    s0: Register, s1: Register, s2: Register, s3: Register) -> Any:  # fmt: skip
    """The running means of round t of some agents, as `generator.draw` has them."""
    agents = state.noise.shape[0]
    gain, nine = reals(form, 1.0 / t), ints(form, 9)
    old, new = (t - 2) % ROWS * agents, (t - 1) % ROWS * agents
    for a in range(first, end):
        sample, unit, s0, s1, s2, s3 = next_sample(form, population, a, s0, s1, s2, s3, nine)
        mean, noise = load(form, state.data, old + a), load(form, state.noise, a)
        store(state.data, new + a, fma(sample - mean, gain, mean))
        store(state.noise, a, fma(unit - noise, gain, noise))
    return s0, s1, s2, s3


@inline
def _top_bit(form: Form, word: Register) -> Register:
    """1 where the top bit is set, else 0, as a float.

    Selecting by it would be a branch where there is one lane: nobody can predict who is accepted,
    and after a wrong guess the processor has no neighbours under way.
    """
    return to_reals(form, unsigned_shift_right(word, ints(form, 31)))


@inline
def _call_for(form: Form, now: int, a: int, graph: Neighbours, state: LargeState) -> None:
    """Have what a's neighbours show brought near, before it is a's turn."""
    for e in range(peek(graph.indptr, a), peek(graph.indptr, a + 1)):
        prefetch(state.nodes, FIELDS * (now + peek(graph.indices, e)) * len(form))


@inline
def _call_for_alike(form: Form, a: int, graph: Neighbours, state: LargeState) -> None:
    for e in range(peek(graph.indptr, a), peek(graph.indptr, a + 1)):
        prefetch(state.alike, peek(graph.indices, e) * len(form))


@inline
def _pass(
    form: Form, k: int, t: int, a: int, z: Register, graph: Neighbours, rules: Algorithms,
    state: LargeState,
) -> Register:  # fmt: skip
    """Agent a's consensus value of round t, which is returned, and its accepted set of the next."""
    agents, words = state.noise.shape[0], state.accepted.shape[1]
    now, later = (2 * k + t % 2) * agents, (2 * k + (t + 1) % 2) * agents
    here, there = FIELDS * (now + a), FIELDS * (later + a)
    mu, own = load(form, state.nodes, here), load(form, state.nodes, here + 1)
    coming, since = load(form, state.nodes, here + 2), load(form, state.nodes, here + 3)
    released = load(form, state.nodes, there + 2)
    _call_for(form, now, min(a + AHEAD, agents - 1), graph, state)
    flow, size, changes = reals(form, 0.0), ints(form, 1), ints(form, 0)
    e, end = peek(graph.indptr, a), peek(graph.indptr, a + 1)
    w = k * words + e // WORD + a
    while e < end:
        begin, stop = e, min(e + WORD, end)
        old, word = load(form, state.accepted, w), ints(form, 0)
        top = to_top(form, old, stop - e)
        while e < stop:
            b = FIELDS * (now + peek(graph.indices, e))
            share = min(own, load(form, state.nodes, b + 1))
            flow = fma(share * _top_bit(form, top), load(form, state.nodes, b) - mu, flow)
            word = append(word, absolute(coming - load(form, state.nodes, b + 2)) < z)
            top = top + top
            e += 1
        if rules.rule[k] == ORACLE:
            alike = load(form, state.alike, a)
            word = same_row(form, graph, state.alike, alike, begin, stop) if t == 0 else old
        store(state.accepted, w, word)
        size = size + popcount(word)
        changes = changes | (word ^ old)
        w += 1
    mean = mu + flow
    if t > 0:
        half_more = reals(form, t + 0.5)  # floor((age + 1/2) / stride) stands clear of rounding
        level = floor((half_more - since) * reals(form, 1.0 / rules.stride[k]))
        mean = mean + (released - mean) / (level + reals(form, rules.offset[k] + 1))
    store(state.nodes, there, mean)
    store(state.nodes, there + 1, reals(form, 1.0) / (to_reals(form, size) + reals(form, 1.0)))
    after = select(changes != ints(form, 0), reals(form, t), since)
    store(state.nodes, there + 3, after)
    return mean


@inline
def _look(form: Form, k: int, t: int, a: int, graph: Neighbours, state: LargeState) -> Any:
    """Before its pass of round t: the least share in a's accepted set, how many are in it, how many
    neighbours like a are not, and how many unlike are."""
    agents, words = state.noise.shape[0], state.accepted.shape[1]
    now = (2 * k + t % 2) * agents
    least = load(form, state.nodes, FIELDS * (now + a) + 1)
    size, missed, mixed_up = ints(form, 1), ints(form, 0), ints(form, 0)
    e, end = peek(graph.indptr, a), peek(graph.indptr, a + 1)
    w = k * words + e // WORD + a
    while e < end:
        stop = min(e + WORD, end)
        word = load(form, state.accepted, w)
        same = same_row(form, graph, state.alike, load(form, state.alike, a), e, stop)
        size, agreed = size + popcount(word), popcount(word & same)
        missed = missed + popcount(same) - agreed
        mixed_up = mixed_up + popcount(word) - agreed
        top = to_top(form, word, stop - e)
        while e < stop:
            share = load(form, state.nodes, FIELDS * (now + peek(graph.indices, e)) + 1)
            least = min(least, share + _top_bit(form, top ^ ints(form, -1)))
            top = top + top
            e += 1
        w += 1
    return least, size, missed, mixed_up


@inline
def _pass_recorded(
    form: Form, k: int, t: int, first: int, end: int, span: int, z: Register, tolerance: float,
    graph: Neighbours, population: Origin, rules: Algorithms, state: LargeState,
) -> None:  # fmt: skip
    """The pass of some agents, with their answers and what is counted of them."""
    agents, none = state.noise.shape[0], ints(form, 0)
    size, local, close, missed, mixed_up = none, none, none, none, none
    for a in range(first, end):
        _call_for_alike(form, min(a + AHEAD, agents - 1), graph, state)
        least, accepted, lacking, wrong = _look(form, k, t, a, graph, state)
        size, missed, mixed_up = size + accepted, missed + lacking, mixed_up + wrong
        mean = _pass(form, k, t, a, z, graph, rules, state)
        collaborates = least < reals(form, OF_THREE)
        data = load(form, state.data, (t - 1) % ROWS * agents + a)
        answer = select(collaborates, mean, data)
        store(state.answers, k * agents + a, answer)
        error = absolute(answer - load(form, population.location, a))
        close = close - minus_one(reals(form, tolerance) >= error)
        local = local + ints(form, 1) + minus_one(collaborates)
    place = (span * rules.rule.size + k) * state.counts.shape[2]
    store(state.counts, place, load(form, state.counts, place) + size)
    store(state.counts, place + 1, load(form, state.counts, place + 1) + local)
    store(state.counts, place + 2, load(form, state.counts, place + 2) + close)
    store(state.counts, place + 3, load(form, state.counts, place + 3) + missed)
    store(state.counts, place + 4, load(form, state.counts, place + 4) + mixed_up)


@inline
def _release(
    form: Form, k: int, t: int, first: int, end: int, rules: Algorithms, state: LargeState
) -> None:
    """Put what some agents release in round t where the pass of round t - 1 finds it."""
    agents = state.noise.shape[0]
    data, side = (t - 1) % ROWS * agents, (2 * k + (t - 1) % 2) * agents
    scale = reals(form, rules.scale[rules.noise[k], 0])
    for a in range(first, end):
        x = fma(scale, load(form, state.noise, a), load(form, state.data, data + a))
        store(state.nodes, FIELDS * (side + a) + 2, x)


@compiled
def advance_span(
    form: Form, first: int, last: int, recorded: bool, span: int, start: int, end: int,
    tolerance: float, graph: Neighbours, population: Origin, rules: Algorithms, state: LargeState,
) -> None:  # fmt: skip
    """Agents start..end through the passes of rounds first..last, of which the last is recorded,
    or not. It all begins with -1, which only draws round 1, and 0, of which round 1 is decided.

    Where there are several spans, all have to end one round before any begins the next.
    """
    whole = end - start == state.noise.shape[0]
    s0, s1 = load(form, state.bits, 4 * span), load(form, state.bits, 4 * span + 1)
    s2, s3 = load(form, state.bits, 4 * span + 2), load(form, state.bits, 4 * span + 3)
    for t in range(first, last + 1):
        measured = recorded and t == last
        for block in range(start, end, BLOCK):
            stop = min(block + BLOCK, end)
            s0, s1, s2, s3 = _draw(form, t + 2, block, stop, population, state, s0, s1, s2, s3)
            for k in range(rules.rule.size):
                # Of the round after the last nothing is used: any threshold will do.
                z = reals(form, rules.z[k, min(t + 1, rules.z.shape[1] - 1)])
                if measured:
                    _pass_recorded(form, k, t, block, stop, span, z, tolerance, graph, population,
                        rules, state)  # fmt: skip
                elif t >= 0:
                    for a in range(block, stop):
                        _pass(form, k, t, a, z, graph, rules, state)
                _release(form, k, t + 2, block, stop, rules, state)
        if not whole:
            s0, s1, s2, s3 = leap_on(form, state.leaps, span, s0, s1, s2, s3)
    store(state.bits, 4 * span, s0)
    store(state.bits, 4 * span + 1, s1)
    store(state.bits, 4 * span + 2, s2)
    store(state.bits, 4 * span + 3, s3)


@compiled
def squared_errors(
    form: Form, values: Array, first: int, location: Array, errors: Array, row: int
) -> None:
    """Sum the squared errors of values first.. into a row of errors, in the order of the agents."""
    error = to_doubles(form, ints(form, 0))
    for a in range(location.shape[0]):
        value, truth = load(form, values, first + a), load(form, location, a)
        error = error + square(form, value, truth)
    store(errors, row, error)


@compiled
def edges_within(form: Form, graph: Neighbours, alike: Array, within: Array) -> None:
    """Per lane, int32 [L]: the edges between agents that are alike, in both directions."""
    total = ints(form, 0)
    for a in range(graph.indptr.size - 1):
        own = load(form, alike, a)
        for e in range(peek(graph.indptr, a), peek(graph.indptr, a + 1)):
            total = total - minus_one(load(form, alike, peek(graph.indices, e)) == own)
    store(within, 0, total)
