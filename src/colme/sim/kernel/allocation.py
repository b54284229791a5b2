"""Makes the kernel's arrays, in one place, of the right shape and alignment."""

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from colme.sim.kernel.acceptance import mark_alike
from colme.sim.kernel.arrays import (
    GIVEN,
    WORD,
    Algorithms,
    Array,
    Edges,
    Form,
    KernelState,
    Origin,
    RunningMeans,
    Schedule,
    Truth,
)
from colme.sim.kernel.recording import KernelRecord

LANES = 32  # of a register, each a run: measured, 16 are as fast and 8 slower on AVX2
_LINE = 64  # bytes; a register that straddles two cache lines costs two loads
BUFFER = 256 * 1024  # bytes of stream, so that it and one algorithm's state fit into 1 MB of L2
_HUGE = 4 * 1024 * 1024  # bytes, two huge pages
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def zeros(shape: Sequence[int], dtype: Any) -> Array:
    """Like np.zeros, starting on a cache line; on huge pages if it is large, where there are any.

    Who looks up neighbours all over a large array would else look up a page for each of them.
    """
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(pages, dtype, size // dtype.itemsize).reshape(shape)
    raw = np.zeros(size + _LINE, np.uint8)
    start = -raw.ctypes.data % _LINE
    values: Array = raw[start : start + size].view(dtype).reshape(shape)
    return values


def aligned(values: Any, dtype: Any) -> Array:
    """A copy that starts on a cache line."""
    values = np.asarray(values)
    copy = zeros(values.shape, dtype)
    copy[...] = values
    return copy


def _mix64(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def generator_state(seed: int, run: int) -> list[int]:
    """xoshiro128++'s four words, by splitmix64. They depend on nothing but seed and run."""
    state = _mix64((_mix64(seed & _MASK) + run) & _MASK)
    words = []
    for _ in range(2):
        state = (state + _GOLDEN) & _MASK
        z = _mix64(state)
        words += [z & 0xFFFFFFFF, z >> 32]
    return words


def new_graph(indptr: Any, indices: Any) -> Edges:
    """From compressed sparse rows with both directions of every edge, rows sorted."""
    starts, others = np.asarray(indptr, np.int64), np.asarray(indices, np.int32)
    owners = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    upper_starts, upper = _rows(owners, others, others > owners, starts.size - 1)
    lower_starts, lower = _rows(owners, others, others < owners, starts.size - 1)
    if upper.size != lower.size or upper.size + lower.size != others.size:
        raise ValueError(
            "indices: a loop, or an edge in one direction only; expected simple edges both ways"
        )
    words = np.zeros_like(starts)
    np.cumsum((np.diff(upper_starts) + WORD - 1) // WORD, out=words[1:])
    return Edges(upper_starts, upper, words, lower_starts, lower)


def _rows(owners: Array, others: Array, chosen: Array, agents: int) -> tuple[Array, Array]:
    starts = np.zeros(agents + 1, np.int64)
    np.cumsum(np.bincount(owners[chosen], minlength=agents), out=starts[1:])
    return starts, np.ascontiguousarray(others[chosen])


def new_schedule(rounds: int, recorded: Any, *, tolerance: float = np.inf) -> Schedule:
    """`recorded` are the rounds in which something is measured."""
    record = np.full(rounds + 1, -1, np.int32)
    record[np.asarray(recorded, np.int64)] = np.arange(len(recorded))
    return Schedule(record, float(tolerance))


def at_most(threshold: Any, dtype: Any) -> Array:
    """The table z with which distance < z means distance <= threshold."""
    table: Array = np.nextafter(np.asarray(threshold, dtype), np.dtype(dtype).type(np.inf))
    return table.astype(float)


def rows_for(agents: int, form: Form, buffer: int = BUFFER) -> int:
    """Rounds per chunk, in so many bytes."""
    round_bytes: int = 2 * agents * len(form) * form[0].nbytes
    return max(1, min(64, buffer // round_bytes))


def new_stream(
    form: Form, agents: int, seed: int, runs: Sequence[int], buffer: int = BUFFER
) -> RunningMeans:
    """`runs` are the run indices of the lanes."""
    rows = rows_for(agents, form, buffer)
    bits = np.array([generator_state(seed, run) for run in runs], np.uint32).T.view(np.int32)
    data, noise = (zeros((rows, agents, len(form)), form[0].dtype) for _ in range(2))
    motion = zeros((rows, 2, len(form)), data.dtype)
    return RunningMeans(aligned(bits, np.int32), data, noise, motion)


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


def new_kernel_record(form: Form, algorithms: Algorithms, rows: int) -> KernelRecord:
    """An empty record of so many rounds."""
    shape = (algorithms.rule.size, rows, len(form))
    return KernelRecord(*(zeros(shape, np.float64) for _ in KernelRecord._fields))
