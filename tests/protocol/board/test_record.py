"""A record: valid by construction, one way to write it, and two that differ are a proof."""

import struct
from dataclasses import replace
from hashlib import sha256
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colme.errors import MessageError
from colme.protocol.board.identity import InProcess
from colme.protocol.board.record import (
    LARGEST_BODY,
    RECORD_SIZE,
    Proof,
    Record,
    entry_from_bytes,
)
from support.boards import foreign, written
from support.refusing import refused

numbers = st.floats(-1e100, 1e100)


@st.composite
def records(draw: st.DrawFn) -> Record:
    count = draw(st.integers(1, 2**62))
    sequence = draw(st.integers(1, count))
    past_count = draw(st.integers(0, count))
    most = min(past_count, sequence)
    known = draw(st.booleans())
    lo = draw(st.floats(-1e3, 1e3))
    return written(
        draw(st.sampled_from("abc")),
        incarnation=draw(st.integers(0, 2**62)),
        sequence=sequence,
        count=count,
        past_count=past_count,
        past_draws=draw(st.integers(min(1, past_count), most)),
        epsilon=draw(st.floats(1e-3, inf)),
        bounds=(lo, lo + draw(st.floats(1, 1e3))),
        mean=draw(numbers),
        # The bounds may be an ulp less than 1 apart, which allows less than 0.25.
        variance=draw(st.floats(0, 0.24)) if known else None,
        square=None if known else draw(numbers),
    )


@given(records())
def test_what_is_written_is_read_again_bit_by_bit(record: Record) -> None:
    data = record.to_bytes()
    again = Record.from_bytes(data)
    assert len(data) == RECORD_SIZE == 179
    assert again == entry_from_bytes(data) == record
    assert again.to_bytes() == data


@settings(max_examples=300)
@given(records(), st.integers(0, RECORD_SIZE - 1), st.integers(1, 255))
def test_there_is_one_way_to_write_a_record(record: Record, place: int, flip: int) -> None:
    """Whatever can be read is written the same again: no bytes go unsaid or unsigned."""
    data = bytearray(record.to_bytes())
    data[place] ^= flip
    try:
        read = Record.from_bytes(bytes(data))
    except MessageError:
        return
    assert read.to_bytes() == bytes(data)
    assert read != record
    assert not InProcess("anybody").verify(read.key, read.content(), read.signature)


def test_the_layout_is_the_documented_one() -> None:
    record = written("a", incarnation=2, sequence=3, count=40, past_count=20, past_draws=2)
    expected = b"colme record" + struct.pack(">H", 1) + InProcess("a").key
    expected += struct.pack(">5Q", 2, 3, 40, 20, 2) + struct.pack(">4d", 1.0, 0.0, 1.0, 0.5)
    assert record.content() == expected + struct.pack(">Bd", 0, 0.1)
    square = written("a", variance=None, square=-0.0)
    assert square.content()[-9:] == struct.pack(">Bd", 1, -0.0)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("version", {"version": 2}),
        ("key", {"key": bytes(31)}),
        ("signature", {"signature": bytes(65)}),
        ("incarnation", {"incarnation": -1}),
        ("incarnation", {"incarnation": 2**62 + 1}),
        ("sequence", {"sequence": 0}),
        ("sequence", {"sequence": 81}),
        ("count", {"count": 0}),
        ("count", {"count": 2**62 + 1}),
        ("past_count", {"past_count": 81}),
        ("past_count", {"past_count": -1}),
        ("past_draws", {"past_draws": 1}),
        ("epsilon", {"epsilon": 0.0}),
        ("epsilon", {"epsilon": nan}),
        ("epsilon", {"epsilon": 1e-60}),
        ("bounds", {"bounds": (1.0, 1.0)}),
        ("bounds", {"bounds": (0.0, inf)}),
        ("bounds", {"bounds": (nan, 1.0)}),
        ("bounds", {"bounds": (1e9, 1e9 + 1e-3)}),
        ("bounds", {"bounds": (-1e60, 1e60)}),
        ("mean", {"mean": nan}),
        ("mean", {"mean": -1.1e100}),
        ("variance", {"variance": -0.1}),
        ("variance", {"variance": 0.3}),
        ("variance", {"variance": nan}),
        *(
            ("past_draws", {"past_count": count, "past_draws": draws})
            for count, draws in ((40, 0), (3, 4), (40, 11))
        ),
        ("variance, square", {"variance": None}),
        ("variance, square", {"square": 0.1}),
        ("square", {"variance": None, "square": nan}),
        ("square", {"variance": None, "square": 1.1e100}),
    ],
)
def test_what_can_never_be_right_is_refused_by_name(field: str, changes: dict[str, Any]) -> None:
    """A past has samples, draws and blocks; and a record has a variance or a square."""
    fine = written("a", count=80, sequence=10)
    with refused(MessageError, field):
        replace(fine, **changes)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-160, 1e-60])
def test_narrow_bounds_make_no_room_for_an_epsilon_of_nothing(epsilon: float) -> None:
    """No block would ever end: whoever tried to tell where would fail."""
    with refused(MessageError, "epsilon"):
        written("a", epsilon=epsilon, bounds=(0.0, 1e-300), variance=0.0, mean=0.0)
    narrow = written("a", epsilon=1e-9, bounds=(0.0, 1e-300), variance=0.0, mean=0.0)
    assert narrow.schedule.next_end(0) > 0


@given(st.binary(max_size=4 * RECORD_SIZE))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(MessageError):
        entry_from_bytes(data)


def test_an_origin_belongs_to_a_key() -> None:
    record = written("a")
    assert record.origin == sha256(record.key).hexdigest()[:32]
    assert record.origin == written("a", sequence=9, mean=0.1).origin
    assert record.origin != written("b").origin


def test_two_that_differ_are_the_same_proof_in_either_order() -> None:
    one, other = written("a", mean=0.1), written("a", mean=0.2)
    proof = Proof.from_pair(one, other)
    assert proof == Proof.from_pair(other, one)
    assert proof.origin == one.origin
    assert proof.order == one.order
    assert entry_from_bytes(proof.to_bytes()) == proof


@pytest.mark.parametrize(
    "other",
    [
        written("a"),
        replace(written("a"), signature=bytes(64)),
        written("a", sequence=2),
        written("a", incarnation=1),
        written("b"),
    ],
)
def test_nothing_else_is_a_proof(other: Record) -> None:
    with refused(MessageError, "proof"):
        Proof.from_pair(written("a"), other)


def test_a_proof_has_one_order() -> None:
    proof = Proof.from_pair(written("a", mean=0.1), written("a", mean=0.2))
    with refused(MessageError, "proof"):
        Proof(proof.second, proof.first)


def test_a_record_of_another_version_is_kept_as_it_is() -> None:
    """It can be ordered, checked and passed on; only what it says is not understood."""
    made = foreign()
    again = entry_from_bytes(made.to_bytes())
    assert again == made
    assert InProcess("b").verify(made.key, made.content(), made.signature)
    assert (made.origin, made.order) == (written("a").origin, (0, 7))
    one, other = foreign(), written("a", sequence=7)
    proof = Proof.from_pair(one, other)
    assert entry_from_bytes(proof.to_bytes()) == proof


@pytest.mark.parametrize(
    ("field", "seen"),
    [
        ("version", 1),
        ("version", 2**16),
        ("key", bytes(31)),
        ("sequence", 0),
        ("incarnation", -1),
        ("body", bytes(LARGEST_BODY + 1)),
    ],
)
def test_what_nobody_could_pass_on_is_refused_by_name(field: str, seen: Any) -> None:
    with refused(MessageError, field):
        foreign(**{field: seen})
