"""What goes over the wire about boards, byte for byte: tests/vectors is for other languages too.

`python tests/node/test_vectors.py` writes the file anew, for a new version of the format.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from colme.node.config import Agreed
from colme.node.session.admission import Agreement
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import encode, message_in, parse_frame
from colme.protocol.board.board import LAST_ORIGIN, Head, Page
from colme.protocol.board.messages import DigestMessage, RecordsMessage
from colme.protocol.board.record import Proof, Record, entry_from_bytes
from colme.signing import Ed25519

FILE = Path(__file__).parent.parent / "vectors" / "boards.json"

SECRETS = {"a": bytes(range(32)), "b": bytes(range(32, 64))}

RECORDS: dict[str, tuple[str, dict[str, Any]]] = {
    "with a declared variance": (
        "a",
        {"sequence": 3, "count": 40, "mean": 0.375, "variance": 0.01, "square": None},
    ),
    "with a released square": (
        "b",
        {"sequence": 1, "count": 8, "mean": -1.25, "variance": None, "square": -0.5},
    ),
    "after a loss and a switch from rounds": (
        "a",
        {
            "incarnation": 1_790_000_000,
            "sequence": 12,
            "count": 700,
            "past_count": 500,
            "past_draws": 9,
            "mean": 0.1,
            "variance": 0.0,
            "square": None,
        },
    ),
}


def record_of(secret: bytes, fields: dict[str, Any]) -> Record:
    signs = Ed25519.from_bytes(secret)
    common: dict[str, Any] = {"epsilon": 1.0, "bounds": (0.0, 1.0), "incarnation": 0}
    unsigned = Record(key=signs.key, signature=bytes(64), **(common | fields))
    return unsigned.with_signature(signs.sign(unsigned.content()))


def vectors() -> dict[str, Any]:
    records = {name: record_of(SECRETS[who], fields) for name, (who, fields) in RECORDS.items()}
    first = records["with a declared variance"]
    contradicting = record_of(SECRETS["a"], RECORDS["with a declared variance"][1] | {"mean": 0.5})
    proof = Proof.from_pair(first, contradicting)
    page = Page(
        after="",
        last=LAST_ORIGIN,
        heads=tuple(sorted_heads(records["with a released square"], proof)),
    )
    digest = DigestMessage(page=page, answer=True)
    agreement = Agreement.of(Agreed(bounds=(0, 1), algorithm="relay"))
    return {
        "secret keys (Ed25519)": {name: secret.hex() for name, secret in SECRETS.items()},
        "records": {
            name: {
                "signed by": RECORDS[name][0],
                "origin": one.origin,
                "signed": one.content().hex(),
                "signature": one.signature.hex(),
                "bytes": one.to_bytes().hex(),
            }
            for name, one in records.items()
        },
        "proof": {"origin": proof.origin, "bytes": proof.to_bytes().hex()},
        "frame 7, with these records": encode(
            RecordsMessage((first, records["with a released square"])), 7
        ).hex(),
        "frame 8, with a digest of the proof and the second record": encode(digest, 8).hex(),
        "agreement": {"facts": dict(agreement.facts), "sha256": agreement.digest.hex()},
    }


def sorted_heads(*entries: Any) -> list[Head]:
    return sorted(map(Head.of, entries), key=lambda head: head.origin)


def test_the_vectors_are_what_this_version_writes() -> None:
    assert json.loads(FILE.read_text()) == vectors()


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_read_back_and_its_signature_holds(name: str) -> None:
    vector = json.loads(FILE.read_text())["records"][name]
    record = entry_from_bytes(bytes.fromhex(vector["bytes"]))
    assert isinstance(record, Record)
    assert record.origin == vector["origin"]
    signed, signature = bytes.fromhex(vector["signed"]), bytes.fromhex(vector["signature"])
    assert signed[:12] == b"colme record"
    assert bytes.fromhex(vector["bytes"]) == signed[12:] + signature
    assert Ed25519.generate().verify(record.key, signed, signature)
    assert record == record_of(SECRETS[vector["signed by"]], RECORDS[name][1])


def test_frames_are_read_back() -> None:
    plain = json.loads(FILE.read_text())
    for name, number in (
        ("frame 7, with these records", 7),
        ("frame 8, with a digest of the proof and the second record", 8),
    ):
        frame = parse_frame("b", bytes.fromhex(plain[name]))
        assert frame.sequence == number
        assert encode(message_in("b", frame), number) == bytes.fromhex(plain[name])
        assert isinstance(frame, pb.Frame)


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(vectors(), indent=1) + "\n")
