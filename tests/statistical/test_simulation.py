"""Whole simulations against the paper's closed forms, with the standard errors of the results.

With the oracle, Algorithm 1 is linear in what is released, so its mean squared error is known in
every round, not only in Theorem 1's limit: `expected_mse` is that, from the graphs of the study.
Seeds are fixed, and four standard errors of 48 batches allow for their own uncertainty.
"""

import math
from functools import cache

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from colme.graph import Graph
from colme.rules.bernstein import simple_threshold
from colme.rules.consensus import stepped_alpha, theorem_alpha
from colme.sim.kernel.arrays import LANES
from colme.sim.scenario import Scenario
from colme.sim.simulation import simulate
from support.worlds import adjacency_of, mixing_matrix

FloatArray = NDArray[np.float64]

AGENTS = 60
DEGREE = 8
ROUNDS = 800
BATCHES = 48
SIGMA2 = 0.25
MEANS = [0.2, 0.8]
CLASSES = [a % 2 if a < AGENTS - 2 else 2 for a in range(AGENTS)]  # and a class of two
EPSILONS = [1.0, math.inf]

ORACLE = Scenario.build(
    agents=AGENTS,
    graph={"degree": DEGREE},
    means=[*MEANS, 0.5],
    classes=CLASSES,
    epsilon=EPSILONS,
    rounds=ROUNDS,
    runs=BATCHES * LANES,
    algorithms=[
        {"name": alpha, "algorithm": "oracle", "alpha": alpha} for alpha in ("theorem", "stepped")
    ],
)


@cache
def oracle() -> xr.Dataset:
    return simulate(ORACLE).sel(degree=DEGREE)


def w_of(graph: Graph) -> FloatArray:
    """W of Eq. (2) for accepted sets that hold exactly the neighbours of one's own class."""
    return mixing_matrix(adjacency_of(graph) & np.equal.outer(CLASSES, CLASSES))


@cache
def expected_mse(algorithm: str, epsilon: float) -> FloatArray:
    """E of `mse` in rounds 1 .. ROUNDS, averaged over the graphs of the batches.

    mu_t = (1 - alpha) x_t + alpha W mu_{t-1}, and x_t = ((t - 1) x_{t-1} + fresh sample) / t. In an
    eigenvector of W, with eigenvalue l, that gives Var mu_t and Cov(mu_t, x_t) from those of round
    t - 1; Var x_t = v / t. The bias is what is left of the start at 0, the same for every agent of
    a class, since W's rows add up to 1. Components of one or two have the local error, sigma^2 / t.
    """
    alpha = {"theorem": theorem_alpha, "stepped": stepped_alpha}[algorithm]
    profile = ORACLE.profiles()[EPSILONS.index(epsilon)][0][0]
    v = SIGMA2 + profile.sigma2_dp
    truth = np.array(ORACLE.means)[CLASSES]
    graphs = [ORACLE.draw_graph(DEGREE, batch) for batch in range(BATCHES)]
    joined = np.array([graph.component_sizes(CLASSES) > 2 for graph in graphs])
    eigenvalue, vectors = np.linalg.eigh([w_of(graph) for graph in graphs])
    shares = (vectors**2 * joined[:, :, None]).sum(axis=1)
    squared_means = (truth**2 * joined).sum()
    variance, covariance = np.zeros((2, *eigenvalue.shape))
    remains = 1.0
    total = np.zeros(ROUNDS)
    for t in range(1, ROUNDS + 1):
        a = alpha(t)
        before = covariance * (t - 1) / t
        variance = (
            (a * eigenvalue) ** 2 * variance
            + (1 - a) ** 2 * v / t
            + 2 * a * (1 - a) * eigenvalue * before
        )
        covariance = (1 - a) * v / t + a * eigenvalue * before
        remains *= a
        alone = (~joined).sum() * SIGMA2 / t
        total[t - 1] = (shares * variance).sum() + remains**2 * squared_means + alone
    return total / (BATCHES * AGENTS)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("algorithm", ["theorem", "stepped"])
def test_the_error_is_what_theory_says_in_every_round(algorithm: str, epsilon: float) -> None:
    """The oracle's mean squared error, in every recorded round: four standard errors, no bias."""
    result = oracle().sel(algorithm=algorithm, epsilon=epsilon)
    expected = expected_mse(algorithm, epsilon)[result.t.values - 1]
    off = (result.mse.values - expected) / result.mse_se.values
    assert np.abs(off).max() < 4


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_theorem_1(epsilon: float) -> None:
    """Theorem 1: t MSE tends to 2 (sigma^2 + sigma_DP^2) / n_a, and to sigma^2 where n_a <= 2.

    The gap at finite t is `expected_mse` less the limit: it falls as 1 / t (to log t), since it
    comes from a finite number of rounds in which the network had not mixed.
    """
    result = oracle().sel(algorithm="theorem", epsilon=epsilon)
    t = result.t.values
    limit = result.mse_theorem1.values
    gap = np.abs(expected_mse("theorem", epsilon)[t - 1] - limit)
    assert (np.abs(result.mse.values - limit) < gap + 4 * result.mse_se.values).all()
    relative = (gap / limit)[t >= ROUNDS // 4]
    assert relative[-1] < 0.02
    assert relative[-1] < 0.5 * relative[0], "a quarter, to log t, at four times the rounds"


def test_agents_alone() -> None:
    """Proposition 1: sigma^2 / t, in every recorded round to four standard errors."""
    result = oracle()
    off = (result.mse_local - SIGMA2 / result.t) / result.mse_local_se
    assert float(abs(off).max()) < 4


def test_nobody_beats_the_ideal() -> None:
    """Proposition 3: sigma^2 / (n_a t) is the least, even without noise; four standard errors."""
    result = oracle().sel(epsilon=math.inf)
    assert bool((result.mse > result.mse_ideal - 4 * result.mse_se).all())
    sizes = [ORACLE.draw_graph(DEGREE, i).component_sizes(CLASSES) for i in range(BATCHES)]
    ideal = SIGMA2 * np.mean([1 / n for n in sizes])
    np.testing.assert_allclose(result.mse_ideal * result.t, ideal, rtol=1e-12)


def test_float32_is_accurate_enough() -> None:
    """The same worlds in float64: no mean squared error moves by a standard error of 12 runs."""
    algorithms = [{"algorithm": "oracle"}, {"algorithm": "bernstein"}, {"algorithm": "optimistic"}]
    single, double = (
        np.stack(
            [
                simulate(
                    Scenario.build(
                        agents=AGENTS,
                        graph={"degree": DEGREE},
                        epsilon=EPSILONS,
                        rounds=2000,
                        runs=1,
                        seed=seed,
                        algorithms=algorithms,
                    ),
                    threads=1,
                    dtype=dtype,
                ).mse.values
                for seed in range(12)
            ]
        )
        for dtype in (np.float32, np.float64)
    )
    standard_error = double.std(axis=0, ddof=1) / math.sqrt(len(double))
    moved = np.abs(single.mean(axis=0) - double.mean(axis=0))
    assert moved.max() > 0, "the two must not be the same computation"
    assert (moved < standard_error).all()


LEVELS = [0.5, 1.0, 1.5]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_type_one_rate_of_the_bernstein_rule(level: float, epsilon: float) -> None:
    """Sec. II-D: equal means are told apart with probability at most theta, in every round.

    The bound is wide. So the rate must also be what it is: the difference of two means of t samples
    is close to normal at the end, with variance 2 (sigma^2 + sigma_DP^2) / t, and 2 Phi(-z / its
    deviation) lie beyond z. At worst all edges of a run err together: runs alone count.
    """
    result = _bernstein().sel(algorithm=f"{level}", epsilon=epsilon)
    assert float(result.type_one.max()) <= min(level, 1)
    profile = _BERNSTEIN.profiles()[EPSILONS.index(epsilon)][0][0]
    t = _BERNSTEIN.rounds
    variance = 2 * profile.released_variance(t, t)
    z = simple_threshold(level, variance, 2 * profile.released_parameter(t, t))
    rate = 2 * float(stats.norm.cdf(-z / math.sqrt(variance)))
    standard_error = math.sqrt(rate * (1 - rate) / _BERNSTEIN.runs)
    assert abs(float(result.type_one[-1]) - rate) < 4 * standard_error


_BERNSTEIN = Scenario.build(
    agents=AGENTS,
    graph={"degree": DEGREE},
    means=MEANS,
    epsilon=EPSILONS,
    rounds=200,
    runs=BATCHES * LANES,
    algorithms=[
        {"algorithm": "paper", "name": f"{level}", "theta": {"scale": level, "exponent": 0}}
        for level in LEVELS
    ],
)


@cache
def _bernstein() -> xr.Dataset:
    return simulate(_BERNSTEIN).sel(degree=DEGREE)
