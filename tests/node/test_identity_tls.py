"""Identity over real mutual TLS: who is let in is who is pinned, and nobody else."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import grpc.aio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from colme.node.trust.identity import TLS_NAME, Certificate, Identity

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
            root_certificates=pinned(server_trusts),
            require_client_auth=True,
        ),
    )
    await listener.start()
    credentials = grpc.ssl_channel_credentials(
        pinned(client_trusts), client.key_pem, client.certificate.pem
    )
    options = [("grpc.ssl_target_name_override", TLS_NAME)]
    try:
        async with grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials, options) as channel:
            ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/test/who")
            return (await ask(b"", timeout=20)).decode()
    finally:
        await listener.stop(None)


def pinned(trusted: Sequence[Identity]) -> bytes:
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
