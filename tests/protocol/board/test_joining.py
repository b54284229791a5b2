"""Merging is commutative and idempotent; associative unless what was replaced is contradicted."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from colme.protocol.board.record import Entry, Proof, Record, join
from support.boards import written

orders = st.tuples(st.integers(0, 2), st.integers(1, 3))
means = st.sampled_from([0.0, 0.1, 0.2, 0.3])


def record(order: tuple[int, int], mean: float) -> Record:
    return written("a", incarnation=order[0], sequence=order[1], mean=mean)


any_record = st.builds(record, orders, means)
proofs = st.builds(
    lambda order, pair: Proof.from_pair(record(order, pair[0]), record(order, pair[1])),
    orders,
    st.lists(means, min_size=2, max_size=2, unique=True),
)
entries: st.SearchStrategy[Entry] = any_record | proofs


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Of one origin that is honest, but perhaps at its newest place."""
    places = sorted(draw(st.sets(orders, min_size=1)))
    told: list[Entry] = [record(order, sum(order) / 10) for order in places]
    newest = draw(st.lists(means, max_size=4))
    told += [record(places[-1], mean) for mean in newest]
    return draw(st.permutations(told + draw(st.lists(st.sampled_from(told)))))


@given(entries, entries)
def test_it_does_not_matter_which_came_first(one: Entry, other: Entry) -> None:
    assert join(one, other) == join(other, one)


@given(entries, entries)
def test_the_same_again_changes_nothing(one: Entry, other: Entry) -> None:
    assert join(one, one) is one
    both = join(one, other)
    assert join(both, one) is both
    assert join(both, other) is both


@given(histories(), st.data())
def test_it_does_not_matter_how_they_are_grouped(told: list[Entry], data: st.DataObject) -> None:
    split = data.draw(st.integers(1, len(told)))
    left, right = told[:split], told[split:]
    grouped = join(reduce(join, left), reduce(join, right)) if right else reduce(join, left)
    assert grouped == reduce(join, told) == reduce(join, data.draw(st.permutations(told)))


@given(any_record, any_record)
def test_an_older_record_never_replaces_a_newer_one(one: Record, other: Record) -> None:
    both = join(one, other)
    assert both.order == max(one.order, other.order)
    assert isinstance(both, Proof) == (one.order == other.order and one.mean != other.mean)


@given(proofs, st.lists(entries))
def test_a_proof_is_for_good(proof: Entry, later: list[Entry]) -> None:
    assert isinstance(reduce(join, later, proof), Proof)


@given(st.lists(proofs, min_size=1), st.data())
def test_of_several_proofs_all_pick_the_same(several: list[Entry], data: st.DataObject) -> None:
    picked = reduce(join, several)
    assert picked == reduce(join, data.draw(st.permutations(several)))


def test_of_two_signatures_of_one_content_either_will_do() -> None:
    one = written("a")
    other = one.with_signature(bytes(64))
    assert join(one, other) is one
    assert join(other, one) is other


def test_what_contradicts_a_record_that_was_replaced_goes_unnoticed() -> None:
    """The price of one entry for each origin; whoever saw both in time tells all others."""
    old, contradiction, new = record((0, 1), 0.1), record((0, 1), 0.2), record((0, 2), 0.1)
    unnoticed = join(join(old, new), contradiction)
    noticed = join(join(old, contradiction), new)
    assert unnoticed == new
    assert noticed == Proof.from_pair(old, contradiction) == join(unnoticed, noticed)
