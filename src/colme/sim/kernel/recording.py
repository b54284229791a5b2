"""What is measured in a recorded round, the last branch of Algorithm 1 included."""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from typing import Final, NamedTuple

import numpy as np

from colme.sim.kernel.acceptance import to_top
from colme.sim.kernel.arrays import (
    WORD,
    Algorithms,
    Array,
    Edges,
    Form,
    KernelState,
    Register,
    RunningMeans,
    Truth,
    inline,
    zeros,
)
from colme.sim.kernel.generator import place_of
from colme.sim.kernel.simd import (
    absolute,
    ints,
    load,
    minus_one,
    peek,
    popcount,
    reals,
    select,
    store,
    to_doubles,
)

OF_THREE: Final = 0.3
"""Between the shares of sizes up to 2, at least 1/3, and those of all others, at most 1/4."""


class KernelRecord(NamedTuple):
    """Sums over agents, or over both directions of the edges, in each recorded round.

    Fields are named as in `colme.sim.engines.engine`.
    """

    error: Array  # float64 [A, rows, L]: squared error of the answer
    size: Array  # float64 [A, rows, L]: sizes of the accepted sets, the agent itself included
    local: Array  # float64 [A, rows, L]: agents that answer with their data mean
    close: Array  # float64 [A, rows, L]: agents whose answer is within the tolerance
    missed: Array  # float64 [A, rows, L]: edges within a class not accepted (type I)
    mixed_up: Array  # float64 [A, rows, L]: edges between classes accepted (type II)


@inline
def square(form: Form, value: Register, truth: Register) -> Register:
    """The squared error, in double precision."""
    error = to_doubles(form, value) - to_doubles(form, truth)
    return error * error


@inline
def _smallest_shares(form: Form, graph: Edges, state: KernelState, k: int) -> None:
    """Fill `least`: the least 1 / (size + 1) in each agent's accepted set, itself included."""
    agents, words = state.stale.shape[1], state.same.shape[0]
    for a in range(agents):
        store(state.least, a, load(form, state.share, k * agents + a))
    for a in range(agents):
        own, least = load(form, state.share, k * agents + a), load(form, state.least, a)
        e, end = peek(graph.indptr, a), peek(graph.indptr, a + 1)
        for w in range(peek(graph.words, a), peek(graph.words, a + 1)):
            stop = min(e + WORD, end)
            word = to_top(form, load(form, state.accepted, k * words + w), stop - e)
            while e < stop:
                b = peek(graph.indices, e)
                both = min(own, load(form, state.share, k * agents + b))
                reached = word < ints(form, 0)
                least = select(reached, min(least, both), least)
                other = load(form, state.least, b)
                store(state.least, b, select(reached, min(other, both), other))
                word = word + word
                e += 1
        store(state.least, a, least)


@inline
def record_round(
    form: Form,
    graph: Edges,
    k: int,
    row: int,
    stream: RunningMeans,
    t: int,
    truth: Truth,
    tolerance: float,
    state: KernelState,
    record: KernelRecord,
) -> None:
    """Write what algorithm k answers in round t into a row of the record."""
    agents, words = state.stale.shape[1], state.same.shape[0]
    first, mu = place_of(stream, t), (2 * k + t % 2) * agents
    _smallest_shares(form, graph, state, k)
    error = to_doubles(form, ints(form, 0))
    size, local, close = ints(form, 0), ints(form, 0), ints(form, 0)
    kept = state.answers.shape[0] > 0
    for a in range(agents):
        collaborates = load(form, state.least, a) < reals(form, OF_THREE)
        consensus, data = load(form, state.mu, mu + a), load(form, stream.data, first + a)
        answer = select(collaborates, consensus, data)
        if kept:
            store(state.answers, k * agents + a, answer)
        location, honest = load(form, truth.location, a), load(form, truth.honest, a)
        error = error + to_doubles(form, honest) * square(form, answer, location)
        is_close = minus_one(reals(form, tolerance) >= absolute(answer - location))
        close = close - honest * is_close
        local = local + honest * (ints(form, 1) + minus_one(collaborates))
        size = size + honest * load(form, state.size, k * agents + a)
    missed, mixed_up = ints(form, 0), ints(form, 0)
    for w in range(words):
        measured = load(form, truth.edges, w)
        word = load(form, state.accepted, k * words + w) & measured
        same = load(form, state.same, w) & measured
        agreed = popcount(word & same)
        missed = missed + popcount(same) - agreed
        mixed_up = mixed_up + popcount(word) - agreed
    place = k * record.error.shape[1] + row
    store(record.error, place, error)
    store(record.size, place, to_doubles(form, size))
    store(record.local, place, to_doubles(form, local))
    store(record.close, place, to_doubles(form, close))
    store(record.missed, place, to_doubles(form, missed + missed))
    store(record.mixed_up, place, to_doubles(form, mixed_up + mixed_up))


def new_kernel_record(form: Form, algorithms: Algorithms, rows: int) -> KernelRecord:
    """An empty record of so many rounds."""
    shape = (algorithms.rule.size, rows, len(form))
    return KernelRecord(*(zeros(shape, np.float64) for _ in KernelRecord._fields))
