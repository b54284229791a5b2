"""One agent's exchange: what it sends, what it refuses, and what its answer rests on."""

from dataclasses import replace
from typing import Any

import pytest

from colme.errors import (
    ColmeError,
    LocalProtocolError,
    RemoteProtocolError,
)
from colme.protocol.board.board import Page
from colme.protocol.board.identity import InProcess
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Proof
from colme.protocol.events import EVERYTHING, Begin, Observe, Part, Returned
from colme.protocol.messages import ConsensusMessage
from colme.protocol.relay import BoardExchange
from support.boards import (
    NOTHING_HELD,
    Answers,
    Releases,
    exchange,
    heard,
    own_of,
    released,
    sent_records,
    through_json,
    written,
)
from support.refusing import refused


def begun(*neighbours: str) -> BoardExchange:
    """My exchange after its first tick: all neighbours have been asked."""
    me = exchange("me", neighbours)
    me.step(Begin(1, ()))
    return me


def test_a_tick_publishes_what_is_due_signs_it_and_tells_all_neighbours() -> None:
    me = exchange("me", ["b", "a"], own=Releases(due=1))
    effects = me.step(Begin(1, (25,)))
    mine = written("me", mean=0.25)
    assert effects.persist == EVERYTHING
    assert sent_records(effects) == {"a": (mine,), "b": (mine,)}


def test_a_record_is_signed_once() -> None:
    signed: list[bytes] = []

    class Counting(InProcess):
        def sign(self, content: bytes) -> bytes:
            signed.append(content)
            return super().sign(content)

    me = exchange("me", ["a"], identity=Counting("me"))
    released(me, 1, 25)
    me.step(Begin(2, ()))
    assert len(signed) == 1


def test_before_the_first_block_there_is_no_record() -> None:
    me = exchange("me", ["a"])
    effects = me.step(Begin(1, ()))
    assert [type(message) for _, message in effects.send] == [DigestMessage]
    assert len(me.board) == 0


def test_what_comes_is_passed_on_to_all_others_as_it_is() -> None:
    me = begun("a", "b", "c")
    theirs = written("far away")
    assert me.step(heard("a", RecordsMessage((theirs,)))).send == ()
    effects = me.step(Begin(2, ()))
    assert sent_records(effects) == {"b": (theirs,), "c": (theirs,)}
    assert effects.persist == {Part.EXCHANGE}


def test_who_sends_it_too_need_not_get_it() -> None:
    me = begun("a", "b")
    message = RecordsMessage((written("far away"),))
    me.step(heard("a", message))
    me.step(heard("b", message))
    assert me.step(Begin(2, ())).send == ()


def test_by_the_time_it_is_sent_it_may_be_newer() -> None:
    me = begun("a", "b")
    for sequence in (1, 3, 2):
        me.step(heard("a", RecordsMessage((written("far away", sequence=sequence),))))
    newest = written("far away", sequence=3)
    assert sent_records(me.step(Begin(2, ()))) == {"b": (newest,)}


def test_a_contradiction_becomes_a_proof_that_all_get_also_who_brought_it() -> None:
    me = begun("a", "b")
    one, other = written("liar", mean=0.1), written("liar", mean=0.2)
    me.step(heard("a", RecordsMessage((one,))))
    me.step(heard("b", RecordsMessage((other,))))
    proof = Proof.from_pair(one, other)
    assert sent_records(me.step(Begin(2, ()))) == {"a": (proof,), "b": (proof,)}
    assert me.board.records == ()


def test_an_answer_to_a_digest_is_not_answered() -> None:
    other = exchange("a", ["me"])
    other.step(heard("me", RecordsMessage((written("far away"),))))
    (page,) = other.board.pages()
    for answer, expected in ((False, [True]), (True, [])):
        me = begun("a")
        me.step(heard("a", DigestMessage(page=page, answer=answer)))
        sent: list[Any] = [message for _, message in me.step(Begin(2, ())).send]
        assert [message.answer for message in sent] == expected


def test_a_digest_is_answered_also_where_it_has_nothing_new() -> None:
    """With what its author lacks, and with what is held: it may wait to be told."""
    me = begun("a")
    known = written("far away")
    me.step(heard("a", RecordsMessage((known,))))
    (page,) = exchange("a", ["me"]).board.pages()
    me.step(heard("a", DigestMessage(page=page, answer=False)))
    effects = me.step(Begin(2, ()))
    (mine,) = me.board.pages()
    answer = DigestMessage(page=mine, answer=True)
    assert [message for _, message in effects.send] == [RecordsMessage((known,)), answer]


def test_who_asks_anew_may_have_lost_what_it_was_sent() -> None:
    """An answer shows what has come only if nothing was lost before it."""
    for anew in (False, True):
        me = exchange("me", ["a", "b"])
        me.step(heard("b", RecordsMessage((written("far away"),))))
        me.step(Begin(1, ()))
        if anew:
            part = Page(after="", last="0" * 32, heads=())
            me.step(heard("a", DigestMessage(page=part, answer=False)))
        me.step(heard("a", NOTHING_HELD))
        assert ("a" in sent_records(me.step(Begin(2, ())))) == anew


def test_who_was_away_gets_a_digest_and_not_a_heap_of_records() -> None:
    me = begun("a", "b")
    me.step(heard("b", RecordsMessage((written("far away"),))))
    me.step(Returned("a"))
    effects = me.step(Begin(2, ()))
    (page,) = me.board.pages()
    assert effects.send == (("a", DigestMessage(page=page, answer=False)),)


class TestRefused:
    """An illegal event says who erred and changes nothing."""

    @pytest.mark.parametrize(
        ("event", "kind", "field"),
        [
            (Observe(0.5), LocalProtocolError, "event"),
            (Begin(1, ()), LocalProtocolError, "round"),
            (Begin(2**62 + 1, ()), LocalProtocolError, "round"),
            (Begin(2, (1, 2)), LocalProtocolError, "noise"),
            (Returned("x"), RemoteProtocolError, "peer"),
            (heard("x", RecordsMessage((written("b"),))), RemoteProtocolError, "peer"),
            (
                heard("a", ConsensusMessage(round=1, value=0.5)),
                RemoteProtocolError,
                "message",
            ),
        ],
    )
    def test_what_is_not_legal(self, event: Any, kind: type[ColmeError], field: str) -> None:
        me = exchange("me", ["a"])
        released(me, 1, 25)
        before = me.state
        with refused(kind, field):
            me.step(event)
        assert me.state == before

    def test_one_bad_signature_spoils_its_message(self) -> None:
        me = begun("a", "b")
        good, other = written("b"), written("c")
        bad = replace(other, mean=0.6)
        for spoilt in (bad, Proof.from_pair(other, bad)):
            with refused(RemoteProtocolError, "signature", peer="a"):
                me.step(heard("a", RecordsMessage((good, spoilt))))
        assert len(me.board) == 0
        assert me.step(Begin(2, ())).send == ()
        me.step(heard("a", RecordsMessage((good, other))))
        assert me.board.records == tuple(sorted((good, other), key=lambda one: one.origin))


@pytest.mark.parametrize("ticks", [False, True])
def test_memory_stays_small_whatever_one_neighbour_brings(ticks: bool) -> None:
    """Where each record pushes out the one before, whether a tick has sent that one or not."""
    capacity = 4
    me = exchange("me", ["a", "b"], capacity=capacity)
    made = sorted((written(str(n)) for n in range(100)), key=lambda one: one.origin, reverse=True)
    for number, one in enumerate(made, start=1):
        me.step(heard("a", RecordsMessage((one,))))
        assert len(me.board) <= capacity
        for owed in me._owed_to.values():
            assert max(len(owed._origins), len(owed._sent)) <= capacity
        if ticks:
            me.step(Begin(number, ()))
    expected = {} if ticks else {"b": tuple(made[-capacity:])}
    assert sent_records(me.step(Begin(101, ()))) == expected


def test_the_answer_rests_on_the_own_data_and_all_records() -> None:
    algorithm = Answers()
    me = exchange("me", ["a"], algorithm=algorithm)
    mine, own = released(me, 3, 25), own_of(me)
    liar = Proof.from_pair(written("liar", mean=0.1), written("liar", mean=0.2))
    me.step(heard("a", RecordsMessage((written("a"), liar))))
    own.mean, own.stream.count = 0.3, 11
    assert me.estimate().value == 0.3
    evidence = algorithm.evidence
    assert (evidence.round, evidence.own_mean, evidence.own_count) == (3, 0.3, 11)
    assert (evidence.own_variance, evidence.known) == (0.1, True)
    assert (evidence.bounds, evidence.origin) == ((0, 1), mine.origin)
    assert evidence.records == tuple(sorted((mine, written("a")), key=lambda one: one.origin))


def test_an_answer_starts_from_what_the_last_one_learned() -> None:
    own, algorithm = Releases(), Answers()
    me = exchange("me", ["a"], own=own, algorithm=algorithm)
    own.mean, own.stream.count = 0.3, 11
    started_from = []
    for _ in range(3):
        me.estimate()
        started_from.append(algorithm.warm)
    assert started_from == [None, 1, 2]


def test_the_order_of_admission_outlives_a_restart() -> None:
    """Who came first is told from who copied it: neighbours, then publishers as they came."""
    me = exchange("me", ["a", "b"])
    late, early = written("x"), written("y")
    me.step(heard("a", RecordsMessage((early,))))
    me.step(heard("b", RecordsMessage((late, written("b")))))
    me.step(heard("a", RecordsMessage((written("y", sequence=2),))))
    expected = [written(name).origin for name in ("b", "y", "x")]
    again = exchange("me", ["a", "b"])
    again.resume(through_json(me.state))
    for one in (me, again):
        order = one._membership.order
        assert sorted(order, key=order.__getitem__) == expected


def test_a_hello_alone_makes_no_digest() -> None:
    """It may be said time and again; a digest follows once both ends have compared."""
    me = exchange("me", ["a"])
    me.step(Begin(1, ()))
    me.step(Returned("a", epoch=2))
    assert me.step(Begin(2, ())).send == ()
    me.step(Returned("a"))
    assert [type(message) for _, message in me.step(Begin(3, ())).send] == [DigestMessage]
