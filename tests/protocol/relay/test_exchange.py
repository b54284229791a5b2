"""One agent's exchange: what it refuses, what it stores, and when it must not release again."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.errors import (
    ColmeError,
    LocalProtocolError,
    MessageError,
    RemoteProtocolError,
    SnapshotError,
    StaleStateError,
)
from colme.protocol.board.entry import Proof, entry_from_bytes
from colme.protocol.board.identity import InProcess
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Record
from colme.protocol.events import EVERYTHING, Begin, Deadline, Observe, Part, Returned
from colme.protocol.messages import ConsensusMessage
from colme.protocol.relay.exchange import BoardExchange
from colme.protocol.relay.state import BoardState
from colme.signing import Ed25519
from support.boards import Answers, Releases, contents, exchange, heard, written


def through_json(state: BoardState) -> BoardState:
    return BoardState(**json.loads(json.dumps(asdict(state), allow_nan=False)))


def released(me: BoardExchange, own: Releases, number: int, draw: int) -> Record:
    """My record after one block more."""
    own.due = 1
    me.step(Begin(number, (draw,)))
    mine = me.board.get(me.origin)
    assert isinstance(mine, Record)
    return mine


def sent_records(effects: Any) -> dict[str, tuple[Any, ...]]:
    return {
        peer: message.entries
        for peer, message in effects.send
        if isinstance(message, RecordsMessage)
    }


def test_a_tick_publishes_what_is_due_signs_it_and_tells_all_neighbours() -> None:
    own = Releases(due=1)
    me = exchange("me", ["b", "a"], own=own)
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

    own = Releases()
    me = exchange("me", ["a"], own=own, identity=Counting("me"))
    released(me, own, 1, 25)
    me.step(Begin(2, ()))
    assert len(signed) == 1


def test_before_the_first_block_there_is_no_record() -> None:
    me = exchange("me", ["a"])
    effects = me.step(Begin(1, ()))
    assert [type(message) for _, message in effects.send] == [DigestMessage]
    assert len(me.board) == 0


def test_what_comes_is_passed_on_to_all_others_as_it_is() -> None:
    me = exchange("me", ["a", "b", "c"])
    me.step(Begin(1, ()))
    theirs = written("far away")
    assert me.step(heard("a", RecordsMessage((theirs,)))).send == ()
    effects = me.step(Begin(2, ()))
    assert sent_records(effects) == {"b": (theirs,), "c": (theirs,)}
    assert effects.persist == {Part.EXCHANGE}


def test_who_sends_it_too_need_not_get_it() -> None:
    me = exchange("me", ["a", "b"])
    me.step(Begin(1, ()))
    message = RecordsMessage((written("far away"),))
    me.step(heard("a", message))
    me.step(heard("b", message))
    assert me.step(Begin(2, ())).send == ()


def test_by_the_time_it_is_sent_it_may_be_newer() -> None:
    me = exchange("me", ["a", "b"])
    me.step(Begin(1, ()))
    for sequence in (1, 3, 2):
        me.step(heard("a", RecordsMessage((written("far away", sequence=sequence),))))
    newest = written("far away", sequence=3)
    assert sent_records(me.step(Begin(2, ()))) == {"b": (newest,)}


def test_a_contradiction_becomes_a_proof_that_all_get_also_who_brought_it() -> None:
    me = exchange("me", ["a", "b"])
    me.step(Begin(1, ()))
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
        me = exchange("me", ["a"])
        me.step(Begin(1, ()))
        me.step(heard("a", DigestMessage(page=page, answer=answer)))
        sent: list[Any] = [message for _, message in me.step(Begin(2, ())).send]
        assert [message.answer for message in sent] == expected


def test_a_digest_that_has_nothing_new_is_answered_with_records_alone() -> None:
    me = exchange("me", ["a"])
    me.step(Begin(1, ()))
    known = written("far away")
    me.step(heard("a", RecordsMessage((known,))))
    (page,) = exchange("a", ["me"]).board.pages()
    me.step(heard("a", DigestMessage(page=page, answer=False)))
    effects = me.step(Begin(2, ()))
    assert [message for _, message in effects.send] == [RecordsMessage((known,))]


def test_who_was_away_gets_a_digest_and_not_a_heap_of_records() -> None:
    me = exchange("me", ["a", "b"])
    me.step(Begin(1, ()))
    me.step(heard("b", RecordsMessage((written("far away"),))))
    me.step(Returned("a"))
    effects = me.step(Begin(2, ()))
    (page,) = me.board.pages()
    assert effects.send == (("a", DigestMessage(page=page, answer=False)),)


class TestStale:
    """A newer record of one's own shows that the state is an old one."""

    def stopped(self, me: BoardExchange, own: Releases, number: int) -> str:
        blocks, before = own.stream.blocks, me.state
        own.due = 1
        with pytest.raises(StaleStateError) as error:
            me.step(Begin(number, (7,)))
        assert own.stream.blocks == blocks, "no noise is spent"
        assert me.state == before
        return str(error.value)

    def test_a_newer_one_stops_the_next_release(self) -> None:
        own = Releases()
        me = exchange("me", ["a"], own=own)
        released(me, own, 1, 25)
        effects = me.step(heard("a", RecordsMessage((written("me", sequence=2),))))
        assert effects.persist >= {Part.EXCHANGE}, "it must not be forgotten again"
        assert "(0, 1) as (incarnation, blocks), where others have (0, 2)" in self.stopped(
            me, own, 2
        )

    def test_before_the_first_release_too(self) -> None:
        own = Releases()
        me = exchange("me", ["a"], own=own)
        me.step(heard("a", RecordsMessage((written("me"),))))
        self.stopped(me, own, 1)

    def test_it_is_remembered(self) -> None:
        own = Releases()
        me = exchange("me", ["a"], own=own)
        me.step(heard("a", RecordsMessage((written("me"),))))
        again = exchange("me", ["a"], own=own)
        again.resume(through_json(me.state))
        self.stopped(again, own, 1)

    def test_one_of_the_same_place_with_other_noise(self) -> None:
        own = Releases()
        me = exchange("me", ["a"], own=own)
        released(me, own, 1, 25)
        me.step(heard("a", RecordsMessage((written("me", mean=0.26),))))
        assert "a new key" in self.stopped(me, own, 2)

    def test_the_same_where_the_board_was_lost(self) -> None:
        own = Releases()
        released(exchange("me", ["a"], own=own), own, 1, 25)
        me = exchange("me", ["a"], own=own)
        me.step(heard("a", RecordsMessage((written("me", mean=0.26),))))
        assert "another record of mine" in self.stopped(me, own, 2)

    @pytest.mark.parametrize("draw", [25, 26])
    def test_a_new_incarnation_goes_on(self, draw: int) -> None:
        own = Releases()
        own.stream.incarnation = 1
        me = exchange("me", ["a"], own=own)
        me.step(heard("a", RecordsMessage((written("me", sequence=9),))))
        assert released(me, own, 1, draw).order == (1, 1)

    def test_what_i_know_stops_nothing(self) -> None:
        own = Releases()
        me = exchange("me", ["a"], own=own)
        first = released(me, own, 1, 25)
        second = released(me, own, 2, 26)
        for known in (first, second):
            me.step(heard("a", RecordsMessage((known,))))
        assert released(me, own, 3, 27).order == (0, 3)

    def test_a_variance_declared_anew_waits_for_the_next_release(self) -> None:
        own = Releases()
        me = exchange("me", ["a"], own=own)
        before = released(me, own, 1, 25)
        own.profile = replace(own.profile, sigma2=0.05)
        me.step(Begin(2, ()))
        assert me.board.get(me.origin) == before, "two of one place would bar me"
        assert released(me, own, 3, 26).variance == 0.05


class TestRefused:
    """An illegal event says who erred and changes nothing."""

    @pytest.mark.parametrize(
        ("event", "kind", "words"),
        [
            (Deadline(), LocalProtocolError, "nobody is waited for"),
            (Observe(0.5), LocalProtocolError, "an agent"),
            (Begin(1, ()), LocalProtocolError, "a round after 1"),
            (Begin(2**62 + 1, ()), LocalProtocolError, "a round after 1"),
            (Begin(2, (1, 2)), LocalProtocolError, "noise"),
            (Returned("x"), RemoteProtocolError, "from x: .* one of my"),
            (heard("x", RecordsMessage((written("b"),))), RemoteProtocolError, "from x"),
            (
                heard("a", ConsensusMessage(round=1, value=0.5)),
                RemoteProtocolError,
                "from a: message: saw 'ConsensusMessage'",
            ),
        ],
    )
    def test_what_is_not_legal(self, event: Any, kind: type[ColmeError], words: str) -> None:
        own = Releases()
        me = exchange("me", ["a"], own=own)
        released(me, own, 1, 25)
        before = me.state
        with pytest.raises(kind, match=words):
            me.step(event)
        assert me.state == before

    def test_one_bad_signature_spoils_its_message(self) -> None:
        me = exchange("me", ["a", "b"])
        me.step(Begin(1, ()))
        good, other = written("b"), written("c")
        bad = replace(other, mean=0.6)
        for spoilt in (bad, Proof.from_pair(other, bad)):
            with pytest.raises(RemoteProtocolError, match=f"from a: signature.*{bad.origin}"):
                me.step(heard("a", RecordsMessage((good, spoilt))))
        assert len(me.board) == 0
        assert me.step(Begin(2, ())).send == ()
        me.step(heard("a", RecordsMessage((good, other))))
        assert me.board.records == tuple(sorted((good, other), key=lambda one: one.origin))


SIGNERS = [Ed25519.from_bytes(bytes([number]) * 32) for number in range(3)]


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_relay_cannot_alter_what_it_passes_on(data: st.DataObject) -> None:
    """Real signatures: any byte of any message, changed, and the board holds what was said."""
    me = exchange("me", ["relay"], identity=SIGNERS[0])
    said = [written(signer, sequence=number) for signer in SIGNERS[1:] for number in (1, 2)]
    original = data.draw(st.sampled_from(said))
    if data.draw(st.booleans()):
        me.step(heard("relay", RecordsMessage((written(SIGNERS[1]),))))
    before = contents(me.board)
    altered = bytearray(original.to_bytes())
    altered[data.draw(st.integers(0, len(altered) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        me.step(heard("relay", RecordsMessage((entry_from_bytes(bytes(altered)),))))
    except (MessageError, RemoteProtocolError):
        assert contents(me.board) == before
    assert set(me.board) <= set(said)
    me.step(heard("relay", RecordsMessage((original,))))
    assert me.board.get(original.origin) in said


def test_a_relay_cannot_make_up_a_proof_against_somebody() -> None:
    me = exchange("me", ["relay"], identity=SIGNERS[0])
    said = written(SIGNERS[1])
    made_up = replace(said, mean=0.6)
    other = written(SIGNERS[2], mean=0.6)
    for proof in (
        Proof.from_pair(said, made_up),
        Proof.from_pair(said, replace(made_up, signature=other.signature)),
    ):
        with pytest.raises(RemoteProtocolError, match="signature"):
            me.step(heard("relay", RecordsMessage((proof,))))
    assert len(me.board) == 0


class TestStored:
    """The board is a part of the state that may be lost."""

    def test_it_goes_on_from_what_was_stored_and_asks_all(self) -> None:
        own = Releases()
        me = exchange("me", ["a", "b"], own=own)
        released(me, own, 1, 25)
        liar = Proof.from_pair(written("liar", mean=0.1), written("liar", mean=0.2))
        me.step(heard("a", RecordsMessage((written("far away"), liar))))
        again = exchange("me", ["b", "c"], own=own)
        again.resume(through_json(me.state))
        assert again.state == me.state
        effects = again.step(Begin(2, ()))
        (page,) = again.board.pages()
        digest = DigestMessage(page=page, answer=False)
        assert effects.send == (("b", digest), ("c", digest))

    def test_whoever_resumes_asks_again_whatever_it_has_sent_before(self) -> None:
        me = exchange("me", ["a"])
        assert len(me.step(Begin(1, ())).send) == 1
        assert me.step(Begin(2, ())).send == ()
        me.resume(me.state)
        assert [type(message) for _, message in me.step(Begin(3, ())).send] == [DigestMessage]

    def test_a_lost_board_is_had_again(self) -> None:
        own = Releases()
        mine = released(exchange("me", ["a"], own=own), own, 1, 25)
        again = exchange("me", ["a"], own=own)
        effects = again.step(Begin(2, ()))
        assert sent_records(effects) == {"a": (mine,)}, "the very same: no second one of its place"
        assert effects.persist == {Part.EXCHANGE}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("xyz", "hexadecimal"),
            ("00", "record: saw '1 bytes'"),
            (written("b").to_bytes().hex(), "one of this origin"),
        ],
    )
    def test_damage_is_told(self, text: str, words: str) -> None:
        me = exchange("me", ["a"])
        entries = {written("b").origin: written("b").to_bytes().hex(), me.origin: text}
        with pytest.raises(SnapshotError, match=words):
            me.resume(BoardState(round=3, entries=entries))
        assert me.state == BoardState()

    def test_noise_that_was_spent_is_stored_before_anything_else_goes_out(self) -> None:
        """Where a signature fails once, the tick after it owes what the failed one did."""

        class Failing(InProcess):
            failures = 1

            def sign(self, content: bytes) -> bytes:
                if self.failures:
                    self.failures -= 1
                    raise OSError("no key")
                return super().sign(content)

        own = Releases(due=1)
        me = exchange("me", ["a"], own=own, identity=Failing("me"))
        with pytest.raises(OSError, match="no key"):
            me.step(Begin(1, (25,)))
        effects = me.step(Begin(2, ()))
        assert effects.persist == EVERYTHING
        assert sent_records(effects) == {"a": (written("me", mean=0.25),)}


def test_memory_stays_small_whatever_one_neighbour_brings() -> None:
    """Also where each record pushes out the one before, and no tick has sent any."""
    capacity = 4
    me = exchange("me", ["a", "b"], capacity=capacity)
    made = sorted((written(str(n)) for n in range(100)), key=lambda one: one.origin, reverse=True)
    for one in made:
        me.step(heard("a", RecordsMessage((one,))))
        assert len(me.board) <= capacity
        assert max(map(len, me._owed_to.values())) <= capacity
    assert sent_records(me.step(Begin(1, ()))) == {"b": tuple(made[-capacity:])}


def test_the_answer_rests_on_the_own_data_and_all_records() -> None:
    own, algorithm = Releases(), Answers()
    me = exchange("me", ["a"], own=own, algorithm=algorithm)
    mine = released(me, own, 3, 25)
    liar = Proof.from_pair(written("liar", mean=0.1), written("liar", mean=0.2))
    me.step(heard("a", RecordsMessage((written("a"), liar))))
    own.stream.mean, own.stream.count = 0.3, 11
    assert me.estimate().value == 0.3
    evidence = algorithm.evidence
    assert (evidence.round, evidence.own_mean, evidence.own_count) == (3, 0.3, 11)
    assert (evidence.own_variance, evidence.known) == (0.1, True)
    assert (evidence.bounds, evidence.origin) == ((0, 1), mine.origin)
    assert evidence.records == tuple(sorted((mine, written("a")), key=lambda one: one.origin))


def test_an_answer_starts_from_what_the_last_one_learned() -> None:
    own, algorithm = Releases(), Answers()
    me = exchange("me", ["a"], own=own, algorithm=algorithm)
    own.stream.mean, own.stream.count = 0.3, 11
    started_from = []
    for _ in range(3):
        me.estimate()
        started_from.append(algorithm.warm)
    assert started_from == [None, 1, 2]
