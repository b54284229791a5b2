"""The consensus values: Eq. (2) and Algorithm 1, line 15."""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from typing import Any

from colme.sim.kernel.acceptance import to_top
from colme.sim.kernel.arrays import WORD, Algorithms, Edges, Form, KernelState, Register, inline
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
)


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
