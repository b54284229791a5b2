"""The baselines against their plain versions, and what their papers say of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from colme.errors import ConfigError
from colme.graph import Graph
from colme.rules.decision import OptimisticDistance, PowerTheta
from colme.rules.release import Profile, Release
from colme.sim.engines.baselines.base import Baseline, Radii, Run
from colme.sim.engines.baselines.colme import Colme
from colme.sim.engines.baselines.graph_colme import BColme, CColme
from colme.sim.engines.baselines.local_ideal import IdealTable, LocalTable
from colme.sim.engines.baselines.private_colme import PrivateColme
from support import plain_baselines as plain
from support.refusing import refused

Array = np.ndarray[Any, Any]
ROUNDS = 60
SIGMA = 0.1
PROFILE = Profile(bounds=(-2.0, 3.0), sigma2=0.01, beta=0.1, epsilon=50.0)
WIDE = replace(PROFILE, sigma2=1.0, beta=1.0)
THETA = PowerTheta(1.5, 1 / 2)


def run_on(graph: Graph, profile: Profile = PROFILE) -> Run:
    """A run whose agents are all of one class."""
    return Run(graph, np.zeros(graph.agents, np.int64), profile)


class World:
    """8 to 12 agents of three classes, on a random graph, with noise that makes rules err."""

    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.agents = int(generator.integers(8, 13))
        network = nx.gnp_random_graph(self.agents, 0.5, seed=seed)
        self.graph = Graph.from_networkx(network)
        self.neighbours = {a: set(self.graph.neighbours(a).tolist()) for a in range(self.agents)}
        self.classes = generator.integers(0, 3, self.agents)
        # With this for the truth, the last wrong edge goes while others are still to be dropped.
        self.far = (self.classes == 2).astype(np.int64)
        self.run = Run(self.graph, self.classes, PROFILE)
        centres = np.array([0.0, 0.3, 1.2])[self.classes]
        count = np.arange(1, ROUNDS + 1)[:, None]
        # Wider than the sigma that the rules are told, so that they also drop the wrong ones.
        samples = centres + generator.normal(0, 2 * SIGMA, (ROUNDS, self.agents))
        self.data = np.cumsum(samples, axis=0) / count
        self.noise = np.cumsum(generator.laplace(size=(ROUNDS, self.agents)), axis=0) / count

    @property
    def means(self) -> plain.Rows:
        return [[], *self.data.tolist()]


def answers_of(
    algorithm: Baseline, world: World, chunk: int = ROUNDS, dtype: type = np.float64
) -> Array:
    data: Array = world.data.astype(dtype)
    noise: Array = world.noise.astype(dtype)
    answers = np.full_like(data, np.nan)
    for i in range(0, ROUNDS, chunk):
        part = slice(i, i + chunk)
        algorithm.advance(i + 1, data[part], noise[part], answers[part])
    return answers


def edges(accepted: Array | None, graph: Graph) -> plain.Neighbours:
    assert accepted is not None
    first = np.repeat(np.arange(graph.agents), graph.degrees)
    return {a: set(graph.indices[accepted & (first == a)].tolist()) for a in range(graph.agents)}


def classes(accepted: Array | None) -> plain.Neighbours:
    assert accepted is not None
    return {a: set(np.flatnonzero(row).tolist()) for a, row in enumerate(accepted)}


@dataclass(frozen=True)
class Case:
    """A baseline, and what its plain version answers and keeps."""

    make: Callable[[World], Baseline]
    plain: Callable[[World], tuple[plain.Rows, plain.Neighbours | None]]


def colme(restricted: bool, weights: str) -> Case:
    return Case(
        lambda w: Colme(w.run, delta=0.1, restricted=restricted, weights=weights),
        lambda w: plain.colme(w.means, SIGMA, 0.1, restricted, weights),
    )


def b_colme(depth: int) -> Case:
    return Case(
        lambda w: BColme(w.run, delta=0.1, depth=depth),
        lambda w: plain.b_colme(w.means, w.neighbours, SIGMA, 0.1, depth),
    )


CASES: dict[str, Case] = {
    "local": Case(lambda w: LocalTable(algorithm="local").make(w.run), lambda w: (w.means, None)),
    "ideal": Case(
        lambda w: IdealTable(algorithm="ideal").make(w.run),
        lambda w: (plain.ideal(w.means, w.graph.components(w.classes).tolist()), None),
    ),
    "c-colme": Case(
        lambda w: CColme(w.run, delta=0.1),
        lambda w: plain.c_colme(w.means, w.neighbours, SIGMA, 0.1),
    ),
    "c-colme, global reset": Case(
        lambda w: CColme(Run(w.graph, w.far, PROFILE), delta=0.1, global_reset=True),
        lambda w: plain.c_colme(w.means, w.neighbours, SIGMA, 0.1, w.far.tolist()),
    ),
    **{f"b-colme, depth {depth}": b_colme(depth) for depth in range(4)},
    **{
        f"colme, {weights}{', restricted' * restricted}": colme(restricted, weights)
        for weights in ("simple", "soft", "aggressive")
        for restricted in (False, True)
    },
    "private-colme": Case(
        lambda w: PrivateColme(w.run, theta=THETA),
        lambda w: plain.private_colme(
            w.means, [[], *w.noise.tolist()], 2.5, 50.0, 0.01, 0.1, THETA
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", CASES)
def test_parity_with_the_plain_version(name: str, seed: int) -> None:
    world = World(seed)
    algorithm = CASES[name].make(world)
    answers = answers_of(algorithm, world)
    rows, kept = CASES[name].plain(world)
    np.testing.assert_allclose(answers, np.array(rows[1:]), rtol=0, atol=1e-12)
    accepted = algorithm.accepted()
    if kept is None:
        assert accepted is None
    elif accepted is not None and accepted.ndim == 2:
        assert classes(accepted) == kept
    else:
        assert edges(accepted, world.graph) == kept


def test_the_worlds_are_interesting() -> None:
    """Edges are dropped, one end before the other, and not all of them."""
    one_sided = dropped = kept = 0
    for seed in range(8):
        world = World(seed)
        for rounds in range(1, ROUNDS):
            _, left = plain.c_colme(world.means[: rounds + 1], world.neighbours, SIGMA, 0.1)
            pairs = [(b in left[a], a in left[b]) for a in left for b in world.neighbours[a]]
            one_sided += sum(x != y for x, y in pairs)
        dropped += sum(not x for x, _ in pairs)
        kept += sum(x for x, _ in pairs)
    assert min(one_sided, dropped, kept) > 20


def test_variants_differ() -> None:
    """Else parity would not tell them apart."""
    worlds = [World(seed) for seed in range(8)]
    answers = {str([case.plain(w)[0][ROUNDS // 2] for w in worlds]) for case in CASES.values()}
    assert len(answers) == len(CASES)


@pytest.mark.parametrize("chunk", [1, 7, 32])
@pytest.mark.parametrize("name", CASES)
def test_chunks_change_nothing(name: str, chunk: int) -> None:
    world = World(3)
    whole, parts = CASES[name].make(world), CASES[name].make(world)
    np.testing.assert_array_equal(answers_of(whole, world), answers_of(parts, world, chunk))
    assert whole.cost() == parts.cost()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_single_precision(name: str) -> None:
    """State is double, so only the rounding of the data shows, unless it turns a decision."""
    world = World(1)
    single = answers_of(CASES[name].make(world), world, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(
        single, answers_of(CASES[name].make(world), world), rtol=0, atol=2e-6
    )


@pytest.mark.parametrize("kind", [CColme, BColme])
def test_a_dropped_edge_stays_dropped(kind: type[CColme] | type[BColme]) -> None:
    """Two agents part, then meet: they stay apart, each with its own mean."""
    graph = Graph.from_edges([(0, 1)], 2)
    apart = np.array([[0.0, 5.0]] * 40)
    together = np.array([[1.0, 1.0]] * 40)
    algorithm = kind(run_on(graph), delta=0.1)
    answers = np.empty((40, 2))
    algorithm.advance(1, apart, apart, answers)
    assert not np.any(algorithm.accepted())
    assert algorithm.cost().messages == 0
    algorithm.advance(41, together, together, answers)
    assert not np.any(algorithm.accepted())


def test_exclusion_is_reversible_in_colme() -> None:
    algorithm = Colme(run_on(Graph.from_edges([], 2)), delta=0.1)
    answers = np.empty((40, 2))
    algorithm.advance(1, np.array([[0.0, 5.0]] * 40), answers, answers.copy())
    assert classes(algorithm.accepted()) == {0: {0}, 1: {1}}
    algorithm.advance(41, np.array([[1.0, 1.5]] * 20 + [[1.0, 1.01]] * 20), answers, answers)
    assert classes(algorithm.accepted()) == {0: {0, 1}, 1: {0, 1}}
    np.testing.assert_allclose(answers[-1], 1.005)


@pytest.mark.parametrize("weights", ["simple", "soft", "aggressive"])
def test_all_excluded_stays_local_and_asks_nobody(weights: str) -> None:
    """The published code loops forever here."""
    algorithm = Colme(run_on(Graph.from_edges([], 3)), delta=0.1, restricted=True, weights=weights)
    data = np.array([[0.0, 10.0, 20.0]] * 30)
    answers = np.empty_like(data)
    algorithm.advance(1, data, data, answers)
    np.testing.assert_array_equal(answers[-1], data[-1])
    assert algorithm.cost().messages == 0


def test_agents_without_peers_are_local() -> None:
    data = np.array([[1.0], [2.0], [3.0]])
    run = run_on(Graph.from_edges([], 1))
    alone: list[Baseline] = [
        Colme(run, delta=0.1),
        BColme(run, delta=0.1),
        PrivateColme(run, theta=THETA),
        IdealTable(algorithm="ideal").make(run),
    ]
    for algorithm in alone:
        answers = np.empty_like(data)
        algorithm.advance(1, data, data, answers)
        np.testing.assert_array_equal(answers, data)
        assert algorithm.cost().messages == 0


def test_b_colme_of_a_tree_reaches_everyone_within_its_depth() -> None:
    """On a path of 4, depth 2 is all there is: the samples of everyone, up to h + 1 rounds old."""
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)], 4)
    data = (
        np.cumsum(np.random.default_rng(5).normal(size=(20, 4)), axis=0) / np.arange(1, 21)[:, None]
    )
    answers = np.empty_like(data)
    BColme(run_on(graph, WIDE), delta=0.1, depth=2).advance(1, data, data, answers)
    samples = 20 * data[19, 0] + 19 * data[18, 1] + 18 * data[17, 2] + 17 * data[16, 3]
    assert answers[19, 0] == pytest.approx(samples / (20 + 19 + 18 + 17), abs=1e-14)


def test_the_radius_is_that_of_private_c_colme_without_noise() -> None:
    rule = OptimisticDistance(degree=5, agents=200, delta=0.1)
    release = Release(count=7, mean=0.0, variance=SIGMA**2 / 7, beta=0.0)
    gamma = 0.1 / (4 * 5 * 200)
    radii = Radii(SIGMA, gamma)
    assert radii.after(7) == pytest.approx(rule.radius(release), rel=1e-14)
    assert radii.after(0) == np.inf


def test_costs_of_the_first_round() -> None:
    """Requests count as messages; 8 bytes for a mean, 4 for a count or a size."""
    graph = Graph.from_networkx(nx.random_regular_graph(4, 10, seed=1))
    run = run_on(graph)
    c, b = CColme(run, delta=0.1).cost(), BColme(run, delta=0.1).cost()
    assert (c.messages, c.payload, c.memory) == (8, 4 * 24, 20)
    assert (b.messages, b.payload, b.memory) == (4, 4 * (4 * 12 + 4), 2 + 4 * 9)
    asks = Colme(run, delta=0.1).cost()
    assert (asks.messages, asks.payload, asks.memory) == (2, 12, 21)
    tells = PrivateColme(run, theta=THETA).cost()
    assert (tells.messages, tells.payload, tells.memory) == (9, 108, 21)


def test_samples_that_never_vary_have_no_radius() -> None:
    still = replace(PROFILE, sigma2=0.0)
    with refused(ConfigError, words="sigma"):
        CColme(run_on(Graph.from_edges([], 1), still), delta=0.1)
