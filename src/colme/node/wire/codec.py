"""Messages as bytes and back: `neighbour.proto` on one side, the protocol's dataclasses here."""

from google.protobuf.message import DecodeError

from colme.errors import MessageError
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.refusal import Reason, Refused
from colme.protocol.messages import ConsensusMessage, Message, ReleaseMessage, SizeMessage
from colme.rules.release import Release

METHOD = "/colme.v1.Neighbour/Session"
LARGEST_FRAME = 16 * 1024
"""Bytes. A frame has less than 100, a hello less than 1,000."""


def encode(message: Message, sequence: int = 0) -> bytes:
    """A frame with this message."""
    match message:
        case ReleaseMessage():
            frame = pb.Frame(sequence=sequence, release=_release(message))
        case SizeMessage():
            size = pb.SizeMessage(
                round=message.round,
                size=message.size,
                degree=message.degree,
                accepts=message.accepts,
            )
            frame = pb.Frame(sequence=sequence, size=size)
        case ConsensusMessage():
            consensus = pb.ConsensusMessage(
                round=message.round,
                value=message.value,
                weight=message.weight,
                excess=message.excess,
            )
            frame = pb.Frame(sequence=sequence, consensus=consensus)
    return frame.SerializeToString()


def _release(message: ReleaseMessage) -> pb.ReleaseMessage:
    release = message.release
    if release is None:
        return pb.ReleaseMessage(round=message.round)
    return pb.ReleaseMessage(
        round=message.round,
        release=pb.Release(
            count=release.count,
            mean=release.mean,
            variance=release.variance,
            beta=release.beta,
        ),
    )


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
    return _release_in(pb.Frame.FromString(data).release).release


def message_in(peer: str, frame: pb.Frame) -> Message:
    """The message of a frame that is no hello."""
    try:
        match frame.WhichOneof("content"):
            case "release":
                return _release_in(frame.release)
            case "size":
                size = frame.size
                return SizeMessage(
                    round=size.round, size=size.size, degree=size.degree, accepts=size.accepts
                )
            case _:
                told = frame.consensus
                return ConsensusMessage(
                    round=told.round,
                    value=told.value,
                    weight=told.weight,
                    excess=told.excess if told.HasField("excess") else None,
                )
    except MessageError as error:
        raise Refused(
            Reason.INVALID_VALUE, peer, error.field, error.seen, error.expected
        ) from error


def _release_in(message: pb.ReleaseMessage) -> ReleaseMessage:
    if not message.HasField("release"):
        return ReleaseMessage(round=message.round, release=None)
    release = message.release
    return ReleaseMessage(
        round=message.round,
        release=Release(
            count=release.count,
            mean=release.mean,
            variance=release.variance,
            beta=release.beta,
        ),
    )


def reply_of(error: Refused) -> bytes:
    """What the neighbour is told about it: who erred is left to it to find out."""
    refusal = pb.Refusal(
        reason=f"REASON_{error.reason.name}",
        detail=f"{error.field}: saw {error.seen!r}, expected {error.expected}",
    )
    if error.remembered is not None:
        refusal.remembered.epoch = error.remembered.epoch
        refusal.remembered.round = error.remembered.round
    return pb.Reply(refusal=refusal).SerializeToString()
