"""Who is let in: no one whose state is older than what is remembered of it, and I no more."""

from datetime import UTC, datetime
from itertools import count

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
