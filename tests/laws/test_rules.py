"""What every decision rule must meet: those of the package, and one of a user's own."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import pytest

from colme import testing
from colme.errors import ConfigError, UnknownOption
from colme.rules.decision import RULES, DecisionRule, Oracle, Situation, ThresholdRule
from colme.rules.release import Release
from colme.testing import RULE_LAWS, THRESHOLD_LAWS, check_rule, hold
from support.own_rule import WithinErrors, deciding_by
from support.refusing import refused

SITUATION = Situation(agents=200, degree=20, epsilon=1)


EVERY: dict[str, DecisionRule] = {
    name: Oracle(frozenset({"a", "b"})) if kind is Oracle else kind.tuned(name, SITUATION, {})
    for name, kind in RULES.items()
} | {"one's own": WithinErrors()}


@pytest.mark.parametrize("rule", EVERY.values(), ids=list(EVERY))
def test_every_rule_keeps_every_law(rule: DecisionRule) -> None:
    check_rule(rule)


def of_both(mine: Release, theirs: Release) -> float:
    return 3 * sqrt(mine.variance + theirs.variance)


def by_the_noisier(mine: Release, theirs: Release) -> float:
    """Accepts less of those who are noisier."""
    small, large = sorted([mine.variance, theirs.variance])
    return small / sqrt(large)


@dataclass(unsafe_hash=True)
class Changeable(ThresholdRule):
    errors: float = 3.0

    def threshold(self, mine: Release, theirs: Release) -> float:
        return self.errors / 3 * of_both(mine, theirs)


BROKEN: dict[Callable[..., None], DecisionRule] = {
    # One end decides by its own variance.
    testing.both_ends_decide_alike: deciding_by(lambda mine, theirs: 3 * sqrt(mine.variance)),
    testing.the_threshold_is_symmetric_and_not_negative: deciding_by(lambda mine, theirs: -1.0),
    # It accepts beyond its threshold.
    testing.what_is_accepted_follows_from_the_threshold: deciding_by(
        of_both,
        accepts=lambda self, _, mine, theirs: (
            abs(mine.mean - theirs.mean) < 2 * self.threshold(mine, theirs)
        ),
    ),
    # It announces a parameter below what its tail needs.
    testing.a_release_can_carry_its_parameter: deciding_by(
        of_both, parameter=lambda _, profile, count, blocks: 0.5 * profile.tight_parameter(count)
    ),
    testing.the_threshold_vanishes: deciding_by(lambda mine, theirs: 0.1),
    testing.a_noisier_release_is_not_accepted_less: deciding_by(by_the_noisier),
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
    with refused(UnknownOption, "magic"):
        RULES[name].tuned(name, SITUATION, {"magic": 1})
    with pytest.raises(ConfigError):
        RULES[name].tuned(name, SITUATION, {"theta" if name != "optimistic" else "delta": "x"})
