"""What every decision rule must meet: those of the package, and one of a user's own."""

from dataclasses import dataclass
from math import sqrt

import pytest

from colme import testing
from colme.errors import ConfigError, UnknownOption
from colme.rules.decision import RULES, DecisionRule, Oracle, Situation, ThresholdRule
from colme.rules.release import Profile, Release
from colme.testing import RULE_LAWS, THRESHOLD_LAWS, check_rule, hold

SITUATION = Situation(agents=200, degree=20, epsilon=1)


@dataclass(frozen=True, slots=True)
class WithinErrors(ThresholdRule):
    """A rule of one's own: so many standard deviations of the difference apart."""

    errors: float = 3.0

    def threshold(self, mine: Release, theirs: Release) -> float:
        return self.errors * sqrt(mine.variance + theirs.variance)


EVERY: dict[str, DecisionRule] = {
    name: Oracle(frozenset({"a", "b"})) if kind is Oracle else kind.tuned(name, SITUATION, {})
    for name, kind in RULES.items()
} | {"one's own": WithinErrors()}


@pytest.mark.parametrize("rule", EVERY.values(), ids=list(EVERY))
def test_every_rule_keeps_every_law(rule: DecisionRule) -> None:
    check_rule(rule)


@dataclass(frozen=True)
class Jealous(WithinErrors):
    """Asymmetric: one end decides by its own variance."""

    def threshold(self, mine: Release, theirs: Release) -> float:
        return self.errors * sqrt(mine.variance)


@dataclass(frozen=True)
class Negative(WithinErrors):
    def threshold(self, mine: Release, theirs: Release) -> float:
        return -1.0


@dataclass(frozen=True)
class Generous(WithinErrors):
    """Accepts beyond its threshold."""

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        return abs(mine.mean - theirs.mean) < 2 * self.threshold(mine, theirs)


@dataclass(frozen=True)
class Careless(WithinErrors):
    """Announces a parameter below what its tail needs."""

    def parameter(self, profile: Profile, count: int, blocks: int) -> float:
        return 0.5 * profile.tight_parameter(count)


@dataclass(frozen=True)
class Fixed(WithinErrors):
    def threshold(self, mine: Release, theirs: Release) -> float:
        return 0.1


@dataclass(frozen=True)
class Suspicious(WithinErrors):
    """Accepts less of those who are noisier."""

    def threshold(self, mine: Release, theirs: Release) -> float:
        small, large = sorted([mine.variance, theirs.variance])
        return small / sqrt(large)


@dataclass(unsafe_hash=True)
class Changeable(ThresholdRule):
    errors: float = 3.0

    def threshold(self, mine: Release, theirs: Release) -> float:
        return self.errors * sqrt(mine.variance + theirs.variance)


BROKEN = {
    testing.both_ends_decide_alike: Jealous(),
    testing.the_threshold_is_symmetric_and_not_negative: Negative(),
    testing.what_is_accepted_follows_from_the_threshold: Generous(),
    testing.a_release_can_carry_its_parameter: Careless(),
    testing.the_threshold_vanishes: Fixed(),
    testing.a_noisier_release_is_not_accepted_less: Suspicious(),
    testing.a_rule_is_a_frozen_value: Changeable(),
}


def test_every_law_can_be_broken_and_the_check_finds_it() -> None:
    assert set(BROKEN) == {*RULE_LAWS, *THRESHOLD_LAWS}
    for law, rule in BROKEN.items():
        with pytest.raises(AssertionError):
            hold(rule, law)
        with pytest.raises(AssertionError):
            check_rule(rule)


@pytest.mark.parametrize("name", [name for name in RULES if name != "oracle"])
def test_an_option_that_a_rule_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(UnknownOption) as error:
        RULES[name].tuned(name, SITUATION, {"magic": 1})
    assert error.value.field == "magic"
    with pytest.raises(ConfigError):
        RULES[name].tuned(name, SITUATION, {"theta" if name != "optimistic" else "delta": "x"})
