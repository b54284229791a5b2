"""A board: a sample that is the same everywhere, and digests that find out who lacks what."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.errors import ConfigError, MessageError
from colme.protocol.board.board import LAST_ORIGIN, PAGE, Board, Head, Page
from colme.protocol.board.identity import InProcess
from colme.protocol.board.messages import LARGEST_BATCH, RecordsMessage
from colme.protocol.board.record import Entry, Proof, origin_of_key
from support.boards import contents, written
from support.refusing import refused

names = st.sampled_from([f"agent {number}" for number in range(12)])


def origin(name: str) -> str:
    return origin_of_key(InProcess(name).key)


@st.composite
def some_entries(draw: st.DrawFn) -> Entry:
    name, sequence = draw(names), draw(st.integers(1, 3))
    means = draw(st.lists(st.sampled_from([0.1, 0.2]), min_size=1, max_size=2, unique=True))
    made = [written(name, sequence=sequence, mean=mean) for mean in means]
    return Proof.from_pair(*made) if len(made) == 2 else made[0]


lists = st.lists(some_entries(), max_size=25)
honest_lists: st.SearchStrategy[list[Entry]] = st.lists(
    st.builds(lambda name, sequence: written(name, sequence=sequence), names, st.integers(1, 3)),
    max_size=25,
)
capacities = st.integers(1, 12)


def filled(entries: Iterable[Entry], *, always: Iterable[str] = (), capacity: int = 99) -> Board:
    board = Board(always, capacity=capacity)
    for entry in entries:
        board.merge(entry)
    return board


@given(lists, capacities, st.sets(names, max_size=3))
def test_it_holds_the_smallest_origins_and_some_always(
    entries: list[Entry], capacity: int, favoured: set[str]
) -> None:
    always = {origin(name) for name in favoured}
    board = filled(entries, always=always, capacity=capacity)
    seen = {entry.origin for entry in entries}
    assert [entry.origin for entry in board] == sorted({*sorted(seen)[:capacity], *(always & seen)})
    assert len(board) <= capacity + len(always)


@given(honest_lists, capacities, st.data())
def test_the_sample_says_the_same_as_all_would(
    entries: list[Entry], capacity: int, data: st.DataObject
) -> None:
    """However the entries were spread over other boards before."""
    part = data.draw(st.integers(0, len(entries)))
    there = filled(entries[:part], capacity=capacity)
    here = filled([*entries[part:], *there], capacity=capacity)
    everything = contents(filled(entries))
    assert contents(here) == {key: everything[key] for key in sorted(everything)[:capacity]}


@given(lists, capacities)
def test_news_is_what_changes_the_board(entries: list[Entry], capacity: int) -> None:
    board = Board((), capacity=capacity)
    for entry in entries:
        before = contents(board)
        expected = board.is_news(entry)
        assert contents(board) == before
        assert board.merge(entry) is expected is (contents(board) != before)


def test_it_has_room_for_somebody() -> None:
    with refused(ConfigError, "capacity"):
        Board((), capacity=0)


@given(lists, capacities, st.sets(names, max_size=3), names)
def test_pages_cover_every_origin_that_would_be_kept_once(
    entries: list[Entry], capacity: int, favoured: set[str], name: str
) -> None:
    always = {origin(favourite) for favourite in favoured}
    board = filled(entries, always=always, capacity=capacity)
    pages = board.pages()
    listed = [head.origin for page in pages for head in page.heads]
    assert listed == sorted({*always, *(entry.origin for entry in board)})
    would_keep = origin(name) in board or filled(
        [*board, written(name)], always=always, capacity=capacity
    ).get(origin(name))
    told = sum(page.covers(origin(name)) for page in pages)
    assert told <= 1
    assert bool(told or origin(name) in listed) == bool(would_keep)


def test_pages_are_of_limited_size_and_leave_no_gap() -> None:
    board = filled((written(str(number)) for number in range(2 * PAGE + 1)), capacity=2 * PAGE + 1)
    pages = board.pages()
    assert [len(page.heads) for page in pages] == [PAGE, PAGE, 1]
    assert pages[0].after == ""
    assert [page.after for page in pages[1:]] == [page.last for page in pages[:-1]]
    assert all(sum(page.covers(entry.origin) for page in pages) == 1 for entry in board)
    assert pages[-1].last == list(board)[-1].origin
    assert filled([written("a")]).pages()[-1].last == LAST_ORIGIN
    assert Board(()).pages() == [Page(after="", last=LAST_ORIGIN, heads=())]


@given(honest_lists, honest_lists, capacities, capacities, st.sets(names, max_size=3))
def test_a_digest_finds_all_that_is_news_and_nothing_else(
    mine: list[Entry], theirs: list[Entry], here: int, there: int, favoured: set[str]
) -> None:
    me = filled(mine, capacity=here)
    other = filled(theirs, always={origin(name) for name in favoured}, capacity=there)
    pages = other.pages()
    lacking = {found for page in pages for found in me.lacking(page)}
    wanting = {found for page in pages for found in me.wanting(page)}
    assert lacking == {entry.origin for entry in me if other.is_news(entry)}
    assert wanting == {entry.origin for entry in other if me.is_news(entry)}


@settings(max_examples=200)
@given(lists, lists, capacities)
def test_two_that_tell_each_other_what_the_other_lacks_end_alike(
    mine: list[Entry], theirs: list[Entry], capacity: int
) -> None:
    me, other = filled(mine, capacity=capacity), filled(theirs, capacity=capacity)
    # Twice: a record may turn the other's proof into one that is news to its author.
    for _ in range(2):
        for one, two in ((me, other), (other, me)):
            for page in one.pages():
                for found in two.lacking(page):
                    entry = two.get(found)
                    assert entry is not None
                    one.merge(entry)
    assert contents(me) == contents(other)
    assert not any(me.lacking(page) or me.wanting(page) for page in other.pages())


HEAD = Head(origin=origin("a"))
WHOLE = Page(after="", last=LAST_ORIGIN, heads=())


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: replace(WHOLE, heads=(HEAD, HEAD)), "heads"),
        (lambda: replace(WHOLE, heads=(HEAD,) * (PAGE + 1)), "heads"),
        (lambda: replace(WHOLE, after="x"), "after"),
        (lambda: replace(WHOLE, last=""), "last"),
        (lambda: replace(WHOLE, last=LAST_ORIGIN.upper()), "last"),
        (lambda: replace(HEAD, sequence=-1), "sequence"),
        (lambda: replace(HEAD, fingerprint=b""), "fingerprint"),
        (lambda: RecordsMessage((written("a"), written("a", sequence=2))), "entries"),
        (lambda: RecordsMessage(()), "entries"),
        (lambda: RecordsMessage((written("a"),) * (LARGEST_BATCH + 1)), "entries"),
    ],
)
def test_pages_and_batches_are_valid_by_construction(
    build: Callable[[], object], field: str
) -> None:
    with refused(MessageError, field):
        build()


@pytest.mark.parametrize(
    "more",
    [{"fingerprint": b"sixteen bytes of"}, {"incarnation": 1}, {"proof": True}],
    ids=lambda more: next(iter(more)),
)
def test_a_head_of_nothing_says_nothing(more: dict[str, Any]) -> None:
    """Else it would carry bytes that nobody has signed, in the name of any origin."""
    with refused(MessageError, "sequence", seen=0):
        Head(origin="0" * 32, **more)
    Head(origin="0" * 32)
    Head(origin="0" * 32, sequence=1, **more)
