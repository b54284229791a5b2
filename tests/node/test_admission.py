"""Who is let in: whoever agrees, and whose state is no older than what is remembered of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from itertools import count
from typing import Any

import pytest

from colme.errors import StaleStateError
from colme.node.config import Agreed
from colme.node.contact import NEVER, Contact
from colme.node.session.admission import Admission, Agreement, remembered_in
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import Reason, Refused, Standing, from_wire
from support.refusing import refused

AGREED = Agreed(
    bounds=(0, 1), algorithm="paper", interval=60, start=datetime(2026, 1, 1, tzinfo=UTC)
)
MINE = Standing(epoch=5, round=50)
BOOTS = count(1)


def at(epoch: int, round_: int) -> Standing:
    return Standing(epoch=epoch, round=round_)


def admission(agreed: Agreed = AGREED) -> Admission:
    return Admission(Agreement.of(agreed), boot=next(BOOTS))


def b(standing: Standing = NEVER) -> Contact:
    return Contact(name="b", standing=standing)


def hello_of(peer: Admission, standing: Standing) -> pb.Hello:
    return pb.Frame.FromString(peer.greeting(standing, NEVER)).hello


def test_a_neighbour_that_was_never_seen_is_let_in_and_remembered() -> None:
    peer = b()
    assert admission().admit(peer, hello_of(admission(), at(1, 7))) == at(1, 7)
    assert peer.standing == at(1, 7)
    assert not peer.standing_is_stored


def test_a_hello_tells_what_is_remembered_of_the_neighbour() -> None:
    """And what is held of its own: so both ends compare before either says anything else."""
    hello = pb.Frame.FromString(admission().greeting(MINE, at(3, 20), b"a record")).hello
    assert from_wire(hello.standing) == MINE
    assert remembered_in("b", hello) == at(3, 20)
    assert hello.yours == b"a record"


@pytest.mark.parametrize("older", [at(2, 25), at(3, 19), at(4, 19)], ids=str)
def test_a_standing_of_before_is_refused(older: Standing) -> None:
    peer = b(at(3, 20))
    with refused(Refused, "standing", reason=Reason.STALE_STATE):
        admission().admit(peer, hello_of(admission(), older))
    assert peer.standing == at(3, 20)
    assert peer.standing_is_stored


@pytest.mark.parametrize("same_or_newer", [at(3, 20), at(3, 21), at(4, 20)], ids=str)
def test_a_reconnect_with_the_same_standing_is_fine(same_or_newer: Standing) -> None:
    peer = b(at(3, 20))
    admission().admit(peer, hello_of(admission(), same_or_newer))
    assert peer.standing == same_or_newer


def test_a_round_that_was_heard_of_counts_against_an_older_state() -> None:
    """Messages tell as much as hellos do."""
    peer = b(at(3, 20))
    peer.heard_in(25)
    peer.heard_in(24)
    assert peer.standing == at(3, 25)
    with refused(Refused, "standing", reason=Reason.STALE_STATE):
        admission().admit(peer, hello_of(admission(), at(4, 24)))


def test_a_hello_that_only_checks_hears_of_another_configuration() -> None:
    other = admission(AGREED.model_copy(update={"interval": 30.0}))
    question = pb.Frame.FromString(other.question()).hello
    with refused(Refused, "agreed.interval", seen="30.0", reason=Reason.OTHER_CONFIGURATION):
        admission().require_agreement("b", question)


def test_a_hash_that_is_not_that_of_its_facts_is_refused() -> None:
    hello = hello_of(admission(), at(1, 1))
    hello.agreement = b"something else"
    with refused(
        Refused, "agreed.agreement", seen="another hash", reason=Reason.OTHER_CONFIGURATION
    ):
        admission().require_agreement("b", hello)


@pytest.mark.parametrize("newer", [at(6, 50), at(5, 51), at(4, 51), at(6, 1)], ids=str)
def test_my_state_is_an_old_one_if_a_neighbour_knows_me_from_later(newer: Standing) -> None:
    with refused(StaleStateError, "state", seen="start 5, and b told up to round 50") as caught:
        admission().require_newest("b", newer, MINE)
    assert f"b has seen start {newer.epoch}, round {newer.round}" in str(caught.value)
    assert "--state-lost" in str(caught.value)


def test_two_processes_with_one_state_and_epoch_are_not_both_let_in() -> None:
    me, one, clone, peer = admission(), admission(), admission(), b()
    me.admit(peer, hello_of(one, at(3, 20)))
    me.admit(peer, hello_of(clone, at(3, 20)))  # None of them has compared yet, and spoken.
    peer.booted = (3, one.boot)
    with refused(Refused, "standing", reason=Reason.STALE_STATE):
        me.admit(peer, hello_of(clone, at(3, 20)))
    assert peer.is_copied
    me.admit(peer, hello_of(one, at(3, 20)))
    assert peer.is_copied, "until it starts anew"
    me.admit(peer, hello_of(clone, at(4, 20)))
    assert not peer.is_copied


def test_a_process_that_is_let_in_is_no_older_state_of_itself() -> None:
    """Its second hello was on its way while it told more by its first session."""
    me, one, other, peer = admission(), admission(), admission(), b()
    hello = hello_of(one, at(3, 20))
    me.admit(peer, hello)
    peer.booted = (3, one.boot)
    peer.heard_in(25)
    assert me.admit(peer, hello, again=True) == at(3, 20)
    assert peer.standing == at(3, 25)
    for late in (hello, hello_of(other, at(4, 20))):
        with refused(Refused, "standing", reason=Reason.STALE_STATE):
            me.admit(peer, late)
    with refused(Refused, "standing", reason=Reason.STALE_STATE):
        me.admit(peer, hello_of(other, at(4, 20)), again=True)


@pytest.mark.parametrize("older", [at(0, 0), at(4, 50), at(4, 1), at(5, 50)], ids=str)
def test_a_neighbour_that_knows_no_more_of_me_is_no_trouble(older: Standing) -> None:
    admission().require_newest("b", older, MINE)


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
