"""Whole rounds, which the runner calls, and the state they begin with.

In each, releases, decisions (`acceptance`) and consensus values: Eq. (2) and Algorithm 1, line 15.
"""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from typing import Any

import numpy as np

from colme.sim.kernel.acceptance import accept, mark_alike, to_top
from colme.sim.kernel.arrays import (
    GIVEN,
    ORACLE,
    WORD,
    Algorithms,
    Array,
    Edges,
    Form,
    KernelState,
    Origin,
    Register,
    RunningMeans,
    Schedule,
    Truth,
    aligned,
    compiled,
    inline,
    zeros,
)
from colme.sim.kernel.generator import draw, place_of
from colme.sim.kernel.recording import KernelRecord, record_round, square
from colme.sim.kernel.simd import (
    floor,
    fma,
    ints,
    load,
    minus_product,
    peek,
    poke,
    reals,
    select,
    store,
    to_doubles,
)


@inline
def _release(
    form: Form, algorithms: Algorithms, k: int, stream: RunningMeans, t: int, x: Array
) -> float:
    """Every agent's released mean of round t. Returns the largest of their noise scales."""
    agents = x.shape[0]
    first, level = place_of(stream, t), algorithms.noise[k] * agents
    loudest = 0.0
    for a in range(agents):
        scale = peek(algorithms.scale, level + a)
        loudest = max(loudest, scale)
        noise, data = load(form, stream.noise, first + a), load(form, stream.data, first + a)
        store(x, a, fma(reals(form, scale), noise, data))
    return loudest


@inline
def _top_weight(
    form: Form, graph: Edges, state: KernelState, first: int, e: int, own: Register, word: Register
) -> Register:
    """W_ab of Eq. (2): 1 / (the larger size + 1) if the word's top bit accepts edge e, else 0."""
    share = min(own, load(form, state.share, first + peek(graph.indices, e)))
    return select(word < ints(form, 0), share, reals(form, 0.0))


@inline
def _store_weights(form: Form, graph: Edges, state: KernelState, k: int, a: int) -> None:
    """Write agent a's row of `weight`."""
    agents, words, row = state.stale.shape[1], state.same.shape[0], k * state.weight.shape[1]
    own = load(form, state.share, k * agents + a)
    e, end = peek(graph.indptr, a), peek(graph.indptr, a + 1)
    for w in range(peek(graph.words, a), peek(graph.words, a + 1)):
        stop = min(e + WORD, end)
        word = to_top(form, load(form, state.accepted, k * words + w), stop - e)
        while e < stop:
            weight = _top_weight(form, graph, state, k * agents, e, own, word)
            store(state.weight, row + e, weight)
            word = word + word
            e += 1


@inline
def _exchange(
    form: Form,
    graph: Edges,
    state: KernelState,
    now: int,
    e: int,
    weight: Register,
    mu: Register,
    flow: Register,
) -> Register:
    """Add W_ab (mu_b - mu_a) to a's flow, which is returned, and its negative to b's."""
    b = peek(graph.indices, e)
    difference = load(form, state.mu, now + b) - mu
    store(state.flow, b, minus_product(weight, difference, load(form, state.flow, b)))
    return fma(weight, difference, flow)


@inline
def _stored_flow(
    form: Form, graph: Edges, state: KernelState, k: int, now: int, a: int, mu: Register
) -> Any:
    """All that flows to agent a, by stored weights; lower neighbours have had their turn."""
    row, flow = k * state.weight.shape[1], load(form, state.flow, a)
    for e in range(peek(graph.indptr, a), peek(graph.indptr, a + 1)):
        weight = load(form, state.weight, row + e)
        flow = _exchange(form, graph, state, now, e, weight, mu, flow)
    return flow


@inline
def _fresh_flow(
    form: Form, graph: Edges, state: KernelState, k: int, now: int, a: int, mu: Register
) -> Any:
    """The same, bit for bit, without stored weights."""
    agents, words = state.stale.shape[1], state.same.shape[0]
    own, flow = load(form, state.share, k * agents + a), load(form, state.flow, a)
    e, end = peek(graph.indptr, a), peek(graph.indptr, a + 1)
    for w in range(peek(graph.words, a), peek(graph.words, a + 1)):
        stop = min(e + WORD, end)
        word = to_top(form, load(form, state.accepted, k * words + w), stop - e)
        while e < stop:
            weight = _top_weight(form, graph, state, k * agents, e, own, word)
            flow = _exchange(form, graph, state, now, e, weight, mu, flow)
            word = word + word
            e += 1
    return flow


@inline
def mix(
    form: Form, graph: Edges, algorithms: Algorithms, k: int, t: int, state: KernelState
) -> None:
    """Every agent's consensus mean of round t, from the neighbours' of round t - 1."""
    agents = state.stale.shape[1]
    now, later = (2 * k + (t - 1) % 2) * agents, (2 * k + t % 2) * agents
    half_more = reals(form, t + 0.5)  # floor((age + 1/2) / stride) stands clear of rounding
    per_stride = reals(form, 1.0 / algorithms.stride[k])
    one_more = reals(form, algorithms.offset[k] + 1)
    for a in range(agents):
        place = k * agents + a
        mu = load(form, state.mu, now + a)
        unsettled = peek(state.stale, place)
        if unsettled > 0:
            poke(state.stale, place, unsettled - 1)
        if unsettled == 1:
            _store_weights(form, graph, state, k, a)
        if unsettled > 1:
            mean = mu + _fresh_flow(form, graph, state, k, now, a, mu)
        else:
            mean = mu + _stored_flow(form, graph, state, k, now, a, mu)
        store(state.flow, a, reals(form, 0.0))
        level = floor((half_more - load(form, state.since, place)) * per_stride)
        mean = mean + (load(form, state.x, a) - mean) / (level + one_more)
        store(state.mu, later + a, mean)


@compiled
def step(
    form: Form, k: int, first: int, last: int, graph: Edges, truth: Truth, schedule: Schedule,
    algorithms: Algorithms, stream: RunningMeans, state: KernelState, record: KernelRecord,
) -> None:  # fmt: skip
    """Take algorithm k through rounds first..last, which the stream holds."""
    for t in range(first, last + 1):
        loudest = _release(form, algorithms, k, stream, t, state.x)
        if t == 1 or algorithms.rule[k] != ORACLE:
            accept(form, graph, algorithms, k, t, stream, state, loudest, t == 1)
        mix(form, graph, algorithms, k, t, state)
        row = peek(schedule.record, t)
        if row >= 0:
            tolerance = schedule.tolerance
            record_round(form, graph, k, row, stream, t, truth, tolerance, state, record)


@compiled
def measure_local(
    form: Form, first: int, last: int, truth: Truth, schedule: Schedule, stream: RunningMeans,
    error: Array,
) -> None:  # fmt: skip
    """The squared error of the data means, float64 [rows, L], where a round is recorded."""
    for t in range(first, last + 1):
        row = peek(schedule.record, t)
        if row < 0:
            continue
        start, total = place_of(stream, t), to_doubles(form, ints(form, 0))
        for a in range(truth.location.shape[0]):
            data, location = load(form, stream.data, start + a), load(form, truth.location, a)
            honest = to_doubles(form, load(form, truth.honest, a))
            total = total + honest * square(form, data, location)
        store(error, row, total)


@compiled
def simulate(
    form: Form, first: int, last: int, graph: Edges, population: Origin, truth: Truth,
    schedule: Schedule, algorithms: Algorithms, stream: RunningMeans, state: KernelState,
    record: KernelRecord, local_error: Array,
) -> None:  # fmt: skip
    """Rounds first..last of all algorithms. May be called again to go on from where it stopped."""
    rows, start = stream.data.shape[0], first
    while start <= last:
        stop = min(start + rows - 1, last)
        draw(form, start, stop, population, stream)
        for k in range(algorithms.rule.size):
            step(form, k, start, stop, graph, truth, schedule, algorithms, stream, state, record)
        measure_local(form, start, stop, truth, schedule, stream, local_error)
        start = stop + 1


def new_truth(form: Form, graph: Edges, location: Array, honest: Array | None = None) -> Truth:
    """Of agents with these means; all are honest, or those that `honest`, [M, L], says."""
    told = np.ones(location.shape, np.int32) if honest is None else aligned(honest, np.int32)
    marks = aligned(told, np.int32)
    # A liar is like nobody: what is left are the edges between honest agents.
    liars, lanes = np.nonzero(told == 0)
    marks[liars, lanes] = -1 - liars
    edges = zeros((int(graph.words[-1]), len(form)), np.int32)
    mark_alike(form, graph, marks, edges)
    return Truth(aligned(location, form[0].dtype), aligned(told, np.int32), edges)


def new_state(
    form: Form,
    graph: Edges,
    algorithms: Algorithms,
    population: Origin,
    *,
    alike: Array | None = None,
    start: float = 0.0,
    keeps_answers: bool = False,
) -> KernelState:
    """The state before the first round; `start` is the consensus value that all begin with.

    `alike`, [M, L], is equal for agents of the same mean: their class, unless it is given.
    """
    dtype, lanes = form[0].dtype, len(form)
    agents, words, count = graph.indptr.size - 1, int(graph.words[-1]), algorithms.rule.size
    same = zeros((words, lanes), np.int32)
    mark_alike(form, graph, population.classes if alike is None else aligned(alike, np.int32), same)
    size, share = zeros((count, agents, lanes), np.int32), zeros((count, agents, lanes), dtype)
    size[...], share[...] = 1, 0.5  # nobody but oneself is accepted yet
    given = count if (algorithms.rule == GIVEN).any() else 1
    mu = zeros((count, 2, agents, lanes), dtype)
    mu[...] = start
    return KernelState(
        classes=population.classes,
        same=same,
        given=zeros((given, words, lanes), np.int32),
        x=zeros((agents, lanes), dtype),
        flow=zeros((agents, lanes), dtype),
        least=zeros((agents, lanes), dtype),
        answers=zeros((count if keeps_answers else 0, agents, lanes), dtype),
        mu=mu,
        accepted=zeros((count, words, lanes), np.int32),
        size=size,
        share=share,
        since=zeros((count, agents, lanes), dtype),
        changed=np.zeros(agents, np.uint8),
        weight=zeros((count, graph.indices.size, lanes), dtype),
        stale=np.zeros((count, agents), np.uint8),
        travelled=zeros((count, lanes), dtype),
        deadline=zeros((count, agents, lanes), dtype),
        tested=np.zeros((count, agents), np.int32),
        retry=np.zeros((count, agents), np.int32),
    )


def edge_totals(truth: Truth, state: KernelState) -> tuple[Array, Array]:
    """Per lane, the edges within a class and between, in both directions as in `KernelRecord`."""
    within, measured = _directed(state.same & truth.edges), _directed(truth.edges)
    return within, measured - within


def _directed(words: Array) -> Array:
    both: Array = 2 * np.bitwise_count(words.view(np.uint32)).sum(0, dtype=np.int64)
    return both
