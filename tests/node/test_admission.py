"""Who is let in: no one whose state is older than what is remembered of it, and I no more."""

from datetime import UTC, datetime

import pytest

from colme.errors import StaleStateError
from colme.node.config import Agreed
from colme.node.contact import NEVER, Contact
from colme.node.session.admission import Admission, Agreement
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import Reason, Refused, Standing, from_wire
from support.refusing import refused

AGREED = Agreed(
    bounds=(0, 1), algorithm="paper", interval=60, start=datetime(2026, 1, 1, tzinfo=UTC)
)
MINE = Standing(epoch=5, round=50)


def at(epoch: int, round_: int) -> Standing:
    return Standing(epoch=epoch, round=round_)


def admission(agreed: Agreed = AGREED) -> Admission:
    return Admission(Agreement.of(agreed))


def b(standing: Standing = NEVER) -> Contact:
    return Contact(name="b", standing=standing)


def hello_of(peer: Admission, standing: Standing) -> pb.Hello:
    return pb.Frame.FromString(peer.greeting(standing)).hello


def test_a_neighbour_that_was_never_seen_is_let_in_and_remembered() -> None:
    peer = b()
    welcome = admission().admit(peer, hello_of(admission(), at(1, 7)), MINE)
    assert from_wire(welcome.standing) == MINE
    assert from_wire(welcome.remembered) == at(0, 0)
    assert peer.standing == at(1, 7)
    assert not peer.standing_is_stored


def test_the_welcome_tells_what_was_remembered_before_this_hello() -> None:
    welcome = admission().admit(b(at(3, 20)), hello_of(admission(), at(4, 21)), MINE)
    assert from_wire(welcome.remembered) == at(3, 20)


@pytest.mark.parametrize("older", [at(2, 25), at(3, 19), at(4, 19)], ids=str)
def test_a_standing_of_before_is_refused_and_told_what_is_remembered(older: Standing) -> None:
    peer = b(at(3, 20))
    with refused(Refused, "standing", reason=Reason.STALE_STATE, remembered=at(3, 20)):
        admission().admit(peer, hello_of(admission(), older), MINE)
    assert peer.standing == at(3, 20)
    assert peer.standing_is_stored


@pytest.mark.parametrize("same_or_newer", [at(3, 20), at(3, 21), at(4, 20)], ids=str)
def test_a_reconnect_with_the_same_standing_is_fine(same_or_newer: Standing) -> None:
    peer = b(at(3, 20))
    admission().admit(peer, hello_of(admission(), same_or_newer), MINE)
    assert peer.standing == same_or_newer


def test_a_round_that_was_heard_of_counts_against_an_older_state() -> None:
    """Messages tell as much as hellos do."""
    peer = b(at(3, 20))
    peer.heard_in(25)
    peer.heard_in(24)
    assert peer.standing == at(3, 25)
    with refused(Refused, "standing", reason=Reason.STALE_STATE, remembered=at(3, 25)):
        admission().admit(peer, hello_of(admission(), at(4, 24)), MINE)


def test_a_hello_that_only_checks_changes_nothing() -> None:
    """Its standing is nobody's, so it can't be too old either."""
    peer = b(at(3, 20))
    question = pb.Frame.FromString(admission().question()).hello
    welcome = admission().admit(peer, question, MINE)
    assert from_wire(welcome.standing) == MINE
    assert peer.standing == at(3, 20)
    assert peer.standing_is_stored


def test_a_hello_that_only_checks_hears_of_another_configuration() -> None:
    other = admission(AGREED.model_copy(update={"interval": 30.0}))
    question = pb.Frame.FromString(other.question()).hello
    with refused(Refused, "agreed.interval", seen="30.0", reason=Reason.OTHER_CONFIGURATION):
        admission().admit(b(), question, MINE)


def test_another_configuration_is_refused_before_anything_is_remembered() -> None:
    peer = b()
    other = admission(AGREED.model_copy(update={"bounds": (0.0, 2.0)}))
    with refused(Refused, "agreed.bounds", seen="0.0,2.0", reason=Reason.OTHER_CONFIGURATION):
        admission().admit(peer, hello_of(other, at(1, 1)), MINE)
    assert peer.standing == NEVER


def test_a_hash_that_is_not_that_of_its_facts_is_refused() -> None:
    hello = hello_of(admission(), at(1, 1))
    hello.agreement = b"something else"
    with refused(
        Refused, "agreed.agreement", seen="another hash", reason=Reason.OTHER_CONFIGURATION
    ):
        admission().admit(b(), hello, MINE)


@pytest.mark.parametrize("newer", [at(6, 50), at(5, 51), at(4, 51), at(6, 1)], ids=str)
def test_my_state_is_an_old_one_if_a_neighbour_knows_me_from_later(newer: Standing) -> None:
    with refused(StaleStateError, "state", seen="start 5, and b told up to round 50") as caught:
        admission().require_newest("b", newer, MINE)
    assert f"b has seen start {newer.epoch}, round {newer.round}" in str(caught.value)
    assert "--state-lost" in str(caught.value)


def test_two_processes_with_one_state_and_epoch_are_not_both_let_in() -> None:
    me, one, clone, peer = admission(), admission(), admission(), b()
    me.admit(peer, hello_of(one, at(3, 20)), MINE)
    with refused(Refused, "standing", reason=Reason.STALE_STATE):
        me.admit(peer, hello_of(clone, at(3, 20)), MINE)
    me.admit(peer, hello_of(one, at(3, 20)), MINE)
    me.admit(peer, hello_of(clone, at(4, 20)), MINE)


@pytest.mark.parametrize("older", [at(0, 0), at(4, 50), at(4, 1), at(5, 50)], ids=str)
def test_a_neighbour_that_knows_no_more_of_me_is_no_trouble(older: Standing) -> None:
    admission().require_newest("b", older, MINE)
