"""Algorithm 1 for many independent runs at once, compiled by numba.

Runs stand side by side in the lanes of a register (simd.py). They share the graph; every lane has
its own classes, data and noise. Several algorithms (a rule, a noise level, an alpha schedule) see
the same data and the same unit noise, so their differences are not blurred by sampling.

Time goes in chunks of a few rounds. `stream.draw` (or `stream.feed`, which replays given samples)
fills a small buffer with the running means of a chunk; then each algorithm steps through the chunk
while its own state is in cache. `rounds.simulate` does both. A run that is alone on its graph goes
another way to the same bits: `large`.

Machine code is stored under a digest of this folder's sources (`colme.inference.compiled.jit`).
"""

from colme.sim.kernel.arrays import (
    BUFFER,
    COMMON,
    GIVEN,
    LANES,
    LINES,
    ORACLE,
    PER_EDGE,
    STEPS,
    UNIFORM,
    WORD,
    Algorithms,
    Array,
    Edges,
    Form,
    Origin,
    RunningMeans,
    Truth,
    aligned,
    at_most,
    new_graph,
    new_schedule,
    rows_for,
    zeros,
)
from colme.sim.kernel.large import (
    COUNTED,
    ROWS,
    LargeState,
    Neighbours,
    Rules,
    advance_span,
    edges_within,
    new_large_state,
    squared_errors,
)
from colme.sim.kernel.recording import new_kernel_record
from colme.sim.kernel.releases import advance_releases, most_in, new_plan, new_releases
from colme.sim.kernel.rounds import (
    edge_totals,
    measure_local,
    new_state,
    new_truth,
    simulate,
    step,
)
from colme.sim.kernel.simd import form_of, register_of
from colme.sim.kernel.stream import draw, new_stream

__all__ = [
    "BUFFER",
    "COMMON",
    "COUNTED",
    "GIVEN",
    "LANES",
    "LINES",
    "ORACLE",
    "PER_EDGE",
    "ROWS",
    "STEPS",
    "UNIFORM",
    "WORD",
    "Algorithms",
    "Array",
    "Edges",
    "Form",
    "LargeState",
    "Neighbours",
    "Origin",
    "Rules",
    "RunningMeans",
    "Truth",
    "advance_releases",
    "advance_span",
    "aligned",
    "at_most",
    "draw",
    "edge_totals",
    "edges_within",
    "form_of",
    "measure_local",
    "most_in",
    "new_graph",
    "new_kernel_record",
    "new_large_state",
    "new_plan",
    "new_releases",
    "new_schedule",
    "new_state",
    "new_stream",
    "new_truth",
    "register_of",
    "rows_for",
    "simulate",
    "squared_errors",
    "step",
    "zeros",
]
