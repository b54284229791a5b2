"""What a neighbour may lack: each origin once, in the order in which it came."""

from colme.protocol.board.peers import Owed
from support.boards import written


def crossed(*, yields: bool) -> tuple[Owed, str]:
    """A neighbour that told me the same as I told it, at the same time; and whose record it was."""
    owed, record = Owed(yields=yields), written("far away")
    owed.add([record.origin])
    assert owed.take(9) == [record.origin]
    owed.note_sent(record)
    owed.drop(record)
    return owed, record.origin


def ticks(owed: Owed, number: int) -> list[list[str]]:
    """What is sent at each."""
    sent = []
    for _ in range(number):
        owed.begin_tick()
        sent.append(owed.take(9))
    return sent


def test_of_two_who_have_the_same_news_at_once_one_waits() -> None:
    owed, origin = crossed(yields=True)
    for sequence in (2, 3):
        owed.add([origin])
        assert ticks(owed, 1) == [[]]
        owed.drop(written("far away", sequence=sequence))
        assert ticks(owed, 3) == [[], [], []]
    owed, origin = crossed(yields=False)
    owed.add([origin])
    assert ticks(owed, 2) == [[origin], []]


def test_who_waits_in_vain_tells_it_a_tick_later_and_waits_no_more() -> None:
    """Another path may be gone: news is late by a tick, once."""
    owed, origin = crossed(yields=True)
    owed.add([origin])
    assert ticks(owed, 3) == [[], [origin], []]
    owed.add([origin])
    assert ticks(owed, 1) == [[origin]]


def test_other_origins_are_not_waited_for_and_a_return_begins_anew() -> None:
    owed, origin = crossed(yields=True)
    owed.add(["another"])
    assert ticks(owed, 1) == [["another"]]
    owed.start_anew()
    owed.add([origin])
    assert ticks(owed, 1) == [[origin]]
