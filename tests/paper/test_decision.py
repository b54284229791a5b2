"""The two decision rules and their schedules (Sec. III-C and V)."""

from functools import cache
from itertools import pairwise, product
from math import exp, inf, log, nextafter, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from colme.errors import ConfigError
from colme.rules import decision
from colme.rules.bernstein import bounded_parameter, uniform_parameter
from colme.rules.decision import Bernstein, OptimisticDistance, PowerTheta
from colme.rules.release import Profile, Release, beta_tilde_bar
from support.bernstein import sum_parameter
from support.refusing import refused

REPEATABLE = settings(derandomize=True, database=None, deadline=None)

positive, ratios = st.floats(1e-3, 1e3), st.floats(1 / (2 * sqrt(3)), 5)
releases = st.builds(
    Release,
    count=st.integers(1, 10**6),
    mean=st.floats(-10, 10),
    variance=st.floats(0, 10),
    beta=st.floats(0, 10),
)


def release(profile: Profile, count: int, mean: float = 0.0) -> Release:
    return Release(
        count=count,
        mean=mean,
        variance=profile.released_variance(count, count),
        beta=profile.released_parameter(count, count),
    )


def uniform_profile(half_range: float, epsilon: float) -> Profile:
    return Profile(
        bounds=(-half_range, half_range),
        sigma2=half_range**2 / 3,
        beta=uniform_parameter(half_range),
        epsilon=epsilon,
    )


def bar(profile: Profile) -> float:
    return beta_tilde_bar(profile.sigma2, profile.beta, profile.sigma2_dp, profile.beta_dp)


@REPEATABLE
@given(positive, ratios, positive, ratios)
def test_beta_tilde_bar_is_lemma_3_taken_two_ways(
    sigma: float, ratio: float, sigma_dp: float, ratio_dp: float
) -> None:
    """Sec. III-C.1, from Lemma 3: the parameter of X-tilde-bar is beta-tilde-bar / sqrt t.

    Either data and noise are summed apart, or each sample with its noise. As sigma <= 2 sqrt 3
    beta, a sum of t >= 12 equals has the second argument of the lemma's minimum.
    """
    t, beta, beta_dp = 12, ratio * sigma, ratio_dp * sigma_dp
    data = sum_parameter([sigma] * t, [beta] * t)
    noise = sum_parameter([sigma_dp] * t, [beta_dp] * t)
    sample = sqrt(sigma**2 + sigma_dp**2)
    together = sum_parameter([sample] * t, [beta + beta_dp] * t)
    expected = min(data + noise, together) / t
    found = beta_tilde_bar(sigma**2, beta, sigma_dp**2, beta_dp) / sqrt(t)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [((9, 1, 16, 1), 5), ((9, 5, 16, 6), 11), ((9, 4, 16, 1), 5), ((0, 2, 0, 0), 2)],
)
def test_beta_tilde_bar_as_printed(
    parameters: tuple[float, float, float, float], expected: float
) -> None:
    """Sec. III-C.1: min(max(s, b) + max(s_DP, b_DP), max(b + b_DP, sqrt(s^2 + s_DP^2)))."""
    assert beta_tilde_bar(*parameters) == expected


@pytest.mark.parametrize("t", [1, 7, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2, inf])
def test_the_threshold_is_the_printed_one(t: int, epsilon: float) -> None:
    """Sec. III-C.1: z for agents with the same t and sigma_DP, and their own sigma and beta."""
    a = uniform_profile(1.0, epsilon)
    b = Profile(bounds=(3, 5), sigma2=0.5, beta=bounded_parameter(2.0), epsilon=epsilon)
    s = log(2 / 0.3)
    z = 2 * (bar(a) + bar(b)) / sqrt(t) * s
    z += sqrt(a.sigma2 + b.sigma2 + 2 * (8 / epsilon**2)) / sqrt(t) * sqrt(2 * s)
    found = Bernstein(PowerTheta(0.3, 0)).threshold(release(a, t), release(b, t))
    assert found == pytest.approx(z, rel=1e-12)


def test_the_threshold_uses_the_counts_and_epsilons_of_each_side() -> None:
    """Sec. II-D with X-tilde-bar_a and X-tilde-bar_b as X and Y; theta at the smaller count."""
    a, b, t_a, t_b = uniform_profile(1.0, 0.5), uniform_profile(0.2, 3.0), 50, 8
    s = log(2 / (1 / 8))
    variance = (a.sigma2 + 8 * 1.0**2 / 0.5**2) / t_a + (b.sigma2 + 8 * 0.2**2 / 3.0**2) / t_b
    z = 2 * (bar(a) / sqrt(t_a) + bar(b) / sqrt(t_b)) * s + sqrt(variance) * sqrt(2 * s)
    rule = Bernstein(PowerTheta(1, 1))
    assert rule.threshold(release(a, t_a), release(b, t_b)) == pytest.approx(z, rel=1e-12)


@REPEATABLE
@given(releases, releases, st.floats(0.01, 5), st.floats(0, 2))
def test_every_rule_is_symmetric(
    mine: Release, theirs: Release, scale: float, exponent: float
) -> None:
    """Sec. III-B: the rule ensures symmetry, b in C_a if and only if a in C_b."""
    bernstein = Bernstein(PowerTheta(scale, exponent))
    assert bernstein.threshold(mine, theirs) == bernstein.threshold(theirs, mine)
    classes = frozenset({"a", "b"}), frozenset({"c"})
    class_of = {name: members for members in classes for name in members}
    for a, b in product(class_of, repeat=2):
        there, back = decision.Oracle(class_of[a]), decision.Oracle(class_of[b])
        assert there.accepts(b, mine, theirs) == back.accepts(a, theirs, mine)
        assert there.accepts(b, mine, theirs) == (class_of[a] == class_of[b])
    for rule in (bernstein, OptimisticDistance(degree=5, agents=20)):
        assert rule.accepts("b", mine, theirs) == rule.accepts("a", theirs, mine)


def test_the_bernstein_rule_rejects_at_its_threshold() -> None:
    """Sec. III-C.1: chi = 1 if the difference is < z_theta; at theta = 2, where z = 0, never."""
    profile = uniform_profile(1.0, 1.0)
    mine = release(profile, 9)
    rule = Bernstein(PowerTheta(1, 1))
    z = rule.threshold(mine, mine)
    assert not rule.accepts("b", mine, release(profile, 9, mean=z))
    assert rule.accepts("b", mine, release(profile, 9, mean=nextafter(z, 0)))
    assert Bernstein(PowerTheta(5, 0)).threshold(mine, mine) == 0
    assert not Bernstein(PowerTheta(5, 0)).accepts("b", mine, mine)


@pytest.mark.parametrize(("t", "r", "agents", "delta"), [(1, 5, 200, 1.0), (40, 20, 200, 0.1)])
def test_the_radius_of_optimistic_distance(t: int, r: int, agents: int, delta: float) -> None:
    """Sec. III-C.2: sqrt(2 (s_DP^2 + s^2) / t (1 + 1/t) ln(4 r M sqrt(t + 1) / delta))."""
    profile = uniform_profile(0.5, 2.0)
    factor = (1 + 1 / t) * log(4 * r * agents * sqrt(t + 1) / delta)
    printed = sqrt(2 * (8 * 0.5**2 / 2.0**2 + profile.sigma2) / t * factor)
    rule = OptimisticDistance(degree=r, agents=agents, delta=delta)
    assert rule.radius(release(profile, t)) == pytest.approx(printed, rel=1e-12)


def test_optimistic_distance_accepts_at_the_sum_of_the_radii_of_each_side() -> None:
    """Sec. III-C.2: chi-tilde = 1 if |difference| - beta_delta(a) - beta_delta(b) <= 0."""
    rule = OptimisticDistance(degree=5, agents=20)
    noisy, quiet = uniform_profile(1, 1), uniform_profile(1, 4)
    mine, theirs = release(noisy, 3), release(quiet, 300)
    assert rule.radius(mine) > 10 * rule.radius(theirs) > 0
    edge = rule.radius(mine) + rule.radius(theirs)
    assert rule.accepts("b", mine, release(quiet, 300, mean=edge))
    assert not rule.accepts("b", mine, release(quiet, 300, mean=nextafter(edge, inf)))


ROOTS = {5: {1: 8, 2: 7, 4: 7, inf: 7}, 20: {1: 7, 2: 6, 4: 5, inf: 5}}
SECTION_V = {(r, epsilon): root for r, roots in ROOTS.items() for epsilon, root in roots.items()}


@pytest.mark.parametrize(("preset", "root"), SECTION_V.items())
def test_the_schedules_of_the_paper(preset: tuple[int, float], root: int) -> None:
    """Sec. V: theta_t is the minimum of 2 and 3 / t^(1/8), ..., by r and epsilon."""
    theta = decision.paper_theta(*preset)
    assert decision.PAPER_THETA.keys() == SECTION_V.keys()
    for t in (1, 17, 10**3, 10**6):
        assert theta(t) == pytest.approx(min(2, 3 / t ** (1 / root)), rel=1e-14)
    with refused(ConfigError, "(degree, epsilon)"):
        decision.paper_theta(preset[0] + 1, preset[1])


@pytest.mark.parametrize("theta", [PowerTheta(1, 1), *decision.PAPER_THETA.values()])
def test_the_threshold_and_theta_both_vanish(theta: PowerTheta) -> None:
    """Sec. III-C.1: z -> 0 as ln(1 / theta_t) / sqrt t -> 0, while theta_t -> 0."""
    profile = uniform_profile(1.0, 1.0)
    late = [release(profile, 10**k) for k in range(4, 45, 4)]
    z = [Bernstein(theta).threshold(one, one) for one in late]
    assert all(later < earlier for earlier, later in pairwise(z))
    assert all(theta(b.count) < theta(a.count) for a, b in pairwise(late))
    assert z[-1] < 1e-15
    assert theta(10**44) < 1e-4


def test_the_threshold_does_not_vanish_where_theta_falls_too_fast() -> None:
    """Sec. III-C.1: 1 / theta_t = e^(o(sqrt t)) is what is needed; e^(sqrt t) is too much."""
    profile, rule = uniform_profile(1.0, 1.0), Bernstein(lambda t: exp(-sqrt(t)))
    for t in (10, 1000, 10**5):
        assert rule.threshold(release(profile, t), release(profile, t)) > 4 * bar(profile)


TRIALS = 20_000
LEVELS = [0.01, 0.1, 0.5]
COUNTS = [(1, 1), (4, 4), (30, 30), (5, 40)]
EPSILONS = [1, 4, inf]
Law = tuple[str, tuple[float, float]]
# A method of numpy's generator with its arguments, on [0, 1]: the variance and the parameter.
LAWS: dict[Law, tuple[float, float]] = {
    ("uniform", (0, 1)): (1 / 12, uniform_parameter(0.5)),
    ("binomial", (1, 0.1)): (0.09, bounded_parameter(0.9)),
    ("beta", (2, 5)): (10 / 392, bounded_parameter(5 / 7)),
}


@cache
def differences(law: Law, epsilon: float, counts: tuple[int, int]) -> NDArray[np.float64]:
    """Of two released means of the same law, each sample with its own Laplace noise."""
    generator = np.random.default_rng(20240)
    means = [
        getattr(generator, law[0])(*law[1], size=(TRIALS, t)).mean(axis=1)
        + generator.laplace(scale=1 / epsilon, size=(TRIALS, t)).mean(axis=1)
        for t in counts
    ]
    return np.asarray(means[0] - means[1])


def excess_errors(
    law: Law, epsilon: float, counts: tuple[int, int], theta: float, shrink: float = 1
) -> float:
    """By how many standard errors the rate of rejections exceeds theta, with z * shrink for z."""
    sigma2, beta = LAWS[law]
    profile = Profile(bounds=(0, 1), sigma2=sigma2, beta=beta, epsilon=epsilon)
    mine, theirs = (release(profile, t) for t in counts)
    z = Bernstein(PowerTheta(theta, 0)).threshold(mine, theirs)
    rate = np.mean(np.abs(differences(law, epsilon, counts)) >= shrink * z)
    return float(rate - theta) / sqrt(theta * (1 - theta) / TRIALS)


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("law", LAWS)
def test_the_type_one_error_is_at_most_theta(
    law: Law, epsilon: float, counts: tuple[int, int]
) -> None:
    """Sec. II-D and III-C.1: theta bounds the type-I error; up to 4 standard errors of 20000."""
    assert all(excess_errors(law, epsilon, counts, theta) <= 4 for theta in LEVELS)


def test_a_fraction_of_the_threshold_would_not_keep_theta() -> None:
    """The test above has power: with a tenth of z every cell fails, with a fifth some do."""
    cells = list(product(LAWS, EPSILONS, COUNTS))
    assert all(any(excess_errors(*cell, theta, 1 / 10) > 4 for theta in LEVELS) for cell in cells)
    assert any(excess_errors(*cell, theta, 1 / 5) > 4 for theta in LEVELS for cell in cells)
