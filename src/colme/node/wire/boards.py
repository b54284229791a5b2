"""What neighbours say about their boards, as `neighbour.proto` has it."""

from typing import Any

from colme.errors import MessageError
from colme.node.wire import neighbour_pb2 as pb
from colme.protocol.board.board import Head, Page
from colme.protocol.board.messages import BoardMessage, DigestMessage, RecordsMessage
from colme.protocol.board.record import Entry, entry_from_bytes

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


def yours_in(reply: pb.Welcome | pb.Refusal) -> Entry | None:
    """What a neighbour holds of mine; MessageError if that is no entry."""
    return entry_from_bytes(reply.yours) if reply.yours else None


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


def is_no_proof(error: MessageError) -> bool:
    """Whether it is a proof that proves nothing."""
    return error.field == "proof"
