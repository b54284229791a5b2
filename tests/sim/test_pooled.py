"""Tracking in the simulator: parity with real agents, and whole studies."""

from collections import deque
from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
import pytest
import xarray as xr

from colme.graph import Graph
from colme.network import Network
from colme.protocol.agent import Agent
from colme.rules.pooling import largest_weight
from colme.rules.release import Blocks, Profile
from colme.sim.in_memory import agent_name, estimates, run_round
from colme.sim.kernel.arrays import Array
from colme.sim.kernel.pooled import advance, answer
from colme.sim.kernel.pooled_arrays import blocks_by_round, draw_units, new_pool, new_pool_state
from colme.sim.kernel.simd import form_of
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support.tracked import tracking

AGENTS = 12
LANES = 16  # more than a register of float64 holds
ROUNDS = 150
TOLERANCE = 1e-11  # values are of order 1, and the two sides add the same numbers in another order
CENTRES = np.array([0.2, 0.35, 0.8])  # near enough for edges to come and go
VARIANCES = (0.05, 0.08, 0.12)

IRREGULAR = [*((0, b) for b in range(1, 9)), (1, 2), (2, 3), (3, 5), (5, 8), (4, 7), (9, 10)]
GRAPHS = {
    "regular": Graph.from_edges([(a, (a + k) % AGENTS) for a in range(AGENTS) for k in (1, 3)], 12),
    "irregular": Graph.from_edges(IRREGULAR, AGENTS),  # 11 is alone
    "complete": Graph.from_edges([(a, b) for a in range(AGENTS) for b in range(a)], AGENTS),
}
PRIVACY = {"1": (1.0,), "4": (4.0,), "inf": (inf,), "mixed": (1.0, inf, 4.0, 0.5)}


class World:
    """Profiles, and for every lane samples on the lattice of [0, 1] and noise in its steps."""

    def __init__(self, privacy: str, lanes: int) -> None:
        generator = np.random.default_rng(5)
        epsilons = [PRIVACY[privacy][a % len(PRIVACY[privacy])] for a in range(AGENTS)]
        classes = generator.integers(0, 3, (AGENTS, lanes))
        self.profiles = [
            [
                Profile.bounded(0.0, 1.0, epsilon=e, sigma2=VARIANCES[c])
                for e, c in zip(epsilons, classes[:, lane].tolist(), strict=True)
            ]
            for lane in range(lanes)
        ]
        step = self.profiles[0][0].lattice_step
        centres = CENTRES[classes]
        values = generator.beta(2 * centres, 2 * (1 - centres), (ROUNDS, AGENTS, lanes))
        self.samples = 0.5 + step * np.rint((values - 0.5) / step)
        self.means = np.cumsum(self.samples, axis=0) / np.arange(1, ROUNDS + 1)[:, None, None]
        scales = np.array([[p.lattice_scale, p.square_lattice_scale] for p in self.profiles[0]]).T
        shape = (2, ROUNDS, AGENTS, lanes)
        self.draws = np.rint(generator.laplace(size=shape) * scales[:, None, :, None])
        with np.errstate(invalid="ignore"):
            units = self.draws / scales[:, None, :, None]
        self.units = np.nan_to_num(units)


def agents_of(world: World, graph: Graph, lane: int, known: bool) -> Iterator[Network]:
    """The same world by real agents, after every round."""
    noise: deque[int] = deque()
    network = Network(
        (
            Agent(
                tracking(
                    agent_name(a),
                    tuple(map(agent_name, graph.neighbours(a).tolist())),
                    profile,
                    release_squares=not known,
                )
            )
            for a, profile in enumerate(world.profiles[lane])
        ),
        lambda _: noise.popleft(),
    )
    blocks = [0] * AGENTS
    ends = [Blocks(profile.epsilon).next_end(0) for profile in world.profiles[lane]]
    for t, samples in enumerate(world.samples[..., lane], start=1):
        for a, profile in enumerate(world.profiles[lane]):
            if ends[a] == t:
                kinds = 1 if known else 2
                noise.extend(int(d) for d in world.draws[:kinds, blocks[a], a, lane])
                blocks[a] += 1
                ends[a] = Blocks(profile.epsilon).next_end(t)
        run_round(network, samples)
        yield network


def played(
    world: World, graph: Graph, known: bool, chunk: int = 1, lanes: slice = slice(None)
) -> tuple[Array, Array]:
    """The kernel's answers and accepted pairs after every chunk."""
    data = np.ascontiguousarray(world.means[..., lanes])
    units = np.ascontiguousarray(world.units[..., lanes])
    profiles = world.profiles[lanes]
    pool = new_pool(graph, profiles, ROUNDS, known=known)
    state = new_pool_state(pool, profiles, np.full(data.shape[1:], 0.5), np.float64)
    answers, accepted = [], []
    for i in range(0, ROUNDS, chunk):
        part = data[i : i + chunk]
        advance(form_of(data.dtype, data.shape[2]), i + 1, part, units, pool, state)
        answers.append(np.empty(data.shape[1:]))
        answer(i + len(part), part[-1], pool, state, answers[-1])
        accepted.append(state.reach > 0)
    return np.array(answers), np.array(accepted)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["known", "released"])
@pytest.mark.parametrize("privacy", PRIVACY)
@pytest.mark.parametrize("graph", GRAPHS)
def test_every_round_is_that_of_real_agents(graph: str, privacy: str, known: bool) -> None:
    """Whom they accept, and what they answer, to 1e-11."""
    world = World(privacy, LANES)
    answers, accepted = played(world, GRAPHS[graph], known)
    pairs = new_pool(GRAPHS[graph], world.profiles, ROUNDS, known=known).ends.tolist()
    lane = LANES - 1
    for t, network in enumerate(agents_of(world, GRAPHS[graph], lane, known)):
        agents = list(network.agents.values())
        alike = [agent_name(b) in agents[a].accepted for a, b in pairs]
        np.testing.assert_array_equal(accepted[t, :, lane], alike, err_msg=f"round {t + 1}")
        np.testing.assert_allclose(answers[t, :, lane], estimates(network), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("known", [True, False], ids=["known", "released"])
def test_these_worlds_have_something_to_disagree_about(known: bool) -> None:
    """Edges go and some come back, and after a while most no longer answer locally."""
    world = World("mixed", LANES)
    answers, accepted = played(world, GRAPHS["complete"], known)
    steps = np.diff(accepted.astype(int), axis=0)
    first = int(max(np.flatnonzero(blocks_by_round(0.5, ROUNDS))[0], 1))
    assert (steps[first:] < 0).any()
    assert (steps[first:] > 0).any()
    local = (answers == world.means).mean(axis=(1, 2))
    assert local[0] == 1
    assert 0 < local[60] < 1
    assert local[-1] < 0.5


def test_chunks_do_not_matter() -> None:
    world = World("mixed", LANES)
    single, _ = played(world, GRAPHS["irregular"], known=False)
    chunked, _ = played(world, GRAPHS["irregular"], known=False, chunk=7)
    np.testing.assert_array_equal(chunked[:-1], single[6::7])
    np.testing.assert_array_equal(chunked[-1], single[-1])


def test_lanes_do_not_matter() -> None:
    world = World("4", LANES)
    together, _ = played(world, GRAPHS["regular"], known=False, chunk=50)
    for lane in (0, LANES - 1):
        alone, _ = played(
            world, GRAPHS["regular"], known=False, chunk=50, lanes=slice(lane, lane + 1)
        )
        np.testing.assert_array_equal(alone[..., 0], together[..., lane])


def test_every_block_of_the_schedule_is_counted() -> None:
    table = blocks_by_round(2.0, 100)
    end, blocks = 0, 0
    while (end := Blocks(2.0).next_end(end)) <= 100:
        blocks += 1
        assert table[end] == blocks
    assert np.count_nonzero(table) == blocks


def test_units_depend_on_seed_run_agent_and_block_alone() -> None:
    """So every epsilon sees the same, though it has another number of blocks."""
    few, many = (
        new_pool(GRAPHS["regular"], World(privacy, 1).profiles, ROUNDS, known=True)
        for privacy in ("1", "4")
    )
    short, long = draw_units([few], 9, [4, 5]), draw_units([few, many], 9, [5, 6])
    assert short.shape[1] < long.shape[1]
    np.testing.assert_array_equal(short[..., 1], long[:, : short.shape[1], :, 0])
    assert len(np.unique(long)) > 0.999 * long.size


STUDY: dict[str, Any] = {
    "agents": 40,
    "graph": {"degree": [6]},
    "means": [0.2, 0.8],
    "rounds": 1500,
    "runs": 40,
    "epsilon": [4, inf],
}
BOTH = [
    {"name": "known", "algorithm": "tracking"},
    {"name": "released", "algorithm": "tracking", "variance": "released"},
]


@pytest.fixture(scope="module")
def alone() -> xr.Dataset:
    """Both of them, and nobody else, in single precision."""
    return simulate(Scenario.build(**STUDY, algorithms=BOTH), dtype=np.float32)


@pytest.mark.slow
def test_float32_is_as_good_as_float64(alone: xr.Dataset) -> None:
    """The same data and noise: where no decision flips by rounding, nothing differs that counts."""
    double = simulate(Scenario.build(**STUDY, algorithms=BOTH), dtype=np.float64)
    assert (alone.mse != double.mse).any()
    assert (abs(alone.mse - double.mse) < 0.1 * double.mse_se).all()


def test_a_study_sees_it_beside_the_others_as_alone(alone: xr.Dataset) -> None:
    others = [{"algorithm": "ideal"}, {"algorithm": "bernstein"}]
    beside = simulate(Scenario.build(**STUDY, algorithms=[others[0], *BOTH, others[1]]))
    assert alone.drop_attrs().equals(beside.drop_attrs().sel(algorithm=["known", "released"]))


def test_a_study_with_an_epsilon_for_all_or_the_same_for_each() -> None:
    common = simulate(Scenario.build(**(STUDY | {"epsilon": 4}), algorithms=BOTH))
    own = Scenario.build(**STUDY, epsilon_per_agent=[4.0] * 40, algorithms=BOTH)
    np.testing.assert_array_equal(simulate(own).mse, common.mse)


def test_what_is_measured_is_plausible(alone: xr.Dataset) -> None:
    """Sharing pays, never costs much, finds the classes; 3 messages to each neighbour."""
    end = alone.isel(t=-1)
    assert (end.mse < 0.25 * end.mse_local).all()
    assert (end.mse > 0.8 * end.mse_ideal).all()
    assert (alone.mse < 1.3 * alone.mse_local).all()
    assert (end.type_one < 0.01).all()
    assert (end.type_two < 0.01).all()
    assert (alone.answering_locally.sel(t=1) == 1).all()
    assert (end.answering_locally < 0.05).all()
    assert (end.messages == 18).all()
    assert (end.payload.sel(algorithm="known") == 240).all()
    assert (end.payload.sel(algorithm="released") == 288).all()
    assert (end.memory.sel(algorithm="known") < end.memory.sel(algorithm="released")).all()


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("epsilons", [(1.0,), (0.1, inf, inf), (4.0, inf, 1.0)], ids=str)
def test_at_one_pace_no_denominator_reaches_what_agents_mix_at_most(
    graph: str, epsilons: tuple[float, ...]
) -> None:
    """So the kernel need not look, and is still what real agents do. The most seen is 0.9 of it."""
    generator = np.random.default_rng(3)
    profiles = [
        Profile.bounded(0.0, 1.0, epsilon=epsilons[a % len(epsilons)], sigma2=0.08)
        for a in range(AGENTS)
    ]
    rounds = 600
    everyone = [profiles] * LANES
    samples = CENTRES[generator.integers(0, 3, (AGENTS, LANES))]
    samples = samples + generator.uniform(-0.2, 0.2, (rounds, AGENTS, LANES))
    means = np.cumsum(samples, axis=0) / np.arange(1, rounds + 1)[:, None, None]
    pool = new_pool(GRAPHS[graph], everyone, rounds, known=True)
    state = new_pool_state(pool, everyone, np.full((AGENTS, LANES), 0.5), np.float64)
    units = draw_units([pool], 1, range(LANES)).astype(np.float64)
    largest = 0.0
    for t in range(1, rounds + 1):
        advance(form_of(np.float64, LANES), t, means[t - 1 : t], units, pool, state)
        for pair, (a, b) in enumerate(pool.ends):
            count = int(min(state.counted[a], state.counted[b]))
            if count and state.reach[pair].any():
                used = state.shared[t % 2, 1, [a, b]][:, state.reach[pair] > 0].max()
                largest = max(largest, used / largest_weight(0.5, count))
    assert 0.3 < largest < 1
