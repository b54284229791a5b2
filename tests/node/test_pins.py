"""Pinned certificates: who is let in over TLS, and the files, which only their owner may change."""

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
from colme.errors import IdentityError
from colme.node.trust.identity import (
    PUBLIC_FILE,
    TLS_NAME,
    Certificate,
    Identity,
    read_certificates,
)
from colme.node.trust.tls import Trust
from support.logged import logging
from support.neighbours import Neighbours


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


NOW = datetime.now(UTC)


def make(folder: Path, name: str = "alice", **when: int) -> Identity:
    return Identity.create(name, folder, now=NOW + timedelta(**when))


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
