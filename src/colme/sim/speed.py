"""How fast the simulator is here: one thread, processor time, median of a few measurements."""

import time
from statistics import median

from colme.sim.scenario import Scenario
from colme.sim.study import Study

RULES = ("oracle", "bernstein", "optimistic")
DEGREES = (20, 5)
ROUNDS = 20_000
LARGE_GRAPHS = (10_000, 100_000)
LARGE_DEGREE = 10
LARGE_ROUNDS = 200
REPEATS = 3


def microseconds_per_run_round(rule: str, degree: int) -> float:
    """One run of 200 agents by one round, in the paper's setting at epsilon = 2."""
    scenario = Scenario.build(
        graph={"degree": degree},
        epsilon=2,
        algorithms=[{"rule": rule}],
        rounds=ROUNDS,
        runs=32,
    )
    return median(_seconds(scenario) for _ in range(REPEATS)) / ROUNDS / scenario.runs * 1e6


def agent_rounds_per_second(agents: int) -> float:
    """On one large graph of degree 10, a single run, Bernstein's rule."""
    scenario = Scenario.build(
        agents=agents, graph={"degree": LARGE_DEGREE}, epsilon=2, rounds=LARGE_ROUNDS, runs=1
    )
    return agents * LARGE_ROUNDS / median(_seconds(scenario) for _ in range(REPEATS))


def seconds_to_compile() -> float:
    """To the first round done in this process: a few tenths of a second if cached."""
    scenario = Scenario.build(agents=10, graph={"degree": 4}, rounds=1)
    batch = Study(scenario, scenario.graph.degrees[0]).prepare(0, scenario.runs)
    start = time.perf_counter()
    batch.advance(1, 1)
    return time.perf_counter() - start


def _seconds(scenario: Scenario) -> float:
    batch = Study(scenario, scenario.graph.degrees[0]).prepare(0, scenario.runs)
    start = time.thread_time()
    batch.advance(1, scenario.rounds)
    return time.thread_time() - start
