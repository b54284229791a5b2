"""What a neighbour may lack: each origin once, in the order in which it came."""

from colme.protocol.board.peers import Owed


def test_what_is_owed_is_taken_in_order_and_once() -> None:
    owed = Owed()
    owed.add(["c", "a", "b"])
    owed.add(["a", "d"])
    owed.drop("b")
    owed.drop("never owed")
    assert len(owed) == 3
    assert owed.take(2) == ["c", "a"]
    assert owed.take(2) == ["d"]
    assert owed.take(2) == []


def test_what_is_not_held_any_more_is_not_owed() -> None:
    owed = Owed()
    owed.add(["a", "b", "c"])
    owed.keep_within({"c", "a"})
    assert owed.take(9) == ["a", "c"]


def test_a_new_neighbour_and_one_that_was_away_get_a_digest_first() -> None:
    owed = Owed()
    assert owed.digest
    owed.digest = False
    owed.add(["a"])
    owed.start_anew()
    assert owed.digest
    assert owed.take(9) == []
