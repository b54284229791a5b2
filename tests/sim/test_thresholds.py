"""The thresholds of edges between unequal agents are those of the rule, however it is asked."""

from math import inf, sqrt

import numpy as np
import pytest

from colme.errors import ConfigError
from colme.rules.decision import RULES, Oracle, Situation, ThresholdRule
from colme.rules.release import Profile, Release
from colme.sim.engines.decisions import PROBED, EdgeThresholds, LooksAtMeans, probe, threshold_table
from support.own_rule import deciding_by
from support.refusing import refused

EPSILONS = (0.5, 1.0, 4.0, inf, 1.0)
PROFILES = [
    Profile.bounded(0, 1, epsilon=e, sigma2=0.02 + 0.01 * a) for a, e in enumerate(EPSILONS)
]
ENDS = np.array([(a, b) for a in range(5) for b in range(5) if a != b]).T


SCALAR = deciding_by(
    lambda mine, theirs: sqrt(mine.variance) + sqrt(theirs.variance) if mine.variance > 0 else 1.0
)
"""A rule that takes numbers only."""


SITUATION = Situation(agents=5, degree=4, epsilon=1)
RULES_TO_ASK: dict[str, ThresholdRule] = {
    name: rule
    for name, kind in RULES.items()
    if kind is not Oracle
    for rule in [kind.tuned(name, SITUATION, {})]
    if isinstance(rule, ThresholdRule)
} | {"scalar": SCALAR, "constant": deciding_by(lambda mine, theirs: 0.25)}


@pytest.mark.parametrize("rule", RULES_TO_ASK.values(), ids=list(RULES_TO_ASK))
def test_every_edge_has_the_threshold_of_its_two_releases(rule: ThresholdRule) -> None:
    """To the bit, whether the rule is asked for all pairs at once or one by one."""
    z = np.zeros((ENDS.shape[1], 4, 1))
    edges = EdgeThresholds(rule, [PROFILES], (ENDS[0], ENDS[1]), z)
    for first, last in ((1, 3), (4, 4), (5, 8)):
        edges.fill(first, last)
        for t in range(first, last + 1):
            for e, (a, b) in enumerate(ENDS.T.tolist()):
                mine, theirs = (
                    Release(
                        count=t,
                        mean=0.0,
                        variance=profile.released_variance(t, t),
                        beta=rule.parameter(profile, t, t),
                    )
                    for profile in (PROFILES[a], PROFILES[b])
                )
                found, expected = z[e, (t - 1) % 4, 0], rule.threshold(mine, theirs)
                assert found == (np.nextafter(expected, inf) if rule.inclusive else expected)


def test_classes_of_their_own_variance_have_thresholds_of_their_own() -> None:
    """Whoever is of which class: at classes * class_a + class_b, for agents of any epsilon."""
    rule = RULES_TO_ASK["tight"]
    by_class = [
        [Profile.bounded(0, 1, epsilon=e, sigma2=sigma2) for e in EPSILONS]
        for sigma2 in (0.01, 0.2)
    ]
    z, alone, expected = np.zeros((ENDS.shape[1], 2, 4)), np.zeros((1, 2, 4)), np.zeros((1, 2, 1))
    EdgeThresholds(rule, by_class, (ENDS[0], ENDS[1]), z).fill(21, 22)
    EdgeThresholds(rule, [one[:1] for one in by_class], (ENDS[0], ENDS[1]), alone).fill(21, 22)
    assert len(np.unique(alone[0, 1])) == 3
    for e, (a, b) in enumerate(ENDS.T.tolist()):
        for pair in range(4):
            mine, theirs = by_class[pair // 2][a], by_class[pair % 2][b]
            ends = np.array([0]), np.array([1])
            EdgeThresholds(rule, [[mine, theirs]], ends, expected).fill(21, 22)
            np.testing.assert_array_equal(z[e, :, pair], expected[0, :, 0])
            if EPSILONS[a] == EPSILONS[b] == EPSILONS[0]:
                np.testing.assert_array_equal(alone[0, :, pair], expected[0, :, 0])


def test_a_rule_that_looks_at_means_at_any_time_is_found_out() -> None:
    """From the 50th sample on."""
    late = deciding_by(lambda mine, theirs: 1.0 if mine.count < 50 else abs(mine.mean))
    assert len(threshold_table(late, PROFILES[0], 49)) == 49
    with pytest.raises(LooksAtMeans):
        threshold_table(late, PROFILES[0], 50)


def test_a_rule_that_looks_too_late_is_told_so() -> None:
    """At means, where somebody has hardly any privacy: nobody it is tried on."""

    def threshold(mine: Release, theirs: Release) -> float:
        loud = max(mine.variance, theirs.variance) * mine.count > 1e6
        return abs(mine.mean - theirs.mean) if loud else 1.0

    rule = deciding_by(threshold, "LooksAtTheLoud")
    quiet = [Profile.bounded(0, 1, epsilon=1 + a) for a in range(PROBED)]
    probe(rule, quiet)
    everyone = [*quiet, Profile.bounded(0, 1, epsilon=1e-3)]
    ends = np.array([0]), np.array([PROBED])
    with refused(ConfigError, "rule", seen="LooksAtTheLoud"):
        EdgeThresholds(rule, [everyone], ends, np.zeros((1, 4, 1))).fill(1, 2)


def test_probing_many_agents_takes_as_long_as_probing_few() -> None:
    """Pairs of all of them would be more than there is memory for."""
    many = [Profile.bounded(0, 1, epsilon=1 + a / 1000) for a in range(50_000)]
    probe(SCALAR, many)
