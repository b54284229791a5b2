"""What neighbours must have alike: the same hash in any language, and the name of what differs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

import pytest

from colme.node.config import Agreed
from colme.node.session.admission import Agreement


def agreed(**changes: Any) -> Agreed:
    """By the clock and with the paper's algorithm, so that every fact is there."""
    table = {"bounds": [0, 1.5], "algorithm": "paper", "rule": "bernstein", "interval": 60}
    return Agreed.model_validate(table | {"start": datetime(2026, 1, 1, tzinfo=UTC)} | changes)


CLOCK_AND_PAPER = agreed()


def test_the_hash_is_what_neighbour_proto_says() -> None:
    """SHA-256 of the facts: each as "name=value" and a line feed, in order of their names."""
    told = (
        b"algorithm=paper\n"
        b"bounds=0.0,1.5\n"
        b"interval=60.0\n"
        b"protocol=colme.v3\n"
        b"rounds=clock\n"
        b'rule=bernstein {"theta":{"exponent":0.2,"scale":3.0}}\n'
        b"start=2026-01-01T00:00:00+00:00\n"
    )
    assert Agreement.of(CLOCK_AND_PAPER).digest == sha256(told).digest()


def test_the_hash_stays_what_it_was() -> None:
    """A changed one would part nodes of two versions that agree on everything."""
    free = Agreement.of(Agreed(bounds=(0, 1), algorithm="paper", rounds="free"))
    assert free.digest.hex() == (
        # printf 'algorithm=paper\nbounds=0.0,1.0\nprotocol=colme.v3\nrounds=free\nrule=bernstein
        # {"theta":{"exponent":0.2,"scale":3.0}}\n' | sha256sum, with a space where the line ends
        "ebef496145bf2916c794933796e63823bfadb06c0b5972e83ada42111481d2d3"
    )


DIFFERENT: dict[str, dict[str, Any]] = {
    "bounds": {"bounds": (0, 2)},
    "rule": {"theta": {"scale": 3.0, "exponent": 0.3}},
    "rounds": {"rounds": "free"},
    "interval": {"interval": 61.0},
    "start": {"start": datetime(2026, 1, 2, tzinfo=UTC)},
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_named_with_both_values(name: str) -> None:
    mine = Agreement.of(CLOCK_AND_PAPER)
    theirs = Agreement.of(agreed(**DIFFERENT[name]))
    assert mine.digest != theirs.digest
    differences = {field: told for field, *told in _differences(mine, theirs)}
    assert differences[name] == [theirs.facts[name], mine.facts[name]]


def _differences(mine: Agreement, theirs: Agreement) -> list[tuple[str, str, str]]:
    """One after another, each set right before the next is looked for."""
    found = []
    facts = dict(theirs.facts)
    while (difference := mine.difference(facts)) is not None:
        field, _, expected = difference
        found.append(difference)
        facts[field] = expected
    return found


@pytest.mark.parametrize("name", ["bounds", "rule", "interval", "start"])
def test_one_difference_alone_is_the_one_named(name: str) -> None:
    theirs = Agreement.of(agreed(**DIFFERENT[name]))
    mine = Agreement.of(CLOCK_AND_PAPER)
    assert mine.difference(theirs.facts) == (name, theirs.facts[name], mine.facts[name])


def test_another_protocol_is_named() -> None:
    mine = Agreement.of(CLOCK_AND_PAPER)
    theirs = replace(mine, facts=dict(mine.facts) | {"protocol": "colme.v4"})
    assert theirs.digest != mine.digest
    assert mine.difference(theirs.facts) == ("protocol", "colme.v4", "colme.v3")


def test_a_fact_that_only_one_side_has_is_a_difference() -> None:
    mine = Agreement.of(CLOCK_AND_PAPER)
    fewer = {name: value for name, value in mine.facts.items() if name != "start"}
    assert mine.difference(fewer) == ("start", "nothing", mine.facts["start"])
    more = {**mine.facts, "weather": "fine"}
    assert mine.difference(more) == ("weather", "fine", "nothing")


def test_those_who_agree_differ_in_nothing() -> None:
    mine = Agreement.of(CLOCK_AND_PAPER)
    theirs = Agreement.of(CLOCK_AND_PAPER.model_copy())
    assert mine.digest == theirs.digest
    assert mine.difference(theirs.facts) is None


def test_what_does_not_matter_is_left_out() -> None:
    """Free rounds have no interval and no start; relay has no rounds and no rule."""
    free = Agreed(bounds=(0, 1), algorithm="paper", rounds="free", interval=5)
    assert set(Agreement.of(free).facts) == {"protocol", "bounds", "algorithm", "rounds", "rule"}
    relay = Agreement.of(Agreed(bounds=(0, 1), algorithm="relay"))
    assert not {"rounds", "rule"} & set(relay.facts)
    other = free.model_copy(update=DIFFERENT["start"] | DIFFERENT["interval"])
    assert Agreement.of(other).digest == Agreement.of(free).digest


def rule_of(**options: Any) -> str:
    return Agreement.of(agreed(**options)).facts["rule"]


def test_a_rule_is_told_by_its_name_and_its_fields() -> None:
    assert rule_of(rule="tight") == 'tight {"theta":{"exponent":1.0,"scale":1.0}}'
    optimistic = rule_of(rule="optimistic", agents=50, degree=5)
    assert optimistic == 'optimistic {"agents":50.0,"degree":5.0,"delta":1.0}'
    assert rule_of(rule="optimistic", agents=50.0, degree=5, delta=1) == optimistic
    assert rule_of(theta={"scale": 3}) == rule_of()
    assert rule_of(theta={"exponent": 0}) == 'bernstein {"theta":{"exponent":0.0,"scale":3.0}}'


def test_a_rule_of_ones_own_is_told_by_its_class_and_its_fields() -> None:
    own = rule_of(rule="support.own_rule:Within", distance=2)
    assert own == 'support.own_rule:Within {"distance":2.0}'
    assert rule_of(rule="support.own_rule:WITHIN_TWO") == own
    assert rule_of(rule="support.own_rule:Within", distance=2.5) != own


def test_an_alias_is_told_as_what_it_stands_for() -> None:
    """Else a version that recommends something else would agree with this one on nothing."""
    alias, itself = (Agreed(bounds=(0, 1), algorithm=name) for name in ("recommended", "relay"))
    assert alias.algorithm == itself.algorithm == "relay"
    assert Agreement.of(alias).facts == Agreement.of(itself).facts


BEFORE = {
    "0.1.0": {"protocol": "colme.v1", "rule": "paper", "theta": "3.0,0.2"},
    "tracking": {"protocol": "colme.v2", "algorithm": "tracking"},
}


@pytest.mark.parametrize("version", BEFORE)
def test_an_earlier_version_and_this_one_refuse_each_other_by_name(version: str) -> None:
    """0.1.0 told a rule and never an algorithm, for whatever it ran; the next had one more."""
    for algorithm in ("paper", "relay"):
        mine = Agreement.of(Agreed(bounds=(0, 1), algorithm=algorithm))
        theirs = Agreement({"bounds": "0.0,1.0", "rounds": "free"} | BEFORE[version])
        name = theirs.facts.get("algorithm", "nothing")
        assert mine.difference(theirs.facts) == ("algorithm", name, algorithm)
        assert theirs.difference(mine.facts) == ("algorithm", algorithm, name)


def test_the_same_moment_told_in_another_time_zone_is_the_same_start() -> None:
    east = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    there = CLOCK_AND_PAPER.model_copy(update={"start": east})
    assert Agreement.of(there).digest == Agreement.of(CLOCK_AND_PAPER).digest


def test_the_same_number_written_otherwise_is_the_same_fact() -> None:
    whole = agreed(bounds=[0, 1], interval=60)
    points = agreed(bounds=[0.0, 1.0], interval=60.0)
    assert Agreement.of(whole).digest == Agreement.of(points).digest
