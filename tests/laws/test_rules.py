"""What every decision rule must meet: those of the package, and one of a user's own."""

from dataclasses import dataclass, fields, is_dataclass
from math import inf, nextafter, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.errors import ConfigError, UnknownOption
from colme.rules.decision import RULES, DecisionRule, Oracle, Situation, ThresholdRule
from colme.rules.release import Profile, Release

REPEATABLE = settings(derandomize=True, database=None, deadline=None, max_examples=60)


@dataclass(frozen=True, slots=True)
class WithinErrors(ThresholdRule):
    """A rule of one's own: so many standard deviations of the difference apart."""

    errors: float = 3.0

    def threshold(self, mine: Release, theirs: Release) -> float:
        return self.errors * sqrt(mine.variance + theirs.variance)


SITUATION = Situation(agents=200, degree=20, epsilon=1)
THRESHOLDS: dict[str, ThresholdRule] = {
    name: rule
    for name, kind in RULES.items()
    if kind is not Oracle
    for rule in [kind.tuned(name, SITUATION, {})]
    if isinstance(rule, ThresholdRule)
} | {"one's own": WithinErrors()}
EVERY: dict[str, DecisionRule] = {**THRESHOLDS, "oracle": Oracle(frozenset({"a", "b"}))}

each = pytest.mark.parametrize("rule", EVERY.values(), ids=list(EVERY))
each_threshold = pytest.mark.parametrize("rule", THRESHOLDS.values(), ids=list(THRESHOLDS))

counts = st.integers(1, 10**6)
releases = st.builds(
    Release,
    count=counts,
    mean=st.floats(-10, 10),
    variance=st.floats(1e-9, 10),
    beta=st.floats(0, 10),
)
profiles = st.builds(
    lambda low, width, epsilon, share: Profile.bounded(
        low, low + width, epsilon=epsilon, sigma2=share * width * width / 4
    ),
    st.floats(-100, 100),
    st.floats(0.1, 100),
    st.sampled_from([0.1, 1.0, 4.0, inf]),
    st.floats(0.01, 0.99),
)


def release(rule: DecisionRule, profile: Profile, count: int, mean: float = 0.0) -> Release:
    return Release(
        count=count,
        mean=mean,
        variance=profile.released_variance(count, count),
        beta=rule.parameter(profile, count, count),
    )


def test_every_rule_of_the_package_is_held_to_these_laws() -> None:
    assert RULES.keys() == EVERY.keys() - {"one's own"}


@each
@REPEATABLE
@given(releases, releases)
def test_both_ends_decide_alike(rule: DecisionRule, mine: Release, theirs: Release) -> None:
    assert rule.accepts("b", mine, theirs) == rule.accepts("a", theirs, mine)


@each_threshold
@REPEATABLE
@given(releases, releases)
def test_the_threshold_is_symmetric_and_never_negative(
    rule: ThresholdRule, mine: Release, theirs: Release
) -> None:
    assert rule.threshold(mine, theirs) == rule.threshold(theirs, mine)
    assert 0 <= rule.threshold(mine, theirs) < inf


@each_threshold
@REPEATABLE
@given(releases, counts)
def test_what_is_accepted_follows_from_the_threshold(
    rule: ThresholdRule, mine: Release, count: int
) -> None:
    """Below it everything, above it nothing, at it what `inclusive` says."""
    origin = Release(count=mine.count, mean=0.0, variance=mine.variance, beta=mine.beta)

    def accepts(distance: float) -> bool:
        there = Release(count=count, mean=distance, variance=mine.variance, beta=mine.beta)
        return rule.accepts("b", origin, there) and rule.accepts("b", there, origin)

    z = rule.threshold(origin, Release(count=count, mean=0, variance=mine.variance, beta=mine.beta))
    assert accepts(z) == rule.inclusive
    assert not accepts(nextafter(z, inf))
    if z > 0:
        assert accepts(nextafter(z, 0))


@each
@REPEATABLE
@given(profiles, counts)
def test_a_release_can_carry_the_parameter_that_the_rule_asks_for(
    rule: DecisionRule, profile: Profile, count: int
) -> None:
    """Never below what the tail bound needs, and smaller with every sample."""
    now, later = (rule.parameter(profile, n, n) for n in (count, 4 * count))
    assert profile.tight_parameter(count) <= now * (1 + 1e-12)
    assert later <= now


@each_threshold
@REPEATABLE
@given(profiles)
def test_the_threshold_vanishes(rule: ThresholdRule, profile: Profile) -> None:
    """Sec. III-C: classes that differ are told apart in the end."""
    early, late = (release(rule, profile, 10**k) for k in (4, 14))
    assert rule.threshold(late, late) < 0.01 * rule.threshold(early, early)


@each_threshold
@REPEATABLE
@given(profiles, profiles, st.integers(1, 1000), st.integers(1, 1000))
def test_who_knows_less_of_the_other_accepts_more(
    rule: ThresholdRule, mine: Profile, theirs: Profile, few: int, more: int
) -> None:
    """A noisier release of the other side never lowers the threshold."""
    one = release(rule, mine, few)
    quiet = release(rule, theirs, more)
    loud = Release(count=quiet.count, mean=0.0, variance=2 * quiet.variance, beta=2 * quiet.beta)
    assert rule.threshold(one, loud) >= rule.threshold(one, quiet)


@each
def test_a_rule_is_a_frozen_value(rule: DecisionRule) -> None:
    """Equal where its fields are: what neighbours compare, and what states and results keep."""
    assert is_dataclass(rule)
    again = type(rule)(**{field.name: getattr(rule, field.name) for field in fields(rule)})
    assert again == rule
    assert hash(again) == hash(rule)
    with pytest.raises((AttributeError, TypeError)):
        rule.another = 1


@pytest.mark.parametrize("name", [name for name in RULES if name != "oracle"])
def test_an_option_that_a_rule_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(UnknownOption, match=f"magic: {name!r} has none"):
        RULES[name].tuned(name, SITUATION, {"magic": 1})
    with pytest.raises(ConfigError):
        RULES[name].tuned(name, SITUATION, {"theta" if name != "optimistic" else "delta": "x"})
