"""Signatures that nobody else can make, and what is said where they can't be had."""

import sys

import pytest

from colme.errors import ConfigError
from colme.protocol.board.record import origin_of_key
from colme.signing import Ed25519
from support.refusing import refused

# RFC 8032, 7.1, test 2.
SECRET = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_keys_and_signatures_are_those_of_the_standard() -> None:
    me = Ed25519.from_bytes(SECRET)
    assert (me.key, me.sign(b"\x72")) == (PUBLIC, SIGNATURE)


def test_a_key_can_be_kept_and_had_again() -> None:
    me = Ed25519.generate()
    assert Ed25519.from_bytes(me.to_bytes()).key == me.key
    assert Ed25519.generate().key != me.key


@pytest.mark.parametrize(
    ("key", "content", "signature"),
    [
        (PUBLIC, b"\x73", SIGNATURE),
        (PUBLIC, b"\x72", SIGNATURE[:-1] + b"\x01"),
        (PUBLIC, b"\x72", bytes(64)),
        (PUBLIC, b"\x72", b""),
        (bytes(32), b"\x72", SIGNATURE),
        (b"\xff" * 32, b"\x72", SIGNATURE),
        (b"", b"\x72", SIGNATURE),
    ],
)
def test_nothing_else_verifies(key: bytes, content: bytes, signature: bytes) -> None:
    somebody = Ed25519.generate()
    assert somebody.verify(PUBLIC, b"\x72", SIGNATURE)
    assert not somebody.verify(key, content, signature)


def test_neighbours_are_known_by_their_keys() -> None:
    me = Ed25519.generate({"b": PUBLIC})
    assert me.origin_of("b") == origin_of_key(PUBLIC)
    assert me.origin_of("c") is None
    with refused(ConfigError, "key of b", seen="3 bytes"):
        Ed25519.generate({"b": b"abc"})


def test_a_damaged_key_is_not_shown() -> None:
    with pytest.raises(ConfigError) as error:
        Ed25519.from_bytes(b"secret")
    assert str(error.value) == "private key: saw '6 bytes', expected 32 bytes"


def test_without_the_package_it_says_which_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[node\]'"):
        Ed25519.generate()
