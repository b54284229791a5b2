"""Messages as bytes and back: `neighbour.proto` on one side, the protocol's dataclasses here.

Messages of rounds follow from their dataclasses; those about boards are written field by field.
"""

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from google.protobuf.message import DecodeError
from google.protobuf.message import Message as Proto

from colme.errors import MessageError, RemoteProtocolError
from colme.errors import Reason as Reason  # the wire has the same names
from colme.node.wire import neighbour_pb2 as pb
from colme.protocol.board.board import Head, Page
from colme.protocol.board.messages import BoardMessage, DigestMessage, RecordsMessage
from colme.protocol.board.record import Entry, entry_from_bytes
from colme.protocol.messages import Message, ReleaseMessage, RoundMessage
from colme.rules.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A dataclass and the message of `neighbour.proto` that has its name, field by field.

    A field stands in the dataclass and in the proto, and nowhere else: `X | None` is a field that
    may be absent, a dataclass within is a message within. It is on the path of every message.
    """

    made: type
    names: tuple[str, ...]
    """Of its fields, the same as in the proto."""
    within: tuple[tuple[str, "Layout"], ...]
    """Fields that are dataclasses themselves."""
    optional: tuple[str, ...]
    """Fields that may be None."""

    def written(self, value: object) -> dict[str, Any]:
        """As a proto's constructor takes it, to which None is a field left out."""
        content = {name: getattr(value, name) for name in self.names}
        for name, layout in self.within:
            if content[name] is not None:
                content[name] = layout.written(content[name])
        return content

    def read(self, proto: Proto) -> Any:
        """The value in it, checked by the dataclass itself."""
        content = {name: getattr(proto, name) for name in self.names}
        # An absent field reads as 0 or an empty message: that it is absent has to be asked for.
        for name in self.optional:
            if not proto.HasField(name):
                content[name] = None
        for name, layout in self.within:
            if content[name] is not None:
                content[name] = layout.read(content[name])
        return self.made(**content)


@cache
def layout_of(made: type) -> Layout:
    """The layout of a dataclass, looked up once: its fields do not change."""
    hints = get_type_hints(made)
    kinds = {one.name: get_args(hints[one.name]) or (hints[one.name],) for one in fields(made)}
    return Layout(
        made=made,
        names=tuple(kinds),
        within=tuple(
            (name, layout_of(kind))
            for name in kinds
            for kind in kinds[name]
            if isinstance(kind, type) and is_dataclass(kind)
        ),
        optional=tuple(name for name in kinds if NoneType in kinds[name]),
    )


LARGEST_CLAIM = 2**62
"""No neighbour may claim to have come further, so that there is always a next epoch to take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a node has come, as its neighbours remember it."""

    epoch: int
    round: int

    def __post_init__(self) -> None:
        for field in ("epoch", "round"):
            seen = getattr(self, field)
            if not 0 <= seen <= LARGEST_CLAIM:
                raise MessageError(field, seen, f"0 to {LARGEST_CLAIM}")


class Refused(RemoteProtocolError):  # noqa: N818 (it reads as what it is)
    """A neighbour sent what can't be taken; `reason` says why in a word."""

    def __init__(self, reason: Reason, peer: str, field: str, seen: object, expected: str) -> None:
        super().__init__(peer, field, seen, expected, reason)
        self.args = (reason, peer, field, seen, expected)


LARGEST_ENTRIES = 15 * 1024
"""Bytes of entries in one frame: there is room for all else."""


def arm_of(message: BoardMessage) -> dict[str, Any]:
    """The content of a frame."""
    if isinstance(message, RecordsMessage):
        return {"records": {"entries": [entry.to_bytes() for entry in message.entries]}}
    page = message.page
    digest = {
        "after": bytes.fromhex(page.after),
        "last": bytes.fromhex(page.last),
        "heads": [_written(head) for head in page.heads],
        "answer": message.answer,
    }
    return {"digest": digest}


def message_of(frame: pb.Frame) -> BoardMessage | None:
    """What a frame says of boards; None if it is about something else."""
    match frame.WhichOneof("content"):
        case "records":
            return RecordsMessage(tuple(map(entry_from_bytes, frame.records.entries)))
        case "digest":
            digest = frame.digest
            page = Page(
                after=digest.after.hex(),
                last=digest.last.hex(),
                heads=tuple(map(_read, digest.heads)),
            )
            return DigestMessage(page=page, answer=digest.answer)
    return None


def parts_of(message: BoardMessage) -> list[BoardMessage]:
    """The same in messages that fit into a frame each."""
    if isinstance(message, DigestMessage):
        return [message]
    parts: list[BoardMessage] = []
    together: list[Entry] = []
    size = 0
    for entry in message.entries:
        length = len(entry.to_bytes())
        if together and size + length > LARGEST_ENTRIES:
            parts.append(RecordsMessage(tuple(together)))
            together, size = [], 0
        together.append(entry)
        size += length
    return [*parts, RecordsMessage(tuple(together))]


PORTION = 16
"""Entries that are taken in at a time: to verify them takes a few milliseconds."""


def portions_of(message: Message) -> list[Message]:
    """The same in messages that take little time each to take in."""
    if not isinstance(message, RecordsMessage):
        return [message]
    entries = message.entries
    starts = range(0, len(entries), PORTION)
    return [RecordsMessage(entries[start : start + PORTION]) for start in starts]


def yours_in(hello: pb.Hello) -> Entry | None:
    """What a neighbour holds of mine; MessageError if that is no entry."""
    return entry_from_bytes(hello.yours) if hello.yours else None


def _written(head: Head) -> dict[str, Any]:
    return {
        "origin": bytes.fromhex(head.origin),
        "incarnation": head.incarnation,
        "sequence": head.sequence,
        "proof": head.proof,
        "fingerprint": head.fingerprint,
    }


def _read(head: pb.Head) -> Head:
    return Head(
        origin=head.origin.hex(),
        incarnation=head.incarnation,
        sequence=head.sequence,
        proof=head.proof,
        fingerprint=head.fingerprint,
    )


PROTOCOL = pb.DESCRIPTOR.package
"""What neighbours must both speak: the package of `neighbour.proto`."""
SERVICE = pb.DESCRIPTOR.services_by_name["Neighbour"].full_name
METHOD = f"/{SERVICE}/Session"
OLD_SERVICES = ("colme.v1.Neighbour", "colme.v2.Neighbour")
"""Of earlier versions: whoever calls one is told why there is no session."""
LARGEST_FRAME = 16 * 1024
"""Bytes. In rounds a frame has less than 100; a hello has less than 3,000."""
LONGEST_DETAIL = 500
"""Characters of a neighbour's words: a reason is shorter, and they go into logs."""


def _layouts() -> dict[str, Layout]:
    """By the arm of a frame, whose type has the name of the dataclass; a hello has none."""
    made = {one.__name__: one for one in get_args(RoundMessage)}
    arms = pb.Frame.DESCRIPTOR.oneofs_by_name["content"].fields
    types = {arm.name: arm.message_type.name for arm in arms if arm.message_type is not None}
    return {arm: layout_of(made[name]) for arm, name in types.items() if name in made}


_LAYOUTS = _layouts()
_ARMS = {layout.made: arm for arm, layout in _LAYOUTS.items()}


def encode(message: Message, sequence: int = 0) -> bytes:
    """A frame with this message."""
    content: dict[str, Any]
    if isinstance(message, RoundMessage):
        arm = _ARMS[type(message)]
        content = {arm: _LAYOUTS[arm].written(message)}
    else:
        content = arm_of(message)
    return pb.Frame(sequence=sequence, **content).SerializeToString()


def parse_frame(peer: str, data: bytes) -> pb.Frame:
    """The frame in these bytes, from this neighbour."""
    if len(data) > LARGEST_FRAME:
        raise Refused(
            Reason.OVERSIZED, peer, "frame", f"{len(data)} bytes", f"at most {LARGEST_FRAME}"
        )
    try:
        frame = pb.Frame.FromString(data)
    except DecodeError:
        frame = pb.Frame()
    if frame.WhichOneof("content") is None:
        raise Refused(
            Reason.GARBAGE, peer, "frame", f"{len(data)} bytes", "a Frame of neighbour.proto"
        )
    if frame.WhichOneof("content") == "refusal":
        frame.refusal.detail = shortened(frame.refusal.detail)
    return frame


def release_in(data: bytes) -> Release | None:
    """The release of a frame that this node made itself."""
    message: ReleaseMessage = layout_of(ReleaseMessage).read(pb.Frame.FromString(data).release)
    return message.release


def message_in(peer: str, frame: pb.Frame) -> Message:
    """The message of a frame that has one: no hello, and no answer to one."""
    arm = frame.WhichOneof("content")
    try:
        said: Message | None = message_of(frame)
        if said is None:
            said = _LAYOUTS[arm].read(getattr(frame, arm))
    except MessageError as error:
        reason = Reason.NO_PROOF if error.field == "proof" else Reason.INVALID_VALUE
        raise Refused(reason, peer, error.field, error.seen, error.expected) from error
    return said


def shortened(words: str) -> str:
    """Not more of a neighbour's words than anybody would read."""
    return words if len(words) <= LONGEST_DETAIL else f"{words[:LONGEST_DETAIL]}..."


def refusal_of(error: Refused) -> pb.Refusal:
    """What the neighbour is told about it: who erred is left to it to find out."""
    return pb.Refusal(
        reason=f"REASON_{error.reason.name}",
        detail=shortened(f"{error.field}: saw {error.seen!r}, expected {error.expected}"),
    )


def reply_of(error: Refused) -> bytes:
    """The same as a frame."""
    return pb.Frame(refusal=refusal_of(error)).SerializeToString()


def old_reply_of(error: Refused) -> bytes:
    """The same as a caller of an earlier version reads it."""
    return pb.Reply(refusal=refusal_of(error)).SerializeToString()


def to_wire(standing: Standing) -> pb.Standing:
    """As sent."""
    return pb.Standing(**layout_of(Standing).written(standing))


def from_wire(standing: pb.Standing) -> Standing:
    """As received."""
    made: Standing = layout_of(Standing).read(standing)
    return made
