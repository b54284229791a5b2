"""How fast the simulator is here: one thread, processor time, median of a few measurements.

A run-round is one run of 200 agents by one round; an agent-round one agent by one round. Of the
baselines, C-ColME and B-ColME are measured in Galante's setting (10,000 agents, degree 10, 2,000
rounds), the others with 200 agents.
"""

import time
from statistics import median

from benchmarks import AsJson, show
from colme.sim.figures import GALANTES
from colme.sim.kernel.arrays import LANES
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared

RULES = ("oracle", "bernstein", "optimistic")
DEGREES = (20, 5)
ROUNDS = 20_000
LARGE_GRAPHS = (10_000, 100_000)
LARGE_DEGREE = 10
LARGE_ROUNDS = 200
GROWTH_ROUNDS = 4_000
REPEATS = 3


def main(as_json: AsJson = False) -> None:
    """Measure the simulator: each rule of the paper, large graphs, and the baselines."""
    # First: whatever is measured before it compiles what it is to wait for.
    first_use = seconds_to_compile()
    measured = {
        "us_per_run_round": {
            str(degree): {rule: microseconds_per_run_round(rule, degree) for rule in RULES}
            for degree in DEGREES
        },
        "agent_rounds_per_second": {
            str(agents): agent_rounds_per_second(agents) for agents in LARGE_GRAPHS
        },
        "seconds_to_first_round": first_use,
        "baseline_agent_rounds_per_second": baseline_rates(),
        "baseline_ns_per_agent_round": baseline_growth(),
    }
    show(measured, as_json)


def microseconds_per_run_round(rule: str, degree: int) -> float:
    """One run of 200 agents by one round, in the paper's setting at epsilon = 2."""
    scenario = Scenario.build(
        graph={"degree": degree},
        epsilon=2,
        algorithms=[{"algorithm": rule}],
        rounds=ROUNDS,
        runs=256,
    )
    return median(_seconds(scenario) for _ in range(REPEATS)) / ROUNDS / LANES * 1e6


def agent_rounds_per_second(agents: int) -> float:
    """On one large graph of degree 10, a single run, Bernstein's rule."""
    scenario = Scenario.build(
        agents=agents,
        graph={"degree": LARGE_DEGREE},
        epsilon=2,
        rounds=LARGE_ROUNDS,
        runs=1,
        algorithms=["bernstein"],
    )
    return agents * LARGE_ROUNDS / median(_seconds(scenario) for _ in range(REPEATS))


def baseline_rate(
    baseline: str, *, agents: int, degree: int, rounds: int = GROWTH_ROUNDS, **options: object
) -> float:
    """Agent-rounds per second of one baseline, drawing its data and recording included."""
    confidence = {} if baseline == "private-colme" else {"delta": 0.1}
    algorithm = {"algorithm": baseline, **confidence, **options}
    scenario = GALANTES.changed(
        agents=agents, graph={"degree": degree}, rounds=rounds, runs=1, algorithms=[algorithm]
    )
    return agents * rounds / median(_seconds(scenario) for _ in range(REPEATS))


def baseline_rates() -> dict[str, float]:
    """C-ColME and B-ColME in Galante's setting, the others, which keep M numbers each, at 200."""
    galantes = {"agents": GALANTES.agents, "degree": 10, "rounds": GALANTES.rounds}
    small = {"agents": 200, "degree": 10}
    return {
        "c-colme": baseline_rate("c-colme", **galantes),
        "b-colme": baseline_rate("b-colme", **galantes),
        "colme": baseline_rate("colme", **small),
        "private-colme": baseline_rate("private-colme", **small),
    }


def baseline_growth() -> dict[str, dict[int, float]]:
    """Nanoseconds per agent-round: O(r depth) for B-ColME, O(M) for ColME and Private-ColME."""
    by_degree = {r: baseline_rate("b-colme", agents=1000, degree=r) for r in (5, 10, 20, 40)}
    by_depth = {d: baseline_rate("b-colme", agents=1000, degree=20, depth=d) for d in (1, 3, 7)}
    by_agents = {
        baseline: {m: baseline_rate(baseline, agents=m, degree=10) for m in (100, 200, 400, 800)}
        for baseline in ("colme", "private-colme")
    }
    return {
        name: {parameter: 1e9 / rate for parameter, rate in rates.items()}
        for name, rates in (
            ("b-colme by degree", by_degree),
            ("b-colme by depth", by_depth),
            ("colme by agents", by_agents["colme"]),
            ("private-colme by agents", by_agents["private-colme"]),
        )
    }


def seconds_to_compile() -> float:
    """To the first round done in this process: a few tenths of a second if cached."""
    scenario = Scenario.build(agents=10, graph={"degree": 4}, rounds=1, algorithms=["bernstein"])
    study = Prepared(scenario, scenario.graph.degrees[0])
    batch = study.batch(0, study.lanes)
    start = time.perf_counter()
    batch.advance(1, 1)
    return time.perf_counter() - start


def _seconds(scenario: Scenario) -> float:
    study = Prepared(scenario, scenario.graph.degrees[0])
    batch = study.batch(0, study.lanes)
    start = time.thread_time()
    batch.advance(1, scenario.rounds)
    return time.thread_time() - start
