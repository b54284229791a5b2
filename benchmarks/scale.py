"""How the cost of one run grows with its agents: time and memory of an agent.

Every size is measured in a process of its own, so that none finds memory that another has left:
`python -m benchmarks.scale AGENTS THREADS`, which prints JSON.
"""

import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks import AsJson
from colme.sim.batch import Batch
from colme.sim.engines import LargeEngine
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared

ROOT = Path(__file__).parents[1]
DEGREE = 10
LEAST_ROUNDS = 10
AGENT_ROUNDS = 4_000_000
"""Of a measurement, at least."""

CACHE_LINE = 64
PER_NEIGHBOUR = CACHE_LINE + 4
PER_AGENT = 8 + 2 * 16 + 2 * 5 + 4 * 4 + 12
"""Bytes that a round brings from memory where no cache holds the agents: a line and an index for
each neighbour; in order, where its row begins, both sides of its node, its accepted set, data and
noise, and where its data come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What one run of so many agents costs here, at degree 10, by Bernstein's rule."""

    agents: int
    threads: int
    built_seconds: float
    """Processor time before the first round: to draw the graph, most of it, and make all arrays."""
    nanoseconds: float
    """Processor time of an agent-round, on all threads together."""
    wall_nanoseconds: float
    graph_bytes: float
    """Kept of the graph, for each agent."""
    held_bytes: float
    """Kept of all else, for each agent."""
    peak_bytes: float
    """The largest that the process has been, less what it was before, for each agent."""

    @property
    def agent_rounds_per_second(self) -> float:
        """By the clock."""
        return 1e9 / self.wall_nanoseconds

    def share_of(self, bandwidth: float) -> float:
        """Of the memory's bandwidth, bytes a second, if every neighbour is fetched from memory."""
        moved = PER_AGENT + PER_NEIGHBOUR * DEGREE
        return moved / (self.nanoseconds * 1e-9) / bandwidth


def main(
    largest: Annotated[
        int, typer.Option(help="Agents of the largest run: 10 million take 4 GiB.", min=1_000)
    ] = 10_000_000,
    as_json: AsJson = False,
) -> None:
    """Measure one run of 1,000, 10,000, ... agents at degree 10, and the memory's bandwidth."""
    measured = []
    for size in sizes(largest, os.cpu_count() or 1):
        measured.append(size)
        typer.echo(f"{size.agents:,} agents: measured", err=True)
    # Last: a process begins with the peak of the one that started it.
    memory = bandwidth()
    if as_json:
        typer.echo(json.dumps({"bandwidth": memory, "sizes": [asdict(size) for size in measured]}))
        return
    typer.echo(f"memory: {memory / 1e9:.1f} GB/s, read and written by one thread\n\n{HEAD}")
    for size in measured:
        typer.echo(
            f"| {size.agents:,} | {size.threads} | {size.nanoseconds:.0f}"
            f" | {size.agent_rounds_per_second / 1e6:.1f} | {size.share_of(memory):.2f}"
            f" | {size.built_seconds:.2f} | {size.graph_bytes:.0f} | {size.held_bytes:.0f}"
            f" | {size.peak_bytes:.0f} |"
        )


HEAD = """\
| agents | threads | ns per agent-round | million a second | of bandwidth | built, s \
| graph, bytes an agent | beyond it | at most |
|---|---|---|---|---|---|---|---|---|"""


def sizes(largest: int, threads: int) -> Iterator[Size]:
    """1,000, 10,000, ... up to the largest, on one thread; then up to a million on all threads."""
    agents = 1_000
    while agents <= largest:
        yield in_a_process(agents, 1)
        agents *= 10
    if threads > 1:
        yield in_a_process(min(1_000_000, agents // 10), threads)


def in_a_process(agents: int, threads: int) -> Size:
    """One of them."""
    command = [sys.executable, "-m", "benchmarks.scale", str(agents), str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return Size(**json.loads(done.stdout))


def measure(agents: int, threads: int) -> Size:
    """One of them, in this process."""
    _batch(100, 5, 1).advance(1, 5)  # compiled
    before = _peak()
    rounds = max(LEAST_ROUNDS, AGENT_ROUNDS // agents)
    start = time.process_time()
    batch = _batch(agents, 2 + rounds, threads)
    built_seconds = time.process_time() - start
    batch.advance(1, 2)  # every page has been touched
    start, wall = time.process_time(), time.perf_counter()
    batch.advance(3, 2 + rounds)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    graph, held = bytes_kept(batch)
    return Size(
        agents=agents,
        threads=threads,
        built_seconds=built_seconds,
        nanoseconds=seconds / rounds / agents * 1e9,
        wall_nanoseconds=wall / rounds / agents * 1e9,
        graph_bytes=graph / agents,
        held_bytes=held / agents,
        peak_bytes=(_peak() - before) / agents,
    )


def _scenario(agents: int, rounds: int) -> Scenario:
    return Scenario.build(
        agents=agents,
        graph={"degree": DEGREE},
        epsilon=2,
        rounds=rounds,
        recorded=[rounds],
        runs=1,
        algorithms=["bernstein"],
    )


def _batch(agents: int, rounds: int, threads: int) -> Batch:
    return Prepared(_scenario(agents, rounds), DEGREE).batch(0, 1, threads=threads)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bytes_kept(batch: Batch) -> tuple[int, int]:
    """In the arrays of a batch: of its graph, and of all else."""
    graphs: list[object] = [batch.world.graph]
    graphs += [engine.graph for engine in batch.engines if isinstance(engine, LargeEngine)]
    of_graph = _arrays_in(graphs)
    everything = _arrays_in([batch])
    beyond = everything.keys() - of_graph.keys()
    return sum(of_graph.values()), sum(everything[one] for one in beyond)


def _arrays_in(roots: list[object]) -> dict[int, int]:
    """Where arrays that can be reached from here begin, and how many bytes each has."""
    arrays: dict[int, int] = {}
    seen: set[int] = set()
    left: list[Any] = list(roots)
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, ModuleType | FunctionType | type):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            while isinstance(one.base, np.ndarray):  # a view of another
                one = one.base
            arrays[one.ctypes.data] = one.nbytes
        else:
            left += gc.get_referents(one)
    return arrays


def bandwidth() -> float:
    """Bytes a second that one thread reads and writes, copying what no cache holds: the best."""
    source = np.ones(32_000_000)
    target = np.empty_like(source)
    best = 0.0
    for _ in range(6):  # the first touches the pages
        start = time.thread_time()
        np.copyto(target, source)
        best = max(best, 2 * source.nbytes / (time.thread_time() - start))
    return best


if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1]), int(sys.argv[2])))))
