"""The kernel against plain NumPy, and what it promises about lanes, cuts and tests left out."""

import math

import numpy as np
import pytest

from benchmarks.numpy_round import Neighbours, run
from colme.graph import Graph
from colme.rules.bernstein import uniform_parameter
from colme.rules.decision import RULES, Situation, ThresholdRule
from colme.rules.release import Profile
from colme.sim import graphs
from colme.sim.engines import PaperEngine
from colme.sim.engines.decisions import threshold_table
from colme.sim.engines.paper import kernel_algorithms
from colme.sim.kernel.arrays import (
    COMMON,
    ORACLE,
    PER_EDGE,
    Algorithms,
    Array,
    Edges,
    KernelState,
    Origin,
    Schedule,
    at_most,
    new_graph,
    new_schedule,
    zeros,
)
from colme.sim.kernel.generator import new_stream
from colme.sim.kernel.recording import KernelRecord, new_kernel_record
from colme.sim.kernel.rounds import edge_totals, measure_local, new_state, new_truth, simulate, step
from colme.sim.kernel.simd import form_of
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared
from support.fed import feed

ROUNDS = 150
DEGREE = 4
SIGMA = 0.5
HALF_RANGE = SIGMA * math.sqrt(3)


def edges_of(graph: Graph) -> Edges:
    return new_graph(graph.indptr, graph.indices)


def hub(agents: int) -> Graph:
    """Agent 1 knows everyone but agent 0, who is alone; the others form a path."""
    star = [(1, a) for a in range(2, agents)]
    return Graph.from_edges(star + [(a, a + 1) for a in range(2, agents - 1)], agents)


GRAPHS = {
    "regular": edges_of(graphs.random_regular(30, 5, np.random.default_rng(1))),
    "irregular": edges_of(
        graphs.ErdosRenyi(family="erdos-renyi").draw(40, 3, np.random.default_rng(2))
    ),
    "a hub of degree 68, and one alone": edges_of(hub(70)),
    "degrees around 45": edges_of(
        graphs.ErdosRenyi(family="erdos-renyi").draw(90, 45, np.random.default_rng(3))
    ),
    "complete": edges_of(graphs.complete(71)),
    "no edges": edges_of(Graph.from_edges([], 5)),
}


def every_algorithm(edges: Edges, kinds: int = 1) -> Algorithms:
    """All rules, strict and not, with several alpha schedules, loud agents, awkward thresholds."""
    rng = np.random.default_rng(9)
    agents = edges.indptr.size - 1
    profile = Profile(
        bounds=(-HALF_RANGE, HALF_RANGE),
        sigma2=SIGMA**2,
        beta=uniform_parameter(HALF_RANGE),
        epsilon=4.0,
    )
    situation = Situation(agents=agents, degree=DEGREE, epsilon=4.0)
    bernstein, optimistic = (
        np.append(0, threshold_table(rule, profile, ROUNDS))
        for name in ("bernstein", "optimistic")
        for rule in [RULES[name].tuned(name, situation, {})]
        if isinstance(rule, ThresholdRule)
    )
    awkward = rng.choice([0.0, 0.3, 1.0, np.inf], ROUNDS + 1)
    accept_all, accept_none = np.full(ROUNDS + 1, np.inf), np.zeros(ROUNDS + 1)
    common = [
        bernstein,
        at_most(optimistic, np.float64),
        awkward,
        accept_all,
        accept_none,
    ]
    rule = [COMMON] * len(common) + [ORACLE, PER_EDGE, PER_EDGE]
    z = np.zeros((len(rule), ROUNDS + 1))
    z[: len(common)] = common
    shape = (len(rule), 1 if kinds > 1 else max(edges.indices.size, 1), 1, kinds**2)
    edge_z = rng.uniform(0.2, 1.5, shape) * bernstein[1:, None] + 0.01
    edge_z[-1] = at_most(edge_z[-1], np.float64)
    scale = np.array([np.full(agents, 0.4), np.zeros(agents)])
    scale[0, : agents // 2] = 0.9
    return Algorithms(
        rule=np.array(rule, np.int32),
        noise=np.array([0, 1, 0, 0, 1, 0, 0, 1], np.int32),
        stride=np.array([10, 10, 1, 3, 10, 1, 7, 1], np.int32),
        offset=np.array([1, 1, 0, 1, 1, 0, 1, 0], np.int32),
        z=z,
        edge_z=edge_z,
        kinds=kinds,
        scale=scale,
    )


def study_of(agents: int, rounds: int = ROUNDS) -> Prepared:
    """Every rule, the optimistic with the other alpha, with noise and without."""
    algorithms = [
        {"algorithm": "oracle"},
        {"algorithm": "bernstein"},
        {"algorithm": "optimistic", "alpha": "theorem"},
    ]
    scenario = Scenario.build(
        agents=agents,
        graph={"degree": DEGREE},
        rounds=rounds,
        epsilon=[1, math.inf],
        algorithms=algorithms,
        seed=5,
    )
    return Prepared(scenario, DEGREE)


def population_of(agents: int, dtype: type, runs: range) -> Origin:
    study = study_of(agents)
    classes = np.stack([study.scenario.draw_classes(run) for run in runs], axis=1)
    return study.origin(classes, form_of(dtype, len(runs)))


def fed(
    lanes: int, edges: Edges, algorithms: Algorithms, population: Origin, schedule: Schedule,
    samples: Array, units: Array,
) -> tuple[KernelRecord, Array]:  # fmt: skip
    """The kernel's record in float64 for given samples, and the error of the data means."""
    form = form_of(np.float64, lanes)
    rounds, agents = samples.shape[:2]
    stream = new_stream(form, agents, 0, range(lanes))
    state = new_state(form, edges, algorithms, population)
    truth = new_truth(form, edges, population.location)
    recorded = int(schedule.record.max()) + 1
    record = new_kernel_record(form, algorithms, recorded)
    local_error = zeros((recorded, lanes), np.float64)
    rows = stream.data.shape[0]
    for first in range(1, rounds + 1, rows):
        last = min(rounds, first + rows - 1)
        feed(first, last, samples, units, stream)
        for k in range(algorithms.rule.size):
            step(
                form, k, first, last, edges, truth, schedule, algorithms, stream, state, record
            )  # fmt: skip
        measure_local(form, first, last, truth, schedule, stream, local_error)
    return record, local_error


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(("lanes", "kinds"), [(1, 1), (4, 1), (4, 3)])
def test_agrees_with_plain_numpy(lanes: int, kinds: int, name: str) -> None:
    """Same samples, same noise: the same decisions, so counts are equal; errors to rounding.

    150 rounds of averaging in another order lose a few units in the last place: 1e-11 is ample.
    """
    edges = GRAPHS[name]
    algorithms = every_algorithm(edges, kinds)
    recorded = [*range(1, 60), 100, ROUNDS]
    schedule = new_schedule(ROUNDS, recorded, tolerance=0.1)
    population = population_of(edges.indptr.size - 1, np.float64, range(lanes))
    rng = np.random.default_rng(3)
    shape = (ROUNDS, *population.location.shape)
    samples = population.location + rng.uniform(-HALF_RANGE, HALF_RANGE, shape)
    units = rng.laplace(size=shape)
    record, local = fed(lanes, edges, algorithms, population, schedule, samples, units)
    for k in range(algorithms.rule.size):
        for lane in {0, lanes - 1}:
            expected = run(
                algorithms, k, edges, population.classes[:, lane], population.location[:, lane],
                schedule, samples[:, :, lane], units[:, :, lane],
            )  # fmt: skip
            for field in ("size", "local", "close", "missed", "mixed_up"):
                counted = getattr(record, field)[k, :, lane]
                np.testing.assert_array_equal(counted, getattr(expected, field), field)
            np.testing.assert_allclose(record.error[k, :, lane], expected.error, rtol=1e-11)
            np.testing.assert_allclose(local[:, lane], expected.local_error, rtol=1e-11)


def drawn(
    lanes: int,
    runs: int,
    rounds: int,
    *,
    cuts: tuple[int, ...] = (),
    eager: bool = False,
) -> tuple[list[Array], KernelState]:
    """What an ordinary float32 study records of these runs, `lanes` at a time; the last state."""
    agents, form = 60, form_of(np.float32, lanes)
    study = study_of(agents, rounds)
    edges = edges_of(study.scenario.draw_graph(DEGREE, 0))
    entrants, prepared = study.entrants[PaperEngine], study.prepared[PaperEngine]
    algorithms = kernel_algorithms(study.setting, entrants, prepared, edges.indices.size, form)
    schedule = new_schedule(rounds, [1, 10, 100, rounds])
    records = []
    for first in range(0, runs, lanes):
        part = range(first, first + lanes)
        population = population_of(agents, np.float32, part)
        stream = new_stream(form, agents, 5, part)
        state = new_state(form, edges, algorithms, population)
        truth = new_truth(form, edges, population.location)
        record = new_kernel_record(form, algorithms, 4)
        local_error = zeros((4, lanes), np.float64)
        start = 1
        for stop in range(1, rounds + 1) if eager else (*cuts, rounds):
            if eager:
                state.deadline[...] = -1
            simulate(
                form, start, stop, edges, population, truth, schedule, algorithms, stream, state,
                record, local_error,
            )  # fmt: skip
            start = stop + 1
        records.append((*record, local_error))
    return [np.concatenate(field, axis=-1) for field in zip(*records, strict=True)], state


def test_rows_not_tested_again_would_not_have_changed() -> None:
    """acceptance: a row is left out only while no edge of it can have reached its threshold."""
    lazy, state = drawn(32, 32, 3000)
    assert (state.tested < 2900).mean() > 0.2, "the case must leave tests out"
    for one, other in zip(lazy, drawn(32, 32, 3000, eager=True)[0], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("lanes", "cuts"),
    [
        (32, (1, 2, 7, 100, 131, 399)),
        pytest.param(1, (), marks=pytest.mark.slow),
        pytest.param(4, (), marks=pytest.mark.slow),
    ],
)
def test_results_depend_neither_on_lanes_nor_on_cuts(lanes: int, cuts: tuple[int, ...]) -> None:
    """simd: "a lane's result does not depend on how many lanes stand beside it", to the bit.

    rounds.simulate: "May be called again to go on from where it stopped".
    """
    other = drawn(lanes, 32, 400, cuts=cuts)[0]
    for one, another in zip(drawn(32, 32, 400)[0], other, strict=True):
        np.testing.assert_array_equal(one, another)


@pytest.mark.parametrize("name", GRAPHS)
def test_edge_totals(name: str) -> None:
    """edge_totals: "within a class and between, in both directions", of honest ones."""
    edges = GRAPHS[name]
    population = population_of(edges.indptr.size - 1, np.float64, range(4))
    form = form_of(np.float64, 4)
    state = new_state(form, edges, every_algorithm(edges), population)
    others, _, present = Neighbours.of(edges)
    some = np.random.default_rng(2).uniform(size=population.classes.shape) < np.full(1, 0.7)
    everybody = np.ones(some.shape, np.bool_)
    for honest in (everybody, some):
        truth = new_truth(form, edges, population.location, honest)
        within, between = edge_totals(truth, state)
        for lane, classes in enumerate(population.classes.T):
            same = classes[others] == classes[:, None]
            measured = present & honest[others, lane] & honest[:, lane, None]
            assert within[lane] == (same & measured).sum()
            assert between[lane] == (~same & measured).sum()
