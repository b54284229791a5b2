"""The mathematics beyond the paper: blocks, the tight rule, tracking, the pooled check."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colme.errors import ConfigError
from colme.rules.decision import Bernstein, PowerTheta, TightBernstein
from colme.rules.pooling import (
    BOUND_ERRORS,
    excess,
    forgetting,
    pooled_excess,
    public_precision,
    softened_age,
    tracked,
    trust,
    variance_and_error,
    variance_within,
    worth_sharing,
)
from colme.rules.release import EVERY_SAMPLE, Blocks, Profile, Release
from colme.theory import blocks_within

PAPER = Profile(bounds=(-(0.75**0.5), 0.75**0.5), sigma2=0.25, beta=0.75**0.5 / 20**0.5, epsilon=1)


@given(st.floats(0.01, 100) | st.just(math.inf), st.integers(0, 10**6))
def test_every_block_ends_after_it_begins(epsilon: float, count: int) -> None:
    assert Blocks(epsilon).next_end(count) > count


@pytest.mark.parametrize("epsilon", [0, -1, math.nan])
def test_blocks_need_an_epsilon(epsilon: float) -> None:
    with pytest.raises(ConfigError, match="epsilon"):
        Blocks(epsilon)


@pytest.mark.parametrize(
    ("count", "blocks", "samples"),
    [(100, 5.2e-3, 6.0e-2), (1000, 1.2e-4, 6.0e-3), (10_000, 2.0e-6, 6.0e-4)],
)
def test_noise_in_the_released_mean(count: int, blocks: float, samples: float) -> None:
    """At epsilon = 1: sigma2_dp N / n^2, a fraction of the paper's sigma2_dp / n."""
    for schedule, expected in ((Blocks(1), blocks), (EVERY_SAMPLE, samples)):
        draws, released, end = 0, 0, schedule.next_end(0)
        while end <= count:
            draws, released, end = draws + 1, end, schedule.next_end(end)
        assert draws == blocks_within(schedule, count)
        noise = PAPER.released_variance(released, draws) - PAPER.sigma2 / released
        assert noise == pytest.approx(expected, rel=0.1)


def test_the_tight_threshold_is_far_below_the_papers() -> None:
    n, theta = 1000, PowerTheta(1, 1)
    variance = PAPER.released_variance(n, n)
    tight, loose = TightBernstein(theta), Bernstein(theta)
    pair = [
        Release(count=n, mean=0, variance=variance, beta=rule.parameter(PAPER, n, n))
        for rule in (tight, loose)
    ]
    assert tight.threshold(pair[0], pair[0]) < 0.2 * loose.threshold(pair[1], pair[1])


@pytest.mark.parametrize("epsilon", [0.5, 1, 4, math.inf])
@pytest.mark.parametrize("count", [20, 100])
@pytest.mark.parametrize("theta", [0.02, 0.2])
def test_the_tight_rule_holds_its_type_one_error(epsilon: float, count: int, theta: float) -> None:
    """20,000 pairs of block releases with one mean: rejected at most theta + 4 standard errors."""
    profile = Profile.bounded(0, 1, epsilon=epsilon, sigma2=0.21)
    generator = np.random.default_rng(4)
    draws = max(1, blocks_within(Blocks(epsilon), count))
    shape = (2, 20_000)
    data = generator.binomial(count, 0.3, shape) / count
    scale = 1 / epsilon
    noise = generator.laplace(size=(*shape, draws)).sum(axis=-1) * scale / count
    release = Release(
        count=count,
        mean=0,
        variance=profile.released_variance(count, draws),
        beta=profile.tight_parameter(count),
    )
    z = TightBernstein(lambda _: theta).threshold(release, release)
    first, second = data + noise
    rejected = np.mean(np.abs(first - second) >= z)
    assert rejected <= theta + 4 * math.sqrt(theta / 20_000)
    # and the rule is not vacuous: a third of its threshold would not hold the level
    assert np.mean(np.abs(first - second) >= z / 3) > theta


@given(
    st.lists(st.floats(-5, 5), min_size=3, max_size=3),
    st.lists(st.floats(-5, 5), min_size=3, max_size=3),
    st.floats(0, 1),
)
def test_tracking_keeps_the_sum_of_the_inputs(
    before: list[float], after: list[float], alpha: float
) -> None:
    """Whatever is mixed by a doubly stochastic matrix, the values add up to the inputs."""
    mix = [sum(before) / 3] * 3
    values = [tracked(alpha, x, old, m) for x, old, m in zip(after, before, mix, strict=True)]
    assert sum(values) == pytest.approx(sum(after), abs=1e-9)


def test_the_excess_is_zero_on_average_among_equals() -> None:
    """(x - m)^2 / v - 1 with m known exactly: mean 0, within four standard errors."""
    x = np.random.default_rng(1).normal(0.3, 0.1, 40_000)
    values = np.array([excess(float(v), 0.3, 0.01) for v in x])
    assert abs(values.mean()) < 4 * math.sqrt(2 / len(x))
    assert excess(0.5, 0.3, 0.01) == pytest.approx(3)
    assert pooled_excess(0.25, 4.0, 8.0) == 7.0


def test_old_excess_is_forgotten_at_first_at_once_and_later_slowly() -> None:
    weights = [forgetting(j) for j in range(1, 20_000)]
    assert weights[0] == 1
    assert all(a >= b for a, b in pairwise(weights))
    assert 0 < weights[-1] < 0.01


@given(
    st.floats(-2, 2), st.floats(-2, 2), st.floats(0, 1), st.integers(1, 10**6), st.floats(-5, 1e6)
)
def test_trust_is_a_share(
    local: float, shared: float, sigma2: float, count: int, bias2: float
) -> None:
    weight = trust(local=local, shared=shared, sigma2=sigma2, count=count, bias2=bias2)
    assert 0 <= weight <= 1


def test_trust_falls_with_the_neighbourhoods_excess_and_with_ones_own_surprise() -> None:
    s2 = 0.25 / 1000
    assert trust(local=0.3, shared=0.3, sigma2=0.25, count=1000, bias2=0.0) == 1
    assert trust(local=0.3, shared=0.3, sigma2=0.25, count=1000, bias2=5 * s2) < 0.06
    assert trust(local=0.3, shared=0.5, sigma2=0.25, count=1000, bias2=0.0) < 0.01


def test_a_single_change_costs_three_quarters_of_the_age_and_many_cost_all() -> None:
    assert softened_age(0, False) == softened_age(0, True) == 1
    assert softened_age(9_999, True) == 2_500
    age = 9_999
    for _ in range(7):
        age = softened_age(age, True)
    assert age == 1


def test_a_release_that_is_mostly_noise_is_not_shared() -> None:
    assert not worth_sharing(sigma2=0.25, sigma2_dp=6.0, count=8, blocks=1)
    assert worth_sharing(sigma2=0.25, sigma2_dp=6.0, count=100, blocks=7)
    assert worth_sharing(sigma2=0.25, sigma2_dp=0.0, count=1, blocks=1)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5])
@pytest.mark.parametrize(("count", "blocks"), [(100, 7), (1000, 17), (10_000, 36)])
def test_the_released_variance_is_right_and_its_bound_covers(
    p: float, count: int, blocks: int
) -> None:
    """Coins between 0 and 1 at epsilon = 1, 2,000 releases: unbiased within four standard errors,
    and two stated errors above it are enough in 95%."""
    generator = np.random.default_rng(6)
    x = generator.binomial(count, p, 2000) / count
    sums = generator.laplace(size=(2000, blocks)).sum(axis=1) / count
    squares = generator.laplace(size=(2000, blocks)).sum(axis=1) / count  # 4 L^2 / eps = 1
    found = np.array(
        [
            variance_and_error(
                0.25 + float(s),  # a coin's squared distance from 1/2 is 1/4, always
                float(m),
                half_range=0.5,
                sigma2_dp=2.0,
                count=count,
                blocks=blocks,
            )
            for s, m in zip(squares, x - 0.5 + sums, strict=True)
        ]
    )
    estimate, error = found.T
    truth = p * (1 - p)
    # E(mean^2) holds the sampling variance too: the estimate is that of a sample, truth (1 - 1/n).
    bias = estimate.mean() - truth * (1 - 1 / count)
    assert abs(bias) < 4 * estimate.std() / math.sqrt(2000)
    bound = np.minimum(estimate + BOUND_ERRORS * error, 0.25)
    assert np.mean(bound >= truth) > 0.95


def test_a_variance_stays_within_what_bounds_allow() -> None:
    assert variance_within(-3.0, 0.5) == pytest.approx(0.005)
    assert variance_within(0.1, 0.5) == 0.1
    assert variance_within(7.0, 0.5) == 0.25


def test_the_weight_of_a_release_is_a_function_of_public_facts() -> None:
    """1 / variance for uniform data; less noise, more weight."""
    assert public_precision(0.5, 0.0, 100, 7) == pytest.approx(100 / (1 / 12))
    assert public_precision(0.5, 2.0, 100, 7) < public_precision(0.5, 2.0, 100, 6)
