"""Messages as bytes and back: `neighbour.proto` on one side, the protocol's dataclasses here."""

from typing import Any, get_args

from google.protobuf.message import DecodeError

from colme.errors import MessageError
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.boards import arm_of, is_no_proof, message_of
from colme.node.wire.layout import Layout, layout_of
from colme.node.wire.refusal import Reason, Refused
from colme.node.wire.standing import Standing
from colme.protocol.messages import Message, ReleaseMessage, RoundMessage
from colme.rules.release import Release

PROTOCOL = pb.DESCRIPTOR.package
"""What neighbours must both speak: the package of `neighbour.proto`."""
SERVICE = pb.DESCRIPTOR.services_by_name["Neighbour"].full_name
METHOD = f"/{SERVICE}/Session"
OLD_SERVICES = ("colme.v1.Neighbour",)
"""Of earlier versions: whoever calls one is told why there is no session."""
LARGEST_FRAME = 16 * 1024
"""Bytes, of a reply too. In rounds a frame has less than 100; a hello has less than 1,000."""
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
    return frame


def release_in(data: bytes) -> Release | None:
    """The release of a frame that this node made itself."""
    message: ReleaseMessage = layout_of(ReleaseMessage).read(pb.Frame.FromString(data).release)
    return message.release


def message_in(peer: str, frame: pb.Frame) -> Message:
    """The message of a frame that is no hello."""
    arm = frame.WhichOneof("content")
    try:
        said: Message | None = message_of(frame)
        if said is None:
            said = _LAYOUTS[arm].read(getattr(frame, arm))
    except MessageError as error:
        reason = Reason.NO_PROOF if is_no_proof(error) else Reason.INVALID_VALUE
        raise Refused(reason, peer, error.field, error.seen, error.expected) from error
    return said


def parse_reply(data: bytes) -> pb.Reply:
    """The reply in these bytes, its words cut short; MessageError if there is none."""
    if len(data) > LARGEST_FRAME:
        raise MessageError("reply", f"{len(data)} bytes", f"at most {LARGEST_FRAME}")
    try:
        reply = pb.Reply.FromString(data)
    except DecodeError:
        reply = pb.Reply()
    if reply.WhichOneof("content") is None:
        raise MessageError("reply", f"{len(data)} bytes", "a Reply of neighbour.proto")
    if reply.WhichOneof("content") == "refusal":
        reply.refusal.detail = shortened(reply.refusal.detail)
    return reply


def shortened(words: str) -> str:
    """Not more of a neighbour's words than anybody would read."""
    return words if len(words) <= LONGEST_DETAIL else f"{words[:LONGEST_DETAIL]}..."


def reply_of(error: Refused) -> bytes:
    """What the neighbour is told about it: who erred is left to it to find out."""
    refusal = pb.Refusal(
        reason=f"REASON_{error.reason.name}",
        detail=shortened(f"{error.field}: saw {error.seen!r}, expected {error.expected}"),
    )
    refusal.yours = error.yours
    if error.remembered is not None:
        refusal.remembered.CopyFrom(to_wire(error.remembered))
    return pb.Reply(refusal=refusal).SerializeToString()


def to_wire(standing: Standing) -> pb.Standing:
    """As sent."""
    return pb.Standing(**layout_of(Standing).written(standing))


def from_wire(standing: pb.Standing) -> Standing:
    """As received."""
    made: Standing = layout_of(Standing).read(standing)
    return made
