"""Theorem 1, Corollary 1, Propositions 1 and 3, and the numbers of Sec. V that follow from them."""

import math

import numpy as np
import pytest

from colme import theory
from colme.graph import Graph
from colme.privacy.mechanism import SeededLaplace
from colme.rules.bernstein import uniform_parameter
from colme.rules.consensus import theorem_alpha
from colme.rules.decision import Oracle
from colme.rules.release import Profile
from colme.sim.graphs import random_component_sizes
from support.algorithm1 import FloatArray
from support.worlds import adjacency_of, agent_name, estimates, join, mixing_matrix

CLIQUE = 5
SIX_CLIQUES_IN_A_RING = Graph.from_edges(
    [
        (c + a, c + b)
        for c in range(0, 30, CLIQUE)
        for a in range(CLIQUE)
        for b in range(a + 1, CLIQUE)
    ]
    + [(c, (c + CLIQUE) % 30) for c in range(0, 30, CLIQUE)],
    30,
)
CLASSES = np.arange(30) // CLIQUE
WITHIN = adjacency_of(SIX_CLIQUES_IN_A_RING) & (CLASSES[:, None] == CLASSES[None, :])
"""The edges that the oracle uses."""


def exact_variance(w: FloatArray, t_max: int) -> float:
    """t * average variance of the consensus value for samples of unit variance, alpha = t/(t+1).

    Unrolling line 15: the consensus value weighs the i-th samples with the matrix
    sum over s >= i of W^(t-s) / s, divided by t + 1.
    """
    powers = [np.eye(len(w))]
    for _ in range(t_max - 1):
        powers.append(powers[-1] @ w)
    weights = np.zeros_like(w)
    total = 0.0
    for i in range(t_max, 0, -1):
        weights = weights + powers[t_max - i] / i
        total += float((weights**2).sum()) / len(w)
    return t_max * total / (t_max + 1) ** 2


def test_theorem_1_is_the_limit_of_the_unrolled_recursion() -> None:
    """Theorem 1: t * MSE tends to 2 (sigma2 + sigma2_dp) / n_a; what is left over is o(1)."""
    w = mixing_matrix(WITHIN)
    sizes = SIX_CLIQUES_IN_A_RING.component_sizes(CLASSES)
    limit = theory.theorem1(0.25, sizes, 1.5)
    gaps = [1 - exact_variance(w, t) * (0.25 + 1.5) / limit for t in (50, 200, 800)]
    assert gaps[0] > gaps[1] > gaps[2] > 0
    assert gaps[2] < 0.01


@pytest.mark.slow
def test_thirty_agents_in_memory_agree_with_theorem_1() -> None:
    """The recursion whose limit Theorem 1 is, at t = 30, with the oracle rule, by real agents.

    40 runs of 6 independent components whose members agree: the squared error of a component is a
    scaled chi-squared variable, so the relative standard error is sqrt(2 / 240) = 9.1%. Three of
    them are allowed; that consensus starts at 0, and not at the means, is 0.4% of it by now.
    """
    rounds, runs = 30, 40
    generator = np.random.default_rng(20)
    sigma, truth = 0.5, CLASSES / 10
    half_range = sigma * 3**0.5
    profiles = [
        Profile(
            bounds=(mean - half_range, mean + half_range),
            sigma2=sigma**2,
            beta=uniform_parameter(half_range),
            epsilon=2.0,
        )
        for mean in truth.tolist()
    ]
    oracles = [
        Oracle(frozenset(map(agent_name, np.flatnonzero(own == CLASSES).tolist())))
        for own in CLASSES
    ]
    squared = []
    for _ in range(runs):
        noise = SeededLaplace(generator)
        network = join(SIX_CLIQUES_IN_A_RING, profiles, oracles.__getitem__, noise, theorem_alpha)
        for _ in range(rounds):
            samples = truth + generator.uniform(-half_range, half_range, len(truth))
            network.run_round(samples.tolist())
        squared.append(np.mean((estimates(network) - truth) ** 2))
    sigma2_dp = profiles[0].sigma2_dp
    assert sigma2_dp == pytest.approx(1.5)
    expected = exact_variance(mixing_matrix(WITHIN), rounds) * (sigma**2 + sigma2_dp)
    assert rounds * np.mean(squared) / expected == pytest.approx(1, abs=3 * 0.091)


def test_small_components_count_as_local_in_theorem_1() -> None:
    """Theorem 1: sigma2 for agents with n_a <= 2, for all others 2 (sigma2 + sigma2_dp) / n_a."""
    sizes = np.array([1, 2, 2, 3, 3, 3])
    expected = (3 * 0.25 + 3 * 2 * (0.25 + 6) / 3) / 6
    assert theory.theorem1(0.25, sizes, 6.0) == pytest.approx(expected)
    per_agent = np.array([1.0, 2, 3, 4, 5, 6])
    expected = (1 + 2 + 3 + (2 * (4 + 6) + 2 * (5 + 6) + 2 * (6 + 6)) / 3) / 6
    assert theory.theorem1(per_agent, sizes, 6.0) == pytest.approx(expected)


def test_corollary_1_is_where_theorem_1_crosses_local() -> None:
    """Corollary 1: below the bound collaboration converges faster than the local approach."""
    sizes = np.array([1, 2, 2, 3, 3, 3, 7, 7, 7, 7, 7, 7, 7])
    sigma2 = np.linspace(0.1, 0.4, len(sizes))
    bound = theory.corollary1_bound(sigma2, sizes)
    alone = theory.local(sigma2, sizes)
    assert theory.theorem1(sigma2, sizes, bound) == pytest.approx(alone)
    assert theory.theorem1(sigma2, sizes, 0.99 * bound) < alone
    assert theory.theorem1(sigma2, sizes, 1.01 * bound) > alone
    assert theory.corollary1_bound(0.25, np.array([1, 2, 2])) == 0


def test_propositions_1_and_3_by_simulation() -> None:
    """Propositions 1 and 3: sigma2 / t alone, sigma2 / (n_a t) with all of the component's data.

    4,000 runs at t = 1: relative standard errors below 2%, four of them allowed.
    """
    sizes = np.array([1, 2, 2, 3, 3, 3])
    groups = np.array([0, 1, 1, 2, 2, 2])
    data = np.random.default_rng(7).uniform(-(0.75**0.5), 0.75**0.5, (4000, 6))
    pooled = np.stack([data[:, groups == g].mean(axis=1) for g in groups], axis=1)
    assert theory.local(0.25, sizes) == pytest.approx(np.mean(data**2), rel=0.08)
    assert theory.ideal(0.25, sizes) == pytest.approx(np.mean(pooled**2), rel=0.08)
    assert theory.ideal(0.25, sizes) < theory.local(0.25, sizes)


@pytest.mark.parametrize(
    ("degree", "bound", "tolerance", "pays"),
    [(5, 1.9, 0.1, {1: False, 2: True, 4: True}), (20, 8.1, 0.05, {1: True, 2: True, 4: True})],
)
def test_the_corollary_values_of_section_5(
    degree: int, bound: float, tolerance: float, pays: dict[int, bool]
) -> None:
    """Sec. V: "approximately 1.9" for r = 5, "approximately 8.1" for r = 20, and who gains.

    At r = 5 the standard error over 600 draws is 0.03, and 1.85 to 1.95 would print as 1.9.
    """
    sizes = list(random_component_sizes(200, degree, 3, 600, np.random.default_rng(2)))
    for epsilon, expected in pays.items():
        prospect = theory.Prospect.over(
            sizes, sigma2=0.25, half_range=0.5 * math.sqrt(3), epsilon=epsilon
        )
        assert prospect.corollary1_bound == pytest.approx(bound, abs=tolerance)
        assert prospect.sigma2_dp == pytest.approx(6 / epsilon**2)
        assert prospect.collaboration_pays is expected
        at_the_edge = theory.Prospect.over(
            sizes, sigma2=0.25, half_range=0.5 * math.sqrt(3), epsilon=prospect.smallest_epsilon
        )
        assert at_the_edge.sigma2_dp == pytest.approx(prospect.corollary1_bound)
