"""Whole rounds: what the runner calls."""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from colme.sim.kernel.acceptance import accept
from colme.sim.kernel.arrays import (
    ORACLE,
    Algorithms,
    Array,
    Edges,
    Form,
    KernelState,
    Origin,
    RunningMeans,
    Schedule,
    Truth,
    compiled,
    inline,
)
from colme.sim.kernel.mixing import mix
from colme.sim.kernel.recording import KernelRecord, record_local, record_round
from colme.sim.kernel.simd import fma, load, peek, reals, store
from colme.sim.kernel.stream import draw, place_of


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
        if row >= 0:
            record_local(form, row, stream, t, truth, error)


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
