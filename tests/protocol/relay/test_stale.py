"""A state that is an old one must not release again, and what is stored is what it goes on from."""

from dataclasses import replace
from typing import Any

import pytest

from colme.errors import (
    ForkedStateError,
    LocalProtocolError,
    RemoteProtocolError,
    SnapshotError,
    StaleStateError,
)
from colme.network import Network
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.board.board import LAST_ORIGIN, Head, Page
from colme.protocol.board.identity import InProcess
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Proof
from colme.protocol.events import EVERYTHING, Begin, Deadline, Part
from colme.protocol.relay import BoardExchange, BoardState
from support.boards import (
    NOTHING_HELD,
    PROFILE,
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


class TestStale:
    """A newer record of one's own shows that the state is an old one."""

    def stopped(self, me: BoardExchange) -> str:
        own = own_of(me)
        blocks, before = own.stream.blocks, me.state
        own.due = 1
        with pytest.raises(StaleStateError) as error:
            me.step(Begin(2, (7,)))
        assert own.stream.blocks == blocks, "no noise is spent"
        assert me.state == before
        return str(error.value)

    @pytest.mark.parametrize(
        ("blocks", "lost", "told", "words"),
        [
            (
                1,
                False,
                {"sequence": 2},
                "where others have (0, 2)",
            ),
            (0, False, {}, "where others have (0, 1)"),
            (1, False, {"mean": 0.26}, "a new key"),
            (1, True, {"mean": 0.26}, "another record of mine"),
        ],
        ids=["newer", "before the first release", "other noise", "other noise, the board lost"],
    )
    def test_another_record_of_mine_stops_the_next_release(
        self, blocks: int, lost: bool, told: dict[str, Any], words: str
    ) -> None:
        """At once, and after it was stored: it must not be forgotten again."""
        me = exchange("me", ["a"])
        for _ in range(blocks):
            released(me, 1, 25)
        if lost:
            me = exchange("me", ["a"], own=own_of(me))
        effects = me.step(heard("a", RecordsMessage((written("me", **told),))))
        assert effects.persist >= {Part.EXCHANGE}
        again = exchange("me", ["a"], own=own_of(me))
        again.resume(through_json(me.state))
        for one in (me, again):
            assert words in self.stopped(one)

    def test_a_proof_against_me_asks_for_another_key(self) -> None:
        """Others have seen two records of mine that differ: no older state can go on either."""
        me = exchange("me", ["a"])
        released(me, 1, 25)
        proof = Proof.from_pair(written("me", mean=0.1), written("me", mean=0.2))
        me.step(heard("a", RecordsMessage((proof,))))
        with refused(ForkedStateError, "state"):
            me.step(Begin(2, ()))

    @pytest.mark.parametrize("draw", [25, 26])
    def test_a_new_incarnation_goes_on(self, draw: int) -> None:
        me = exchange("me", ["a"])
        own_of(me).stream.incarnation = 1
        me.step(heard("a", RecordsMessage((written("me", sequence=9),))))
        assert released(me, 1, draw).order == (1, 1)

    def test_what_i_know_stops_nothing(self) -> None:
        me = exchange("me", ["a"])
        first, second = released(me, 1, 25), released(me, 2, 26)
        for known in (first, second):
            me.step(heard("a", RecordsMessage((known,))))
        assert released(me, 3, 27).order == (0, 3)


class TestOtherReleases:
    """A backup that went on has released other records under the same numbers."""

    def three_released(self) -> BoardExchange:
        me = exchange("me", ["a"])
        for number in (1, 2, 3):
            released(me, number, 24 + number)
        return me

    def test_an_older_one_that_it_did_not_release_stops_it(self) -> None:
        me = self.three_released()
        own = own_of(me)
        effects = me.step(heard("a", RecordsMessage((written("me", sequence=2, mean=0.9),))))
        assert effects.persist == EVERYTHING - {Part.STREAM}
        own.due = 1
        for one in (me, exchange("me", ["a"], own=own)):
            one.resume(through_json(me.state))
            one.step(heard("a", NOTHING_HELD))
            with refused(StaleStateError, "state"):
                one.step(Begin(4, (7,)))
            assert own.stream.blocks == 3, "no noise is spent"

    def test_one_of_a_number_that_it_skipped_stops_it(self) -> None:
        """It released three blocks in one tick, under the number of the last."""
        own = Releases(due=3)
        me = exchange("me", ["a"], own=own)
        me.step(Begin(1, (25, 26, 27)))
        me.step(heard("a", RecordsMessage((written("me", sequence=1),))))
        own.due = 1
        with refused(StaleStateError, "state"):
            me.step(Begin(2, (7,)))

    def test_what_it_released_before_a_restart_does_not(self) -> None:
        me = self.three_released()
        own = own_of(me)
        second = written("me", sequence=2, mean=0.26)
        again = exchange("me", ["a"], own=own)
        again.resume(through_json(me.state))
        assert again.fingerprints["0.2"] == Head.of(second).fingerprint.hex()
        again.step(heard("a", RecordsMessage((second,))))
        again.step(heard("a", NOTHING_HELD))
        assert released(again, 4, 28).order == (0, 4)

    def test_one_that_it_never_numbered_or_signed_does_not(self) -> None:
        me = self.three_released()
        forged = replace(written("me", sequence=2, mean=0.9), signature=bytes(64))
        with pytest.raises(RemoteProtocolError):
            me.step(heard("a", RecordsMessage((forged,))))
        assert released(me, 4, 28).order == (0, 4)


class TestAsking:
    """A stored state may be an old one: it releases nothing before its neighbours have told."""

    def restored(self) -> BoardExchange:
        """After one block, with another one due."""
        before = exchange("me", ["a", "b"])
        released(before, 1, 25)
        me = exchange("me", ["a", "b"], own=own_of(before))
        me.resume(through_json(before.state))
        own_of(me).due = 1
        return me

    def page(self, *heads: Head, last: str = LAST_ORIGIN) -> DigestMessage:
        return DigestMessage(page=Page(after="", last=last, heads=heads), answer=True)

    def test_until_then_it_asks_for_no_draw_and_takes_none(self) -> None:
        me = self.restored()
        assert me.draws_due == ()
        with refused(LocalProtocolError, "noise"):
            me.step(Begin(2, (7,)))
        assert me.round == 1
        effects = me.step(Begin(2, ()))
        assert [type(message) for _, message in effects.send] == [DigestMessage] * 2
        assert (own_of(me).stream.blocks, own_of(me).due) == (1, 1)

    def test_it_goes_on_once_all_have_answered_that_they_know_nothing_newer(self) -> None:
        held = Head.of(written("me", mean=0.25))
        for told in (self.page(held), self.page(held, last="0" * 32), self.page(), NOTHING_HELD):
            me = self.restored()
            me.step(heard("b", told))
            assert me.draws_due == (), "a may know more than b"
            me.step(heard("a", told))
            assert len(me.draws_due) == 1
            assert released(me, 2, 26).order == (0, 2)

    def test_a_neighbour_that_is_away_is_waited_for_until_the_deadline(self) -> None:
        me = self.restored()
        me.step(Deadline())
        assert me.draws_due == (), "one at least must have answered"
        me.step(heard("b", NOTHING_HELD))
        assert len(me.draws_due) == 1

    def test_what_tells_nothing_of_mine_is_no_answer(self) -> None:
        newer = Head.of(written("me", sequence=2))
        for told in (self.page(newer), self.page(last="0" * 32)):
            me = self.restored()
            me.step(Deadline())
            me.step(heard("b", told))
            assert me.draws_due == ()

    def test_an_agent_that_was_not_restored_or_has_no_neighbours_asks_nobody(self) -> None:
        for me in (exchange("me", ["a"], own=Releases(due=1)), self.alone()):
            assert len(me.draws_due) == 1

    def alone(self) -> BoardExchange:
        me = exchange("me", [], own=Releases(due=1))
        me.resume(BoardState())
        return me

    def test_an_old_state_noises_nothing_again(self) -> None:
        """Real agents: it is put back to a state of before its last releases."""
        network = Network.of_equals(
            {"a": ["b"], "b": ["a", "c"], "c": ["b"]},
            profile=PROFILE,
            noise=SeededLaplace(1),
            algorithm="relay",
        )
        agent = network.agents["a"]
        for _ in range(60):
            agent.observe(0.3)
        old = Agent.restore(agent.settings, agent.snapshot())
        waiting = old.counts
        for _ in range(40):
            network.run_round({"a": 0.3})
        assert agent.counts.blocks > 0
        network.agents = {**network.agents, "a": old}
        network.run_round()  # It asks,
        network.run_round()  # is told,
        with refused(StaleStateError, "state"):
            network.run_round()
        assert old.counts == waiting, "no noise is spent"


class TestStored:
    """The board is a part of the state that may be lost."""

    def test_it_goes_on_from_what_was_stored_and_asks_all(self) -> None:
        me = exchange("me", ["a", "b"])
        released(me, 1, 25)
        liar = Proof.from_pair(written("liar", mean=0.1), written("liar", mean=0.2))
        me.step(heard("a", RecordsMessage((written("by a alone"),))))
        me.step(heard("b", RecordsMessage((written("far away"), liar))))
        kept = me.state
        del kept.entries[written("by a alone").origin], kept.via[written("by a alone").origin]
        again = exchange("me", ["b", "c"], own=own_of(me))
        again.resume(through_json(me.state))
        assert again.state == kept, "what a alone introduced goes with it"
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
        me = exchange("me", ["a"])
        mine, again = released(me, 1, 25), exchange("me", ["a"], own=own_of(me))
        effects = again.step(Begin(2, ()))
        assert sent_records(effects) == {"a": (mine,)}, "the very same: no second one of its place"
        assert effects.persist == {Part.EXCHANGE}

    @pytest.mark.parametrize(
        ("text", "seen"),
        [
            ("xyz", "xyz"),
            ("00", "1 bytes"),
            (written("b").to_bytes().hex(), f"an entry of {written('b').origin}"),
        ],
    )
    def test_damage_is_told(self, text: str, seen: str) -> None:
        me = exchange("me", ["a"])
        entries = {written("b").origin: written("b").to_bytes().hex(), me.origin: text}
        with refused(SnapshotError, seen=seen):
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

        me = exchange("me", ["a"], own=Releases(due=1), identity=Failing("me"))
        with pytest.raises(OSError, match="no key"):
            me.step(Begin(1, (25,)))
        effects = me.step(Begin(2, ()))
        assert effects.persist == EVERYTHING
        assert sent_records(effects) == {"a": (written("me", mean=0.25),)}
