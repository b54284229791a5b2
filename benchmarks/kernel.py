"""The kernel beside plain NumPy and, where given, a hand-written C yardstick of the same round.

Microseconds per run-round (one run of 200 agents, one round), Bernstein's rule at epsilon = 2, one
thread, processor time. The measurements are interleaved, and of each the median counts: the machine
may be busy, but then it is busy for all of them. The yardstick is written for AVX-512 and has even
degrees only; on a processor without, it is built with `avx2/immintrin.h`, which splits each
512-bit register in two.
"""

import resource
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer

from benchmarks import show
from benchmarks.numpy_round import run as numpy_run
from benchmarks.speed import microseconds_per_run_round
from colme.sim.engines import PaperEngine
from colme.sim.engines.paper import kernel_algorithms
from colme.sim.kernel.arrays import new_graph, new_schedule
from colme.sim.kernel.simd import form_of
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared

REPEATS = 5
YARDSTICK_ROUNDS = 20_000
YARDSTICK_LANES = 16


def plain_numpy(degree: int, rounds: int = 2000) -> float:
    """One run in plain NumPy, drawing included."""
    scenario = Scenario.build(
        graph={"degree": degree}, epsilon=2, rounds=rounds, algorithms=[{"algorithm": "bernstein"}]
    )
    study, form = Prepared(scenario, degree), form_of(np.float64, 1)
    graph = scenario.draw_graph(degree, 0)
    edges = new_graph(graph.indptr, graph.indices)
    population = study.origin(scenario.draw_classes(0)[:, None], form)
    entrants, prepared = study.entrants[PaperEngine], study.prepared[PaperEngine]
    algorithms = kernel_algorithms(study.setting, entrants, prepared, edges.indices.size, form)
    schedule = new_schedule(rounds, [rounds])
    truth, spread = population.location[:, 0], population.spread[:, 0]
    generator = np.random.default_rng(1)
    start = time.thread_time()
    samples = truth + spread * generator.uniform(-1, 1, (rounds, graph.agents))
    units = generator.laplace(size=(rounds, graph.agents))
    numpy_run(algorithms, 0, edges, population.classes[:, 0], truth, schedule, samples, units)
    return (time.thread_time() - start) / rounds * 1e6


def build_yardstick(source: Path, degree: int, folder: Path) -> Path:
    """Compile the C program for this processor."""
    native = "avx512f" in Path("/proc/cpuinfo").read_text()
    shim = [] if native else [f"-I{Path(__file__).parent / 'avx2'}"]
    program = folder / f"limit{degree}"
    flags = ["-O3", "-march=native", "-ffast-math", f"-DR={degree}"]
    subprocess.run(["gcc", *flags, *shim, str(source), "-o", str(program), "-lm"], check=True)
    return program


def yardstick(program: Path) -> float:
    """Its processor time, measured like the others."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([program, str(YARDSTICK_ROUNDS)], check=True, capture_output=True)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return spent / YARDSTICK_ROUNDS / YARDSTICK_LANES * 1e6


def main(
    limit: Annotated[Path | None, typer.Argument(help="The yardstick: a C program.")] = None,
) -> None:
    """Measure the kernel beside plain NumPy and a C program of the same round, interleaved."""
    measured: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        measured.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory() as folder:
        programs = {}
        if limit is not None:
            programs = {r: build_yardstick(limit, r, Path(folder)) for r in (20, 6)}
        for _ in range(REPEATS):
            for degree in (20, 5):
                note(f"kernel, r = {degree}", microseconds_per_run_round("bernstein", degree))
            for degree, program in programs.items():
                note(f"yardstick, r = {degree}", yardstick(program))
        for degree in (20, 5):
            note(f"numpy, r = {degree}", plain_numpy(degree))
    answer = {name: median(values) for name, values in measured.items()}
    if programs:
        pairs = zip(measured["kernel, r = 20"], measured["yardstick, r = 20"], strict=True)
        answer["kernel / yardstick, r = 20"] = median(ours / theirs for ours, theirs in pairs)
    show(answer, as_json=True)
