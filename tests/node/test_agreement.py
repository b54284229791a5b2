"""What neighbours must have alike: the same hash in any language, and the name of what differs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

import pytest

from colme.node.config import Agreed, Theta
from colme.node.session import Agreement

CLOCK_AND_PAPER = Agreed(
    bounds=(0, 1.5),
    rule="paper",
    theta=Theta(scale=3.0, exponent=0.2),
    rounds="clock",
    interval=60,
    start=datetime(2026, 1, 1, tzinfo=UTC),
)


def test_the_hash_is_what_neighbour_proto_says() -> None:
    """SHA-256 of the facts: each as "name=value" and a line feed, in order of their names."""
    told = (
        b"bounds=0.0,1.5\n"
        b"interval=60.0\n"
        b"protocol=colme.v1\n"
        b"rounds=clock\n"
        b"rule=paper\n"
        b"start=2026-01-01T00:00:00+00:00\n"
        b"theta=3.0,0.2\n"
    )
    assert Agreement.of(CLOCK_AND_PAPER).digest == sha256(told).digest()


def test_the_hash_stays_what_it_was() -> None:
    """A changed one would part nodes of two versions that agree on everything."""
    free = Agreement.of(Agreed(bounds=(0, 1), rounds="free"))
    assert free.digest.hex() == (
        # printf 'bounds=0.0,1.0\nprotocol=colme.v1\nrounds=free\nrule=recommended\n' | sha256sum
        "f106273edddb6ecc6980c642f749763a0ec02f0e1a43bf7d55ab16b8446acbb1"
    )


DIFFERENT: dict[str, dict[str, Any]] = {
    "bounds": {"bounds": (0, 2)},
    "rule": {"rule": "recommended"},
    "theta": {"theta": Theta(scale=3.0, exponent=0.3)},
    "rounds": {"rounds": "free"},
    "interval": {"interval": 61.0},
    "start": {"start": datetime(2026, 1, 2, tzinfo=UTC)},
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_named_with_both_values(name: str) -> None:
    mine = Agreement.of(CLOCK_AND_PAPER)
    theirs = Agreement.of(CLOCK_AND_PAPER.model_copy(update=DIFFERENT[name]))
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


@pytest.mark.parametrize("name", ["bounds", "theta", "interval", "start"])
def test_one_difference_alone_is_the_one_named(name: str) -> None:
    theirs = Agreement.of(CLOCK_AND_PAPER.model_copy(update=DIFFERENT[name]))
    mine = Agreement.of(CLOCK_AND_PAPER)
    assert mine.difference(theirs.facts) == (name, theirs.facts[name], mine.facts[name])


def test_another_protocol_is_named() -> None:
    mine = Agreement.of(CLOCK_AND_PAPER)
    theirs = replace(mine, facts=dict(mine.facts) | {"protocol": "colme.v2"})
    assert theirs.digest != mine.digest
    assert mine.difference(theirs.facts) == ("protocol", "colme.v2", "colme.v1")


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
    """Free rounds have no interval and no start; theta is the paper's rule's alone."""
    free = Agreed(bounds=(0, 1), rounds="free", interval=5, theta=Theta(scale=1))
    assert set(Agreement.of(free).facts) == {"protocol", "bounds", "rule", "rounds"}
    other = free.model_copy(update=DIFFERENT["start"] | DIFFERENT["interval"] | DIFFERENT["theta"])
    assert Agreement.of(other).digest == Agreement.of(free).digest


def test_the_same_moment_told_in_another_time_zone_is_the_same_start() -> None:
    east = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    there = CLOCK_AND_PAPER.model_copy(update={"start": east})
    assert Agreement.of(there).digest == Agreement.of(CLOCK_AND_PAPER).digest


def test_the_same_number_written_otherwise_is_the_same_fact() -> None:
    whole = Agreed.model_validate({"bounds": [0, 1], "interval": 60})
    points = Agreed.model_validate({"bounds": [0.0, 1.0], "interval": 60.0})
    assert Agreement.of(whole).digest == Agreement.of(points).digest
