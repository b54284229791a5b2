"""Identity: a key that stays with its owner, a certificate to hand out, and who is let in by it."""

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copyfile

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from colme.cli.app import run
from colme.errors import ConfigError, IdentityError
from colme.node.trust.identity import (
    PRIVATE_FILE,
    PUBLIC_FILE,
    TLS_NAME,
    Certificate,
    Identity,
    read_certificates,
)
from colme.node.trust.tls import Trust
from support.logged import logging
from support.neighbours import Neighbours
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


def pinned(two: Neighbours) -> Path:
    """A copy of b's certificate, in a folder of its own."""
    folder = two.folder / "pinned"
    folder.mkdir(mode=0o755)
    copyfile(two.identity("b") / PUBLIC_FILE, folder / "b.crt")
    return folder / "b.crt"


def trusting(two: Neighbours, **pins: Path) -> Trust:
    return Trust(Identity.load(two.identity("a")), two.identity("a"), pins)


HARM: dict[str, tuple[Callable[[Path], None], str]] = {
    "all": (lambda pin: pin.chmod(0o646), "mode 646, others may write to it.*chmod go-w {0}"),
    "group": (lambda pin: pin.chmod(0o664), "mode 664, others may write to it.*chmod go-w {0}"),
    "folder": (lambda pin: pin.parent.chmod(0o777), "others may replace it.*chmod go-w {1}"),
}


@pytest.mark.parametrize(("harm", "words"), HARM.values(), ids=list(HARM))
def test_one_that_others_could_change_is_refused_at_the_start(
    harm: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    pin = pinned(two)
    trusting(two, b=pin)
    harm(pin)
    with pytest.raises(IdentityError, match=words.format(pin, pin.parent)):
        trusting(two, b=pin)
    assert run(["identity", "show", str(pin)]) == 0, "to look at it is no harm"


def test_one_of_somebody_else_is_refused_unless_it_is_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    pin, identity = pinned(two), Identity.load(two.identity("a"))
    owner = pin.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    monkeypatch.setattr("colme.node.files.ROOT", owner)
    Trust(identity, two.identity("a"), {"b": pin})
    monkeypatch.setattr("colme.node.files.ROOT", owner + 2)
    with pytest.raises(IdentityError, match=f"{pin}: it belongs to user {owner}"):
        Trust(identity, two.identity("a"), {"b": pin})


@pytest.mark.parametrize(("harm", "words"), HARM.values(), ids=list(HARM))
def test_while_the_node_runs_such_a_file_is_not_believed(
    harm: Callable[[Path], None], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    pin = pinned(two)
    trust = trusting(two, b=pin)
    before = trust.certificates("b")
    pin.write_bytes(Identity.renew(two.identity("b"), now=datetime.now(UTC)).certificate.pem)
    harm(pin)
    with logging(capsys) as log:
        assert trust.certificates("b") == before
        (line,) = log.lines(event="pinned certificate can't be read", peer="b")
        assert words.partition(",")[0] in line["why"] or "others may replace it" in line["why"]


def test_a_change_is_told_with_both_fingerprints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    pin = pinned(two)
    trust = trusting(two, b=pin)
    (old,) = read_certificates(pin)
    with logging(capsys) as log:
        assert trust.certificates("b") == (old,)
        assert log.lines(event="pinned certificate changed") == []
        new = Identity.renew(two.identity("b"), now=datetime.now(UTC)).certificate
        for now in ((old, new), (new,)):
            pin.write_bytes(b"".join(one.pem for one in now))
            assert trust.certificates("b") == now
            assert trust.certificates("b") == now
        first, second = log.lines(event="pinned certificate changed", peer="b", level="warning")
    assert first["why"] == f"was {old.fingerprint}, is {old.fingerprint} and {new.fingerprint}"
    assert second["why"] == f"was {old.fingerprint} and {new.fingerprint}, is {new.fingerprint}"


def test_while_the_node_runs_a_certificate_stays_one_nodes_alone(tmp_path: Path) -> None:
    """Else whoever may change one neighbour's file could speak for another, or for this node."""
    three = Neighbours(tmp_path, "a", "b", "c")
    pin = pinned(three)
    trust = trusting(three, b=pin, c=three.identity("c") / PUBLIC_FILE)
    before = trust.certificates("b")
    for other in ("a", "c"):
        (stolen,) = read_certificates(three.identity(other) / PUBLIC_FILE)
        pin.write_bytes(stolen.pem)
        assert trust.certificates("b") == before
    assert trust.name_of(Certificate(stolen.pem).pem) == "c"


async def call(
    server: Identity,
    client: Identity,
    *,
    server_trusts: Sequence[Identity],
    client_trusts: Sequence[Identity],
) -> str:
    """The name under which the server knows who calls."""

    async def who(_request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        (pem,) = context.auth_context()["x509_pem_cert"]
        return Certificate(pem).name.encode()

    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        "who": grpc.unary_unary_rpc_method_handler(who)
    }
    listener = grpc.aio.server()
    listener.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test", handlers)])
    port = listener.add_secure_port(
        "127.0.0.1:0",
        grpc.ssl_server_credentials(
            [(server.key_pem, server.certificate.pem)],
            root_certificates=roots(server_trusts),
            require_client_auth=True,
        ),
    )
    await listener.start()
    credentials = grpc.ssl_channel_credentials(
        roots(client_trusts), client.key_pem, client.certificate.pem
    )
    options = [("grpc.ssl_target_name_override", TLS_NAME)]
    try:
        async with grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials, options) as channel:
            ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/test/who")
            return (await ask(b"", timeout=20)).decode()
    finally:
        await listener.stop(None)


def roots(trusted: Sequence[Identity]) -> bytes:
    return b"".join(identity.certificate.pem for identity in trusted)


def meets(
    server: Identity,
    client: Identity,
    *,
    server_trusts: Sequence[Identity],
    client_trusts: Sequence[Identity],
) -> bool:
    try:
        name = asyncio.run(
            call(server, client, server_trusts=server_trusts, client_trusts=client_trusts)
        )
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return False
    assert name == client.name
    return True


def test_who_pinned_each_other_meet(tmp_path: Path) -> None:
    alice, bob = make(tmp_path / "a"), make(tmp_path / "b", "bob")
    assert meets(alice, bob, server_trusts=[bob], client_trusts=[alice])


def test_another_certificate_is_refused_on_both_sides_even_under_the_same_name(
    tmp_path: Path,
) -> None:
    alice, bob = make(tmp_path / "a"), make(tmp_path / "b", "bob")
    false_alice, false_bob = make(tmp_path / "fa"), make(tmp_path / "fb", "bob")
    assert not meets(alice, false_bob, server_trusts=[bob], client_trusts=[alice])
    assert not meets(false_alice, bob, server_trusts=[bob], client_trusts=[alice])


def test_outside_its_time_a_pinned_certificate_is_refused_on_both_sides(tmp_path: Path) -> None:
    alice = make(tmp_path / "a")
    expired = make(tmp_path / "e", "expired", days=-1000)
    early = make(tmp_path / "n", "early", days=1)
    for other in (expired, early):
        assert not meets(alice, other, server_trusts=[other], client_trusts=[alice])
        assert not meets(other, alice, server_trusts=[alice], client_trusts=[other])


def test_during_renewal_both_certificates_are_good(tmp_path: Path) -> None:
    alice, old = make(tmp_path / "a"), make(tmp_path / "b", "bob")
    new = Identity.renew(tmp_path / "b", now=NOW)
    for both in ([old, new], [new, old]):
        for bob in both:
            assert meets(alice, bob, server_trusts=both, client_trusts=[alice])
            assert meets(bob, alice, server_trusts=[alice], client_trusts=both)


def issued_by(issuer: Identity, name: str) -> Identity:
    """What a neighbour would make to let in somebody that nobody pinned."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer_key = serialization.load_pem_private_key(issuer.key_pem, None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer.name)]))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(TLS_NAME)]), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    key_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return Identity(key_pem, Certificate(pem))


def test_a_neighbour_can_vouch_for_nobody_else(tmp_path: Path) -> None:
    alice, bob = make(tmp_path / "a"), make(tmp_path / "b", "bob")
    carol = issued_by(bob, "carol")
    assert not meets(alice, carol, server_trusts=[bob], client_trusts=[alice])
    assert not meets(carol, alice, server_trusts=[alice], client_trusts=[bob])
