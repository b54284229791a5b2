"""The mathematics beyond the paper: blocks and the tight rule."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colme.errors import ConfigError
from colme.rules.decision import Bernstein, PowerTheta, TightBernstein
from colme.rules.release import EVERY_SAMPLE, Blocks, Profile, Release
from support.refusing import refused

PAPER = Profile(bounds=(-(0.75**0.5), 0.75**0.5), sigma2=0.25, beta=0.75**0.5 / 20**0.5, epsilon=1)


@given(st.floats(0.01, 100) | st.just(math.inf), st.integers(0, 10**6))
def test_every_block_ends_after_it_begins(epsilon: float, count: int) -> None:
    assert Blocks(epsilon).next_end(count) > count


@pytest.mark.parametrize("epsilon", [0, -1, math.nan])
def test_blocks_need_an_epsilon(epsilon: float) -> None:
    with refused(ConfigError, "epsilon"):
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
    schedule, end, draws = Blocks(epsilon), 0, 0
    while (end := schedule.next_end(end)) <= count:
        draws += 1
    draws = max(1, draws)
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
