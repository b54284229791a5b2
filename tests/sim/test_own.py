"""A rule, a baseline and an engine of the user's own, in scenarios: objects, and by name."""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colme import plugins
from colme.errors import ConfigError
from colme.protocol.rounds.paper import Paper
from colme.rules.decision import (
    Bernstein,
    DecisionRule,
    Oracle,
    PowerTheta,
    ThresholdRule,
    TightBernstein,
)
from colme.rules.release import Release
from colme.sim.engines.decisions import PythonRule
from colme.sim.scenario import Scenario
from colme.sim.simulation import Prepared, simulate
from support.own_rule import WithinErrors, deciding_by

MODULE = """
from dataclasses import dataclass
from math import sqrt

from colme import ThresholdRule


@dataclass(frozen=True, slots=True)
class WithinErrors(ThresholdRule):
    errors: float = 3.0

    def threshold(self, mine, theirs):
        return self.errors * sqrt(mine.variance + theirs.variance)


STRICT = WithinErrors(1.0)
NUMBER = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a module of the user's own, which is forgotten again."""
    (tmp_path / "my_rules.py").write_text(MODULE)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("my_rules", None)


@dataclass(frozen=True, slots=True)
class Looking(ThresholdRule):
    """The same thresholds, but it can't be known beforehand: it looks at the means."""

    errors: float = 3.0

    def threshold(self, mine: Release, theirs: Release) -> float:
        assert abs(mine.mean) < 1e9
        return self.errors * sqrt(mine.variance + theirs.variance)


@dataclass(frozen=True, slots=True)
class Deciding(DecisionRule):
    """The same decisions with no threshold at all."""

    errors: float = 3.0

    def accepts(self, peer: str, mine: Release, theirs: Release) -> bool:
        z = self.errors * sqrt(mine.variance + theirs.variance)
        return abs(mine.mean - theirs.mean) < z


SMALL = {
    "agents": 40,
    "graph": {"family": "erdos-renyi", "degree": 9},
    "epsilon": [2.0, float("inf")],
    "rounds": 60,
    "runs": 3,
}


@pytest.mark.slow
def test_a_rule_that_needs_no_means_runs_as_tables_and_one_that_does_runs_the_same() -> None:
    """Three forms of one rule: the fast way, the slower way, and real decisions: the same MSE."""
    rules = {"tables": WithinErrors(), "looking": Looking(), "deciding": Deciding()}
    algorithms = [
        {"name": name, "algorithm": "paper", "rule": rule} for name, rule in rules.items()
    ]
    scenario = Scenario.build(**SMALL, algorithms=algorithms)
    result = simulate(scenario, dtype=np.float64)
    expected = result.sel(algorithm="tables").drop_vars("algorithm")
    for name in ("looking", "deciding"):
        for variable in ("mse", "accepted_size", "type_one", "answering_locally"):
            found = result.sel(algorithm=name)[variable]
            np.testing.assert_allclose(found, expected[variable], rtol=1e-9, err_msg=name)
    assert (result.type_two.isel(t=-1) < 1).any()
    assert (result.accepted_size.isel(t=-1) > 1.5).any()


def test_only_rules_that_look_at_means_take_the_slower_way(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(PythonRule, "decide", lambda _, t, *others: asked.append(t))
    for rule, slow in ((WithinErrors(), False), (Looking(), True), (Deciding(), True)):
        asked.clear()
        scenario = Scenario.build(**SMALL, algorithms=[{"algorithm": "paper", "rule": rule}])
        study = Prepared(scenario, scenario.graph.degrees[0])
        study.batch(0, 2).advance(1, 5)
        # At both epsilons.
        assert sorted(asked) == (sorted([1, 2, 3, 4, 5] * 2) if slow else []), rule


def test_a_rule_by_name_from_toml_beside_it(folder: Path) -> None:
    path = folder / "scenario.toml"
    path.write_text(
        """
agents = 10
rounds = 20
runs = 2
graph = { degree = 4 }

[[algorithms]]
algorithm = "paper"
rule = "my_rules:WithinErrors"
errors = 2.0

[[algorithms]]
name = "strict"
rule = "my_rules:STRICT"
"""
    )
    scenario = Scenario.load(path)
    assert [one.label for one in scenario.algorithms] == ["paper, WithinErrors", "strict"]
    result = simulate(scenario)
    assert np.isfinite(result.mse).all()
    assert Scenario.of_result(result) == scenario
    plain = scenario.model_dump(mode="json")["algorithms"]
    assert plain[0]["rule"] == {"object": "my_rules:WithinErrors", "errors": 2.0}
    assert plain[1]["rule"] == {"object": "my_rules:WithinErrors", "errors": 1.0}


@pytest.mark.parametrize(
    ("rule", "options", "field"),
    [
        ("my_rules:Nothing", {}, "rule"),
        ("no_such_module:Rule", {}, "rule"),
        ("my_rules:NUMBER", {}, "rule"),
        ("my_rules:WithinErrors", {"width": 1}, "width"),
        ("my_rules:STRICT", {"errors": 2}, "errors"),
        (Oracle, {"errors": 2}, "errors"),
        (3, {}, "rule"),
        ({}, {}, "rule"),
        ({"name": "bernstein"}, {}, "rule"),
        ({"object": None}, {}, "rule"),
    ],
)
def test_what_is_no_rule_is_refused(
    folder: Path, rule: object, options: dict[str, object], field: str
) -> None:
    sys.path.append(str(folder))
    with pytest.raises(ConfigError) as refused:
        Scenario.build(algorithms=[{"algorithm": "paper", "rule": rule, **options}])
    assert re.fullmatch(rf"algorithms\.0\.(.*\.)?{field}", refused.value.field)


@pytest.mark.parametrize("by_name", [True, False])
def test_a_rule_in_the_place_of_an_algorithm_is_the_papers_with_it(
    folder: Path, by_name: bool
) -> None:
    sys.path.append(str(folder))
    given = ["my_rules:STRICT", "my_rules:WithinErrors"] if by_name else [WithinErrors()]
    for one in given:
        scenario = Scenario.build(algorithms=["paper", one])
        assert scenario.algorithms[1].label == "paper, WithinErrors"


@pytest.mark.parametrize(
    "algorithm",
    [Paper(), Paper(rule=TightBernstein(PowerTheta(1, 0.5))), WithinErrors(2.0)],
    ids=["paper", "tight", "own"],
)
def test_a_result_tells_the_scenario_it_was_made_with(algorithm: object) -> None:
    scenario = Scenario.build(**SMALL, algorithms=[algorithm])
    again = Scenario.of_result(simulate(scenario))
    assert again == scenario
    assert simulate(again).mse.equals(simulate(scenario).mse)


class Slotted(ThresholdRule):
    """Neither a dataclass nor with a dict of its own."""

    __slots__ = ("members", "width")

    def __init__(self, width: float) -> None:
        self.width = width
        self.members = frozenset({"b", "a", "c"})

    def threshold(self, mine: Release, theirs: Release) -> float:
        return self.width


def test_the_identity_of_a_rule_is_all_its_fields_in_one_order() -> None:
    assert plugins.fields_of(Slotted(2.0)) == {"members": ["a", "b", "c"], "width": 2.0}


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (lambda a, b: None, "a threshold of None"),
        (lambda a, b: "0.3", "a threshold of '0.3'"),
        (lambda a, b: float("nan"), "a threshold of nan"),
        (lambda a, b: -1.0, "a threshold of -1.0"),
        (lambda a, b: a.variance, "one way, .* the other"),
        (lambda a, b: a.nothing, "which raised AttributeError"),
    ],
    ids=["none", "text", "nan", "negative", "asymmetric", "raises"],
)
def test_an_unsound_rule_is_refused_alike_in_agents_and_simulator(
    threshold: Callable[[Release, Release], Any], text: str
) -> None:
    for make in (
        lambda: Paper(rule=deciding_by(threshold)),
        lambda: Scenario.build(algorithms=[deciding_by(threshold)]),
    ):
        with pytest.raises(ConfigError) as refused:
            make()
        assert refused.value.field.endswith("rule")
        assert re.search(text, str(refused.value.seen))


@dataclass(frozen=True)
class NpMax(ThresholdRule):
    """Of numbers the larger; of arrays it would be one number for all."""

    def threshold(self, mine: Release, theirs: Release) -> float:
        return 3 * sqrt(float(np.max([mine.variance, theirs.variance])))


@dataclass(frozen=True)
class PlainMax(ThresholdRule):
    def threshold(self, mine: Release, theirs: Release) -> float:
        return 3 * sqrt(max(mine.variance, theirs.variance))


@dataclass(frozen=True)
class LooksAtStrangers(ThresholdRule):
    """It looks at means only where variances differ."""

    def threshold(self, mine: Release, theirs: Release) -> float:
        apart = abs(mine.mean - theirs.mean) if mine.variance != theirs.variance else 0.0
        return 3 * sqrt(mine.variance + theirs.variance) + 0 * apart


def test_agents_with_epsilons_of_their_own_are_asked_one_pair_at_a_time() -> None:
    rules = [NpMax(), PlainMax(), LooksAtStrangers(), WithinErrors()]
    epsilons = [0.5, 2.0, 8.0, 1.0] * 10
    result = simulate(
        Scenario.build(**SMALL, epsilon_per_agent=epsilons, algorithms=rules), dtype=np.float64
    )
    mse = [result.mse.isel(algorithm=number).values for number in range(4)]
    np.testing.assert_array_equal(mse[0], mse[1])
    np.testing.assert_allclose(mse[2], mse[3], rtol=1e-9)


@dataclass(frozen=True)
class LogTheta:
    scale: float
    exponent: float

    def __call__(self, t: int) -> float:
        return min(2.0, self.scale / float((1 + t) ** self.exponent))


def test_rules_that_differ_have_different_identities() -> None:
    """Else a study would resume another's, and neighbours agree on what they do not share."""
    power, log = Bernstein(PowerTheta(3, 0.2)), Bernstein(LogTheta(3, 0.2))
    assert plugins.plain_rule(power) != plugins.plain_rule(log)
    assert plugins.plain_rule(WithinErrors(2.0)) != plugins.plain_rule(WithinErrors(2.5))
    assert plugins.rule_from(plugins.plain_rule(log), {}) == log
    for theta in (lambda t: 1 / t, partial(min, 2)):
        with pytest.raises(ConfigError) as refused:
            Scenario.build(algorithms=[{"algorithm": "paper", "rule": Bernstein(theta)}])
        assert refused.value.field.endswith("rule.theta")
    wide = WithinErrors(float("inf"))
    assert plugins.plain_rule(wide)["errors"] == {"object": "math:inf"}


def test_a_rule_that_is_asked_in_python_is_not_taken_for_a_fast_one() -> None:
    """The work of a round decides how often a study looks whether it is to stop."""
    slow, fast = (
        Prepared(Scenario.build(**SMALL, algorithms=[rule]), 9).batch(0, 2).work_per_round
        for rule in (Looking(), WithinErrors())
    )
    assert slow > 1000 * fast
