"""Identity: a key that stays with its owner, and a certificate to hand out."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes

from colme.cli.app import run
from colme.errors import ConfigError, IdentityError
from colme.node.trust.identity import PRIVATE_FILE, PUBLIC_FILE, Identity, read_certificates
from support.refusing import refused

NOW = datetime.now(UTC)


def make(folder: Path, name: str = "alice", **when: int) -> Identity:
    return Identity.create(name, folder, now=NOW + timedelta(**when))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_an_identity_is_read_back_as_it_was_made(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "alice"
    made = make(folder)
    assert Identity.load(folder) == made
    assert made.name == "alice"
    assert read_certificates(folder / PUBLIC_FILE) == (made.certificate,)
    assert sorted(path.name for path in folder.iterdir()) == [PUBLIC_FILE, PRIVATE_FILE]
    assert b"PRIVATE" not in (folder / PUBLIC_FILE).read_bytes()
    assert "PRIVATE" not in repr(made)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    make(tmp_path)
    for open_to in (0o640, 0o604, 0o660):
        (tmp_path / PRIVATE_FILE).chmod(open_to)
        with pytest.raises(IdentityError, match="chmod 600"):
            Identity.load(tmp_path)


def test_an_identity_is_never_overwritten_by_a_new_one(tmp_path: Path) -> None:
    made = make(tmp_path)
    with refused(IdentityError, "identity"):
        make(tmp_path, "bob")
    assert Identity.load(tmp_path) == made


def test_a_write_that_fails_leaves_the_old_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(IdentityError, match="No space left"):
        Identity.renew(tmp_path, now=NOW)
    assert Identity.load(tmp_path) == made
    assert len(list(tmp_path.iterdir())) == 2


GOOD_NAMES = ["a", "x" * 64, "Zoë", "station 7", "node-1.example"]
BAD_NAMES = ["", "x" * 65, "ë" * 33, "a/b", "a\\b", "a\nb", "a\x00", " a", "a ", "..", "\u202ea"]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_names_are_printable_text(tmp_path: Path, name: str) -> None:
    assert make(tmp_path, name).certificate.name == name


@pytest.mark.parametrize("name", BAD_NAMES)
def test_other_names_are_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with refused(ConfigError, "name"):
        make(tmp_path / "new", name)
    assert not (tmp_path / "new").exists()


def swapped_certificate(folder: Path) -> bytes:
    return Identity.load(folder).key_pem + make(folder / "other").certificate.pem


def certificate_alone(folder: Path) -> bytes:
    return Identity.load(folder).certificate.pem


def cut_short(folder: Path) -> bytes:
    return (folder / PRIVATE_FILE).read_bytes()[:-100]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (swapped_certificate, "does not belong"),
        (certificate_alone, "damage"),
        (cut_short, "damage"),
        (lambda _: b"", "damage"),
        (lambda _: b"\xff\x00 no identity", "damage"),
    ],
)
def test_a_damaged_identity_is_refused(
    tmp_path: Path, content: Callable[[Path], bytes], text: str
) -> None:
    make(tmp_path)
    (tmp_path / PRIVATE_FILE).write_bytes(content(tmp_path))
    with pytest.raises(IdentityError, match=text):
        Identity.load(tmp_path)


def test_a_folder_without_identity_says_how_to_get_one(tmp_path: Path) -> None:
    with refused(IdentityError, "identity"):
        Identity.load(tmp_path)


def test_a_file_may_hold_the_old_and_the_new_certificate(tmp_path: Path) -> None:
    old = make(tmp_path / "a").certificate
    new = Identity.renew(tmp_path / "a", now=NOW).certificate
    both = tmp_path / "both.crt"
    both.write_bytes(b"alice, before and after\n" + old.pem.replace(b"\n", b"\r\n") + new.pem)
    assert read_certificates(both) == (old, new)


def test_files_that_hold_no_certificate_are_refused(tmp_path: Path) -> None:
    good = make(tmp_path / "a").certificate.pem
    path = tmp_path / "b.crt"
    for content in (b"", b"hello", b"\xff\x00", good[:-40], good + good[:-40], good[:200] + good):
        path.write_bytes(content)
        with pytest.raises(IdentityError, match="PEM certificates alone"):
            read_certificates(path)
    path.write_bytes(good.replace(good[100:104], b"AAAA"))
    with pytest.raises(IdentityError):
        read_certificates(path)
    with pytest.raises(IdentityError, match="No such file"):
        read_certificates(tmp_path / "none.crt")
    with pytest.raises(IdentityError, match="Is a directory"):
        read_certificates(tmp_path)


def test_a_key_in_place_of_a_certificate_is_refused(tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(IdentityError, match="a key stays with its owner"):
        read_certificates(tmp_path / PRIVATE_FILE)


def test_validity_has_two_ends_and_each_its_remedy(tmp_path: Path) -> None:
    certificate = make(tmp_path).certificate
    certificate.require_valid(NOW - timedelta(minutes=59), "alice")
    certificate.require_valid(certificate.not_after, "alice")
    with pytest.raises(IdentityError, match=r"of alice: saw 'not valid before .*a clock"):
        certificate.require_valid(NOW - timedelta(hours=2), "alice")
    with pytest.raises(IdentityError, match=r"of alice: saw 'expired on .*colme identity renew"):
        certificate.require_valid(certificate.not_after + timedelta(seconds=1), "alice")


def test_the_fingerprint_is_that_of_openssl(tmp_path: Path) -> None:
    """`openssl x509 -fingerprint -sha256` prints the SHA-256 of the DER in this form."""
    certificate = make(tmp_path).certificate
    digest = hashes.Hash(hashes.SHA256())
    digest.update(certificate.der)
    assert bytes.fromhex(certificate.fingerprint.replace(":", "")) == digest.finalize()
    assert len(certificate.fingerprint.split(":")) == 32
    assert certificate.fingerprint == certificate.fingerprint.upper()


def test_new_show_and_renew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "alice"
    assert run(["identity", "new", "alice", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    first = Identity.load(folder).certificate
    assert first.fingerprint in printed
    assert f"Give {folder / PUBLIC_FILE} to every neighbour" in printed

    for shown in (folder, folder / PUBLIC_FILE):
        assert run(["identity", "show", str(shown)]) == 0
        printed = capsys.readouterr().out
        assert "name         alice" in printed
        assert first.fingerprint in printed
        assert f"{first.not_after:%Y-%m-%d}" in printed
        assert "PRIVATE" not in printed

    assert run(["identity", "renew", str(folder)]) == 0
    printed = capsys.readouterr().out
    second = Identity.load(folder).certificate
    assert second != first
    assert second.fingerprint in printed
    assert "append" in printed
    assert "restart this node" in printed


def test_an_expired_certificate_is_shown_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, days=-1000)
    assert run(["identity", "show", str(tmp_path)]) == 0
    assert "(not now)" in capsys.readouterr().out


def test_the_command_line_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path)
    for arguments in (
        ["new", "bob", "--out", str(tmp_path)],
        ["new", "a/b", "--out", str(tmp_path / "b")],
        ["show", str(tmp_path / "none")],
        ["renew", str(tmp_path / "none")],
    ):
        assert run(["identity", *arguments]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("colme: ")
        assert printed.err.count("\n") == 1


def test_renewal_keeps_the_origin(tmp_path: Path) -> None:
    """Records are named by a hash of the key that signs them: with another they were another's."""
    before = make(tmp_path)
    after = Identity.renew(tmp_path, now=NOW + timedelta(days=100))
    assert after.name == before.name
    assert after.key_pem != before.key_pem
    assert after.certificate.not_after == before.certificate.not_after + timedelta(days=100)
    assert read_certificates(tmp_path / PUBLIC_FILE) == (after.certificate,)
    assert mode(tmp_path / PRIVATE_FILE) == 0o600
    assert after.signing == before.signing
    assert after.certificate.origin == before.certificate.origin
    assert Identity.load(tmp_path) == after


def test_every_identity_has_an_origin_of_its_own(tmp_path: Path) -> None:
    origins = {make(tmp_path / name).certificate.origin for name in "ab"}
    assert len(origins) == 2
    assert None not in origins


def without_its_signing_key(content: bytes) -> bytes:
    return content[: content.rindex(b"-----BEGIN PRIVATE KEY-----")]


def test_an_identity_that_has_lost_its_signing_key_is_refused(tmp_path: Path) -> None:
    """Not taken for one from before: renewed, it would have another origin."""
    make(tmp_path)
    path = tmp_path / PRIVATE_FILE
    path.write_bytes(without_its_signing_key(path.read_bytes()))
    with pytest.raises(IdentityError, match="names another key for records"):
        Identity.load(tmp_path)


def test_what_signs_is_named_by_the_neighbours_certificates(tmp_path: Path) -> None:
    a, b = make(tmp_path / "a"), make(tmp_path / "b")
    signs = a.signs({"b": b.certificate})
    assert signs.origin_of("b") == b.certificate.origin
    assert b.signs({}).verify(signs.key, b"content", signs.sign(b"content"))
    with refused(IdentityError, "identity"):
        Identity(a.key_pem, a.certificate).signs({})
