"""What neighbours say to each other as bytes, and why it may not be taken."""

from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.boards import parts_of, yours_in
from colme.node.wire.codec import (
    LARGEST_FRAME,
    METHOD,
    OLD_SERVICES,
    PROTOCOL,
    SERVICE,
    encode,
    from_wire,
    message_in,
    parse_frame,
    parse_reply,
    release_in,
    reply_of,
    shortened,
    to_wire,
)
from colme.node.wire.refusal import Reason, Refused
from colme.node.wire.standing import Standing

__all__ = [
    "LARGEST_FRAME",
    "METHOD",
    "OLD_SERVICES",
    "PROTOCOL",
    "SERVICE",
    "Reason",
    "Refused",
    "Standing",
    "encode",
    "from_wire",
    "message_in",
    "parse_frame",
    "parse_reply",
    "parts_of",
    "pb",
    "release_in",
    "reply_of",
    "shortened",
    "to_wire",
    "yours_in",
]
