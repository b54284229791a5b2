"""The arrays the kernel works on, how they are made, and how its functions are compiled.

M = agents, E = edges, L = lanes, A = algorithms, T = rounds, W = words (see `Edges`), "real" =
float32 or float64 as the form says. Rounds count from 1, so tables over rounds have T + 1 entries,
entry 0 unused. Memory is read without bounds checks, so make arrays with the functions named
`new_...` here, in `stream`, `rounds`, `recording`, `releases` and `large`: these have the right
shape and alignment.
"""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

import mmap
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numba
import numpy as np

from colme.inference.compiled import jit

njit: Any = numba.njit
Array = np.ndarray[Any, Any]
Register = Any
Form = tuple[Any, ...]

WORD: Final = 32  # neighbours per word of an accepted set

ORACLE: Final = 0  # accept the neighbours of one's own class
COMMON: Final = 1  # accept if |x_a - x_b| < z[t]
# Accept if |x_a - x_b| < edge_z, which is filled chunk by chunk: that of the edge, or of all edges,
# and of the classes of its ends, at kinds * class_a + class_b.
PER_EDGE: Final = 2
GIVEN: Final = 3  # accept as `KernelState.given` says, which is filled in before every round

UNIFORM: Final = 0  # location + spread * (uniform on [-1, 1])
STEPS: Final = 1  # location + spread * (an entry of the class's table, each equally likely)
LINES: Final = 2  # the same, interpolated linearly between the entries


# A row of weights is stored when it has not changed for SETTLE rounds: before, it costs more to
# store than to compute.
SETTLE: Final = 8
# If a deadline holds for fewer than WORTHWHILE rounds, an agent sets none for PAUSE rounds.
WORTHWHILE: Final = 4
PAUSE: Final = 48


class Edges(NamedTuple):
    """Every edge once, at the agent with the smaller number: a's are indptr[a] .. indptr[a + 1].

    Rules and weights are symmetric, so an edge needs one test and one weight. An accepted set is
    kept as bits, a's in words[a] .. words[a + 1]: edge i of a word holding n is bit n - 1 - i.
    """

    indptr: Array  # int64 [M + 1]
    indices: Array  # int32 [E]: the other agent of each edge, ascending within a row
    words: Array  # int64 [M + 1]
    lower_indptr: Array  # int64 [M + 1]: likewise the neighbours with smaller numbers
    lower_indices: Array  # int32 [E]


class Origin(NamedTuple):
    """Where the data comes from."""

    shape: int  # UNIFORM, STEPS or LINES
    location: Array  # real [M, L]: the means, before any drift
    spread: Array  # real [M, L]
    classes: Array  # int32 [M, L]
    table: Array  # float32 [classes, entries]: quantiles of the centred shape; [1, 1] if UNIFORM


class Truth(NamedTuple):
    """What answers are measured against, and whose: those of agents that do not lie."""

    location: Array  # real [M, L]: the true means, in the round that is measured
    honest: Array  # int32 [M, L]: 1, or 0 for those who lie
    edges: Array  # int32 [W, L]: edges between two that do not


class Schedule(NamedTuple):
    """What happens in which round, for all agents alike."""

    record: Array  # int32 [T + 1]: row of the record, -1 where nothing is recorded
    tolerance: float  # how near to the true mean an answer counts as close


class Algorithms(NamedTuple):
    """alpha = level / (level + 1) with level = floor(age / stride) + offset."""

    rule: Array  # int32 [A]
    noise: Array  # int32 [A]: row of `scale`
    stride: Array  # int32 [A]
    offset: Array  # int32 [A]
    z: Array  # float64 [A, T + 1]: thresholds; see `at_most` where equality is accepted
    edge_z: Array  # real [A, E or 1, rows, kinds^2]: of round t at (t - 1) % rows
    kinds: int  # of classes told apart in it: all, or 1
    scale: Array  # float64 [noise levels, M]: what multiplies the unit Laplace noise


class RunningMeans(NamedTuple):
    """Round t is in row (t - 1) % rows; the row before it holds the means it continues."""

    bits: Array  # int32 [4, L]: xoshiro128++ of every lane
    data: Array  # real [rows, M, L]: mean of the data
    noise: Array  # real [rows, M, L]: mean of the unit noise
    motion: Array  # real [rows, 2, L]: the largest step any agent's `data` and `noise` made


class KernelState(NamedTuple):
    """What every algorithm remembers between rounds, and scratch space."""

    classes: Array  # int32 [M, L]
    same: Array  # int32 [W, L]: edges between agents of the same mean
    given: Array  # int32 [A, W, L]: what GIVEN rules accept, [1, W, L] if there are none
    x: Array  # real [M, L]: released means, of the algorithm at work
    flow: Array  # real [M, L]: what neighbours with smaller numbers contribute; 0 between rounds
    least: Array  # real [M, L]: scratch of `record_round`
    answers: Array  # real [A, M, L]: of the latest recorded round; [0, M, L] if nobody keeps them
    mu: Array  # real [A, 2, M, L]: consensus means, of round t at t % 2
    accepted: Array  # int32 [A, W, L]
    size: Array  # int32 [A, M, L]: of the accepted set, the agent itself included
    share: Array  # real [A, M, L]: 1 / (size + 1)
    since: Array  # real [A, M, L]: round before the last change of the accepted set
    changed: (
        Array  # uint8 [M]: 1 if an agent's accepted set changed in this round; 0 between rounds
    )
    weight: Array  # real [A, E, L]: W_ab of Eq. (2), 0 if the edge is not accepted
    stale: Array  # uint8 [A, M]: rounds until the row of `weight`, out of date, is renewed; else 0
    travelled: Array  # real [A, L]: see `_travel`
    deadline: Array  # real [A, M, L]: how far to travel before the row needs a test
    tested: Array  # int32 [A, M]: round in which the deadline was set
    retry: Array  # int32 [A, M]: round from which setting one is worth the effort


# error_model: with Python's, every division would carry a branch that can raise.
# _nrt: nothing here allocates, and counting references to the arrays would cost half the time.
# no_..._wrapper: how Python, or C, would call it. To take apart tuples of twenty arrays is most of
# what there is to compile of a small function, and nobody outside calls those.
inline = njit(
    forceinline=True,
    error_model="numpy",
    _nrt=False,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)


def compiled(function: Any) -> Any:
    """Compile a function that Python calls, and store the machine code."""
    return jit(function, error_model="numpy", _nrt=False, no_cfunc_wrapper=True)


LANES = 32  # of a register, each a run: measured, 16 are as fast and 8 slower on AVX2
_LINE = 64  # bytes; a register that straddles two cache lines costs two loads
BUFFER = 256 * 1024  # bytes of stream, so that it and one algorithm's state fit into 1 MB of L2
_HUGE = 4 * 1024 * 1024  # bytes, two huge pages


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


def new_graph(indptr: Any, indices: Any) -> Edges:
    """From compressed sparse rows with both directions of every edge, rows sorted."""
    starts, others = np.asarray(indptr, np.int64), np.asarray(indices, np.int32)
    owners = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    upper_starts, upper = _rows(owners, others, others > owners, starts.size - 1)
    lower_starts, lower = _rows(owners, others, others < owners, starts.size - 1)
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
