"""Messages as bytes: what arrives is what was sent, and anything else is refused by name."""

import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from math import inf, nan
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto
from hypothesis import given, settings
from hypothesis import strategies as st

import colme
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import (
    LARGEST_FRAME,
    Reason,
    Refused,
    Standing,
    encode,
    message_in,
    old_reply_of,
    parse_frame,
    reply_of,
)
from colme.protocol.board.messages import BoardMessage
from colme.protocol.messages import (
    LARGEST_ROUND,
    ConsensusMessage,
    ReleaseMessage,
    RoundMessage,
    SizeMessage,
)
from colme.rules.release import LARGEST, Release
from support.refusing import refused

ROUNDS = st.integers(1, LARGEST_ROUND)
NUMBERS = st.floats(-LARGEST, LARGEST)
SPREADS = st.floats(0, LARGEST)

RELEASES = st.builds(
    Release, count=st.integers(1, 2**64 - 1), mean=NUMBERS, variance=SPREADS, beta=SPREADS
)
SIZES = st.integers(0, 2**32 - 1).flatmap(
    lambda degree: st.builds(
        SizeMessage,
        round=ROUNDS,
        size=st.integers(1, min(degree + 1, 2**32 - 1)),
        degree=st.just(degree),
        accepts=st.booleans(),
    )
)
MESSAGES: st.SearchStrategy[RoundMessage] = st.one_of(
    st.builds(ReleaseMessage, round=ROUNDS, release=st.none() | RELEASES),
    SIZES,
    st.builds(ConsensusMessage, round=ROUNDS, value=NUMBERS),
)


@given(message=MESSAGES, sequence=st.integers(0, 2**64 - 1))
def test_every_message_arrives_as_it_was_sent(message: RoundMessage, sequence: int) -> None:
    frame = parse_frame("b", encode(message, sequence))
    assert frame.sequence == sequence
    assert message_in("b", frame) == message


@given(message=MESSAGES)
def test_a_message_is_far_below_the_limit(message: RoundMessage) -> None:
    assert len(encode(message, 2**64 - 1)) < 100


PINNED: list[tuple[RoundMessage, int, str]] = [
    (ReleaseMessage(round=1, release=None), 1, "08011a020801"),
    (
        ReleaseMessage(round=300, release=Release(count=41, mean=0.25, variance=0.0625, beta=0.5)),
        7,
        "08071a2208ac02121d082911000000000000d03f19000000000000b03f21000000000000e03f",
    ),
    (
        ReleaseMessage(round=2, release=Release(count=1, mean=0.0, variance=0.0, beta=0.0)),
        0,
        "1a06080212020801",
    ),
    (SizeMessage(round=5, size=3, degree=4, accepts=True), 2, "080222080805100318042001"),
    (
        SizeMessage(round=LARGEST_ROUND, size=1, degree=0, accepts=False),
        2**64 - 1,
        "08ffffffffffffffffff01220c088080808080808080401001",
    ),
    (ConsensusMessage(round=6, value=0.5), 3, "08032a0b080611000000000000e03f"),
]


@pytest.mark.parametrize(("message", "sequence", "sent"), PINNED)
def test_the_bytes_are_those_that_nodes_of_the_first_version_send(
    message: RoundMessage, sequence: int, sent: str
) -> None:
    assert encode(message, sequence).hex() == sent
    assert message_in("b", parse_frame("b", bytes.fromhex(sent))) == message


@pytest.mark.parametrize("made", [*get_args(RoundMessage), Release, Standing])
def test_a_dataclass_and_its_proto_have_the_same_fields(made: type[Any]) -> None:
    """A field stands in both or in none, and may be absent in both or in none."""
    described = pb.DESCRIPTOR.message_types_by_name[made.__name__]
    hints = get_type_hints(made)
    assert {one.name for one in fields(made)} == {one.name for one in described.fields}
    for one in described.fields:
        kinds = get_args(hints[one.name]) or (hints[one.name],)
        assert not one.is_repeated, "the codec knows no lists yet"
        if one.message_type is None:
            assert (type(None) in kinds) == one.has_presence, one.name
        else:
            assert one.message_type.name in [kind.__name__ for kind in kinds]


def test_every_message_has_an_arm_of_its_own_and_every_arm_but_a_greeting_a_message() -> None:
    arms = pb.Frame.DESCRIPTOR.oneofs_by_name["content"].fields
    names = [arm.message_type.name for arm in arms if arm.message_type is not None]
    assert sorted(names) == sorted(
        ["Hello", "Welcome", "Refusal"]
        + [made.__name__ for made in (*get_args(RoundMessage), *get_args(BoardMessage))]
    )


def test_numbers_of_a_retired_algorithm_are_not_read_and_never_used_again() -> None:
    """`weight` and `excess` of the tracking that 0.1.0 had, from a node that still sends them."""
    sent = bytes.fromhex("08032a14080611000000000000e03f190000000000000040")
    read = message_in("b", parse_frame("b", sent))
    assert read == ConsensusMessage(round=6, value=0.5)
    described = DescriptorProto()
    pb.ConsensusMessage.DESCRIPTOR.CopyToProto(described)
    assert list(described.reserved_name) == ["weight", "excess"]
    assert [number for one in described.reserved_range for number in range(one.start, one.end)] == [
        3,
        4,
    ]


def test_the_same_message_has_the_same_bytes() -> None:
    message = ConsensusMessage(round=3, value=0.1)
    assert encode(message, 7) == encode(message, 7) != encode(message, 8)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 40, b"GET / HTTP/1.1\r\n", b"\x0a\x05ab"])
def test_garbage_is_refused_as_such(data: bytes) -> None:
    with pytest.raises(Refused) as caught:
        parse_frame("b", data)
    error = caught.value
    assert (error.reason, error.peer, error.field) == (Reason.GARBAGE, "b", "frame")
    assert str(error).startswith(f"from b: frame: saw '{len(data)} bytes'")


@given(data=st.binary(max_size=200))
@settings(max_examples=300)
def test_whatever_the_bytes_they_are_a_message_or_refused(data: bytes) -> None:
    with suppress(Refused):
        frame = parse_frame("b", data)
        if frame.WhichOneof("content") not in ("hello", "welcome", "refusal"):
            message_in("b", frame)


def test_a_frame_of_the_largest_size_is_read_and_a_larger_one_is_not() -> None:
    def padded(size: int) -> bytes:
        around = 6  # Tag and length of the hello, and of the hash within it.
        return pb.Frame(hello=pb.Hello(agreement=b"x" * (size - around))).SerializeToString()

    data = padded(LARGEST_FRAME)
    assert len(data) == LARGEST_FRAME
    assert parse_frame("b", data).WhichOneof("content") == "hello"
    with refused(Refused, "frame", seen="16385 bytes", reason=Reason.OVERSIZED):
        parse_frame("b", padded(LARGEST_FRAME + 1))


def frame_with(kind: str, **change: Any) -> pb.Frame:
    """A valid frame but for the change."""
    given = VALID[kind] | change
    if kind == "size":
        return pb.Frame(sequence=1, size=pb.SizeMessage(**given))
    if kind == "consensus":
        return pb.Frame(sequence=1, consensus=pb.ConsensusMessage(**given))
    release = pb.ReleaseMessage(round=given.pop("round"), release=pb.Release(**given))
    return pb.Frame(sequence=1, release=release)


VALID: dict[str, dict[str, Any]] = {
    "release": {"round": 1, "count": 9, "mean": 0.5, "variance": 0.1, "beta": 0.1},
    "size": {"round": 1, "size": 1, "degree": 2},
    "consensus": {"round": 1, "value": 0.5},
}
FLOATS = {"release": ("mean", "variance", "beta"), "consensus": ("value",)}
IMPOSSIBLE: list[tuple[str, str, float]] = [
    *[
        (kind, field, bad)
        for kind, fields in FLOATS.items()
        for field in fields
        for bad in (nan, inf, -inf, 1e101, -1e101)
    ],
    ("release", "variance", -0.1),
    ("release", "beta", -0.1),
    ("release", "count", 0),
    *[(kind, "round", bad) for kind in VALID for bad in (0, LARGEST_ROUND + 1, 2**64 - 1)],
    ("size", "size", 0),
    ("size", "size", 4),
]


@pytest.mark.parametrize(("kind", "field", "bad"), IMPOSSIBLE)
def test_an_impossible_number_is_refused_and_named(kind: str, field: str, bad: float) -> None:
    received = parse_frame("b", frame_with(kind, **{field: bad}).SerializeToString())
    with pytest.raises(Refused) as caught:
        message_in("b", received)
    error = caught.value
    assert (error.reason, error.peer, error.field) == (Reason.INVALID_VALUE, "b", field)
    assert str(error).startswith(f"from b: {field}: saw ")


@pytest.mark.parametrize("kind", VALID)
def test_the_same_frames_without_it_are_taken(kind: str) -> None:
    message_in("b", parse_frame("b", frame_with(kind).SerializeToString()))


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_its_name_on_the_wire(reason: Reason) -> None:
    error = Refused(reason, "b", "round", 3, "4 or 5")
    refusal = pb.Frame.FromString(reply_of(error)).refusal
    assert pb.Reply.FromString(old_reply_of(error)).refusal == refusal
    assert pb.Reason.Name(refusal.reason) == f"REASON_{reason.name}"
    assert refusal.reason != pb.REASON_UNSPECIFIED
    assert refusal.detail == "round: saw 3, expected 4 or 5"


def test_the_generated_code_is_that_of_the_proto_file(tmp_path: Path) -> None:
    source = Path(colme.__file__).parent
    where = [f"--proto_path={source.parent}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    protoc = [sys.executable, "-m", "grpc_tools.protoc", *where, "colme/node/wire/neighbour.proto"]
    subprocess.run(protoc, check=True, timeout=60)
    for name in ("neighbour_pb2.py", "neighbour_pb2.pyi"):
        assert (tmp_path / "colme/node/wire" / name).read_bytes() == (
            source / "node/wire" / name
        ).read_bytes()
