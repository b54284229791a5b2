"""Whole rounds: what the runner calls."""

# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from colme.sim.kernel.acceptance import accept
from colme.sim.kernel.arrays import (
    ORACLE,
    Algorithms,
    Array,
    Form,
    Graph,
    Population,
    Record,
    Schedule,
    State,
    Stream,
    compiled,
    inline,
)
from colme.sim.kernel.mixing import mix
from colme.sim.kernel.recording import record_local, record_round
from colme.sim.kernel.simd import fma, load, peek, reals, store
from colme.sim.kernel.stream import draw, place_of


@inline
def _release(form: Form, algorithms: Algorithms, k: int, stream: Stream, t: int, x: Array) -> float:
    """Every agent's released mean of round t. Returns the largest of their noise scales."""
    agents = x.shape[0]
    first, level = place_of(stream, t), algorithms.noise[k] * agents
    loudest = 0.0
    for a in range(agents):
        scale = peek(algorithms.scale, level + a)
        loudest = max(loudest, scale)
        noise, shared = load(form, stream.noise, first + a), load(form, stream.shared, first + a)
        store(x, a, fma(reals(form, scale), noise, shared))
    return loudest


@compiled
def step(
    form: Form, k: int, first: int, last: int, graph: Graph, location: Array, schedule: Schedule,
    algorithms: Algorithms, stream: Stream, state: State, record: Record,
) -> None:  # fmt: skip
    """Take algorithm k through rounds first..last, which the stream holds."""
    began = 1  # the round of the first release; until then nobody is accepted
    while began < last and peek(schedule.release, began) == 0:
        began += 1
    for t in range(first, last + 1):
        loudest = _release(form, algorithms, k, stream, t, state.x)
        begins = t == began and peek(schedule.release, t) > 0
        if begins or (t > began and algorithms.rule[k] != ORACLE):
            accept(form, graph, algorithms, k, t, stream, state, loudest, begins)
        mix(form, graph, algorithms, k, t, state)
        row = peek(schedule.record, t)
        if row >= 0:
            tolerance = schedule.tolerance
            record_round(form, graph, k, row, stream, t, location, tolerance, state, record)


@compiled
def step_all(
    form: Form, first: int, last: int, graph: Graph, location: Array, schedule: Schedule,
    algorithms: Algorithms, stream: Stream, state: State, record: Record,
) -> None:  # fmt: skip
    """Take every algorithm through rounds first..last, which the stream holds."""
    for k in range(algorithms.rule.size):
        step(form, k, first, last, graph, location, schedule, algorithms, stream, state, record)
    for t in range(first, last + 1):
        row = peek(schedule.record, t)
        if row >= 0:
            record_local(form, row, stream, t, location, record)


@compiled
def simulate(
    form: Form, first: int, last: int, graph: Graph, population: Population, schedule: Schedule,
    algorithms: Algorithms, stream: Stream, state: State, record: Record,
) -> None:  # fmt: skip
    """Rounds first..last of all algorithms. May be called again to go on from where it stopped."""
    rows, location = stream.data.shape[0], population.location
    start = first
    while start <= last:
        stop = min(start + rows - 1, last)
        draw(form, start, stop, population, schedule, stream)
        step_all(form, start, stop, graph, location, schedule, algorithms, stream, state, record)
        start = stop + 1
