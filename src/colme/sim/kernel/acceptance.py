"""Who is in whose accepted set: the decision of Algorithm 1, line 9, for every agent and lane."""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from typing import Any

import numpy as np

from colme.sim.kernel.arrays import (
    COMMON,
    ORACLE,
    PAUSE,
    PER_EDGE,
    SETTLE,
    WORD,
    WORTHWHILE,
    Algorithms,
    Array,
    Edges,
    Form,
    KernelState,
    Register,
    RunningMeans,
    compiled,
    inline,
)
from colme.sim.kernel.simd import (
    absolute,
    any_lane,
    fma,
    gather,
    ints,
    load,
    minus_one,
    peek,
    poke,
    popcount,
    reals,
    select,
    store,
    to_reals,
)


@inline
def append(word: Register, accept: Register) -> Register:
    """The word with one more neighbour at its lower end."""
    return word + word - minus_one(accept)


@inline
def _distance(form: Form, graph: Edges, x: Array, own: Register, e: int) -> Register:
    return absolute(own - load(form, x, peek(graph.indices, e)))


@inline
def _compare_row(
    form: Form, graph: Edges, x: Array, own: Register, z: Register, e: int, end: int
) -> Any:
    """The word of the neighbours e..end, all against one threshold."""
    word = ints(form, 0)
    while e + 4 <= end:
        word = append(word, _distance(form, graph, x, own, e) < z)
        word = append(word, _distance(form, graph, x, own, e + 1) < z)
        word = append(word, _distance(form, graph, x, own, e + 2) < z)
        word = append(word, _distance(form, graph, x, own, e + 3) < z)
        e += 4
    while e < end:
        word = append(word, _distance(form, graph, x, own, e) < z)
        e += 1
    return word


@inline
def _smallest_margin(
    form: Form, graph: Edges, x: Array, own: Register, z: Register, e: int, end: int
) -> Any:
    """How far the neighbour nearest to its threshold is from it."""
    margin = reals(form, np.inf)
    while e < end:
        margin = min(margin, absolute(_distance(form, graph, x, own, e) - z))
        e += 1
    return margin


@inline
def _compare_row_per_edge(
    form: Form,
    graph: Edges,
    algorithms: Algorithms,
    k: int,
    t: int,
    state: KernelState,
    a: int,
    own: Register,
    e: int,
    end: int,
) -> Any:
    """The word of a's neighbours e..end, each against the threshold of its edge and classes."""
    _, edges, rows, pairs = algorithms.edge_z.shape
    word, column, kinds = ints(form, 0), (t - 1) % rows, algorithms.kinds
    kind = load(form, state.classes, a) * ints(form, kinds)
    while e < end:
        place = ((k * edges + (e if edges > 1 else 0)) * rows + column) * pairs
        if kinds == 1:
            z = reals(form, peek(algorithms.edge_z, place))
        else:
            other = load(form, state.classes, peek(graph.indices, e))
            z = gather(algorithms.edge_z, ints(form, place) + kind + other)
        word = append(word, _distance(form, graph, state.x, own, e) < z)
        e += 1
    return word


@inline
def same_row(form: Form, graph: Any, classes: Array, own: Register, e: int, end: int) -> Register:
    """The word of the neighbours e..end whose class is `own`."""
    word = ints(form, 0)
    while e < end:
        word = append(word, load(form, classes, peek(graph.indices, e)) == own)
        e += 1
    return word


@compiled
def mark_alike(form: Form, graph: Edges, classes: Array, same: Array) -> None:
    """Fill `same`: edges between agents whose `classes`, int32 [M, L], are equal."""
    for a in range(graph.indptr.size - 1):
        own = load(form, classes, a)
        e, end = peek(graph.indptr, a), peek(graph.indptr, a + 1)
        for w in range(peek(graph.words, a), peek(graph.words, a + 1)):
            store(same, w, same_row(form, graph, classes, own, e, min(e + WORD, end)))
            e += WORD


@inline
def to_top(form: Form, word: Register, count: int) -> Register:
    """A word's last `count` edges, moved so that the first of them is the top bit."""
    return word << ints(form, WORD - count)


@inline
def _note_changes(
    form: Form,
    graph: Edges,
    state: KernelState,
    k: int,
    t: int,
    e: int,
    end: int,
    word: Register,
    change: Register,
) -> None:
    """Count the changed edges e..end, the bits of `change`, at their other agents."""
    first = k * state.stale.shape[1]
    word, change = to_top(form, word, end - e), to_top(form, change, end - e)
    none, one = ints(form, 0), ints(form, 1)
    while e < end:
        flipped = change < none
        if any_lane(flipped):
            b = peek(graph.indices, e)
            gain = select(flipped, select(word < none, one, none - one), none)
            store(state.size, first + b, load(form, state.size, first + b) + gain)
            since = select(flipped, reals(form, t - 1), load(form, state.since, first + b))
            store(state.since, first + b, since)
            poke(state.changed, b, 1)
        word, change = word + word, change + change
        e += 1


@inline
def _accept_row(
    form: Form,
    graph: Edges,
    algorithms: Algorithms,
    k: int,
    t: int,
    state: KernelState,
    a: int,
    own: Register,
    z: Register,
) -> bool:
    """Decide agent a's edges in round t. Returns whether one changed."""
    rule, words, place = algorithms.rule[k], state.same.shape[0], k * state.stale.shape[1] + a
    e, end = peek(graph.indptr, a), peek(graph.indptr, a + 1)
    changes = ints(form, 0)
    for w in range(peek(graph.words, a), peek(graph.words, a + 1)):
        stop = min(e + WORD, end)
        if rule == COMMON:
            word = _compare_row(form, graph, state.x, own, z, e, stop)
        elif rule == PER_EDGE:
            word = _compare_row_per_edge(form, graph, algorithms, k, t, state, a, own, e, stop)
        elif rule == ORACLE:
            word = load(form, state.same, w)
        else:
            word = load(form, state.given, k * words + w)
        old = load(form, state.accepted, k * words + w)
        change = word ^ old
        if any_lane(change != ints(form, 0)):
            store(state.accepted, k * words + w, word)
            size = load(form, state.size, place) + popcount(word) - popcount(old)
            store(state.size, place, size)
            changes = changes | change
            _note_changes(form, graph, state, k, t, e, stop, word, change)
        e += WORD
    if not any_lane(changes != ints(form, 0)):
        return False
    since = load(form, state.since, place)
    store(state.since, place, select(changes != ints(form, 0), reals(form, t - 1), since))
    poke(state.changed, a, 1)
    return True


@inline
def _follow_changes(form: Form, graph: Edges, state: KernelState, k: int) -> None:
    """Bring the shares of agents whose accepted set changed up to date; weights wait for `mix`."""
    agents = state.stale.shape[1]
    for a in range(agents):
        if peek(state.changed, a) == 0:
            continue
        poke(state.changed, a, 0)
        size = to_reals(form, load(form, state.size, k * agents + a))
        store(state.share, k * agents + a, reals(form, 1.0) / (size + reals(form, 1.0)))
        poke(state.stale, k * agents + a, SETTLE)
        for e in range(peek(graph.lower_indptr, a), peek(graph.lower_indptr, a + 1)):
            poke(state.stale, k * agents + peek(graph.lower_indices, e), SETTLE)


@inline
def _travel(
    form: Form,
    algorithms: Algorithms,
    k: int,
    t: int,
    stream: RunningMeans,
    state: KernelState,
    loudest: float,
) -> tuple[Register, bool]:
    """How far |x_a - x_b| - z can have moved on any edge since some fixed round, never too little.

    And whether that is unknown in this round, so that nothing can be concluded from earlier tests.
    """
    shift = abs(algorithms.z[k, t] - algorithms.z[k, t - 1])
    if t == 1 or not shift < np.inf:
        travelled = reals(form, 0.0)
        store(state.travelled, k, travelled)
        return travelled, True
    row = (t - 1) % stream.data.shape[0]
    noise = load(form, stream.motion, 2 * row + 1)
    step = fma(noise, reals(form, loudest), load(form, stream.motion, 2 * row))
    travelled = load(form, state.travelled, k) + (step + step + reals(form, shift))
    travelled = travelled * reals(form, 1 + 2.0**-21)  # more than the roundings of this sum
    store(state.travelled, k, travelled)
    return travelled, False


@inline
def accept(
    form: Form, graph: Edges, algorithms: Algorithms, k: int, t: int, stream: RunningMeans,
    state: KernelState, loudest: float, force: bool,
) -> None:  # fmt: skip
    """Every agent's accepted set of round t.

    Once the means have settled, few edges are near their threshold. An agent's row is tested again
    only when its edges can have travelled as far as the one nearest to its threshold had to go.
    """
    agents = state.stale.shape[1]
    z = reals(form, algorithms.z[k, t])
    travelled, unknown = _travel(form, algorithms, k, t, stream, state, loudest)
    lazy = algorithms.rule[k] == COMMON
    force = force or unknown or not lazy
    changed = False
    for a in range(agents):
        place = k * agents + a
        if not force and not any_lane(travelled >= load(form, state.deadline, place)):
            continue
        own = load(form, state.x, a)
        changed |= _accept_row(form, graph, algorithms, k, t, state, a, own, z)
        if not lazy or t < peek(state.retry, place):
            continue
        # Rounding: of x, which is as large as `own`, and of z, at either end of the journey.
        e, end = peek(graph.indptr, a), peek(graph.indptr, a + 1)
        margin = _smallest_margin(form, graph, state.x, own, z, e, end)
        margin = margin - (margin + absolute(own) + z) * reals(form, 2.0**-20)
        deadline = (travelled + margin) * reals(form, 1 - 2.0**-21)
        store(state.deadline, place, deadline)
        if t - peek(state.tested, place) < WORTHWHILE:
            poke(state.retry, place, t + PAUSE)
            store(state.deadline, place, reals(form, -1.0))
        poke(state.tested, place, t)
    if changed:
        _follow_changes(form, graph, state, k)
