"""Trust is pinning: whose certificate is whose, on both sides of a connection."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import grpc

from colme.errors import IdentityError
from colme.node.config import NodeConfig, split_address
from colme.node.files import bearable
from colme.node.log import logger
from colme.node.trust.identity import PRIVATE_FILE, TLS_NAME, Certificate, Identity, read_pins
from colme.protocol.settings import Settings

KEEPALIVE_MS = 12_000
"""Idle connections are pinged this often: routers forget silent ones after a minute or more. A ping
that is not answered within half of it ends the connection, so a cut cable shows within 18 s."""
HANDSHAKE_MS = 10_000
"""A stranger that is silent is hung up on after this."""
MOST_CONNECTIONS = 1000
"""At a time; gRPC hangs up on more before it shakes hands with them."""
IDLE_MS = 60_000
"""A connection without a session is of no use to a neighbour."""
LARGEST_PACKET = 1024 * 1024
"""Bytes that gRPC takes in at all; what lies between this and a frame's limit is counted."""

Options = list[tuple[str, int | str]]


class Trust:
    """My identity and the certificates pinned for my neighbours, read anew at every handshake.

    So a neighbour's renewed certificate needs no restart: append it to the file of the old one.
    """

    def __init__(self, identity: Identity, folder: Path, pins: Mapping[str, Path]) -> None:
        self.identity = identity
        self.folder = folder
        self._pins = pins
        self._known = {peer: read_pins(path) for peer, path in pins.items()}
        self._require_distinct(self._known)
        self._log = logger(node=identity.name)

    def _require_distinct(self, known: Mapping[str, tuple[Certificate, ...]]) -> None:
        """A certificate is one node's: no two neighbours have the same, nor one of them mine."""
        owners = {self.identity.certificate.der: "this node itself"}
        for peer, certificates in known.items():
            for one in certificates:
                if owners.setdefault(one.der, peer) != peer:
                    seen = f"the certificate {one.fingerprint} of {owners[one.der]}"
                    raise IdentityError(f"certificate of {peer}", seen, "one of its own")

    def certificates(self, peer: str) -> tuple[Certificate, ...]:
        """Those pinned for a neighbour; where its file can't be read or trusted now, as before."""
        before = self._known[peer]
        try:
            now = read_pins(self._pins[peer])
            if now != before:
                self._require_distinct(self._known | {peer: now})
        except IdentityError as error:
            self._log.warning("pinned certificate can't be read", peer=peer, why=str(error))
            return before
        if now != before:
            change = f"was {_fingerprints(before)}, is {_fingerprints(now)}"
            self._log.warning("pinned certificate changed", peer=peer, why=change)
            self._known[peer] = now
        return now

    def name_of(self, pem: bytes) -> str | None:
        """The neighbour with this certificate."""
        der = Certificate(pem).der
        for peer, certificates in self._known.items():
            if any(one.der == der for one in certificates):
                return peer
        return None

    def channel_credentials(self, peer: str) -> grpc.ChannelCredentials:
        """For a call to a neighbour: nobody else may answer."""
        return grpc.ssl_channel_credentials(
            _together(_in_time(self.certificates(peer), peer)),
            self.identity.key_pem,
            self.identity.certificate.pem,
        )

    def server_credentials(self, met: Callable[[], object]) -> grpc.ServerCredentials:
        """For calls from neighbours; `met` is called, in a thread of gRPC's, at every handshake."""

        served = self._pinned()

        def renewed() -> grpc.ServerCertificateConfiguration | None:
            nonlocal served
            met()
            before, served = served, self._pinned()
            # A new one at every handshake crashes gRPC when many of them end together.
            return None if served == before else self._configuration(served)

        return grpc.dynamic_ssl_server_credentials(
            self._configuration(served),
            renewed,  # type: ignore[arg-type]  # None says: as before
            require_client_authentication=True,
        )

    def _pinned(self) -> list[Certificate]:
        return [one for peer in self._pins for one in self.certificates(peer)]

    def _configuration(self, pinned: list[Certificate]) -> grpc.ServerCertificateConfiguration:
        # Without any neighbour only I myself could get in, which is harmless, and gRPC wants one.
        return grpc.ssl_server_certificate_configuration(
            [(self.identity.key_pem, self.identity.certificate.pem)],
            _together(pinned or [self.identity.certificate]),
        )


def signing_settings(config: NodeConfig, trust: Trust) -> Settings:
    """An agent's settings, with the keys that its records and its neighbours' are signed with."""
    identity = trust.identity
    if config.agreed.in_rounds:
        return config.settings(identity.name)
    newest = {one.name: trust.certificates(one.name)[-1] for one in config.neighbours}
    return config.settings(identity.name, identity.signs(newest))


def _in_time(certificates: tuple[Certificate, ...], peer: str) -> list[Certificate]:
    """Those that are valid now; of none, the error that says why."""
    now = datetime.now(UTC)
    valid = [one for one in certificates if one.is_valid(now)]
    if not valid:
        certificates[-1].require_valid(now, peer)
    return valid


def _fingerprints(certificates: tuple[Certificate, ...]) -> str:
    return " and ".join(one.fingerprint for one in certificates)


def _together(certificates: list[Certificate]) -> bytes:
    return b"\n".join(one.pem for one in certificates)


_KEPT_ALIVE: Options = [
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_MS // 2),
    # Without it gRPC waits a minute for the answer to a ping, whatever the line above says.
    ("grpc.http2.ping_timeout_ms", KEEPALIVE_MS // 2),
    ("grpc.keepalive_permit_without_calls", 1),
]
"""Silence is noticed at both ends."""


def channel_options() -> Options:
    """For calls to neighbours."""
    return [
        ("grpc.ssl_target_name_override", TLS_NAME),
        *_KEPT_ALIVE,
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.max_receive_message_length", LARGEST_PACKET),
        ("grpc.enable_retries", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]


def server_options() -> Options:
    """For calls from neighbours."""
    return [
        ("grpc.so_reuseport", 0),  # Two nodes on one port would each get half of the calls.
        *_KEPT_ALIVE,
        ("grpc.http2.min_ping_interval_without_data_ms", KEEPALIVE_MS // 2),
        ("grpc.max_receive_message_length", LARGEST_PACKET),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
        ("grpc.max_allowed_incoming_connections", bearable(MOST_CONNECTIONS)),
        ("grpc.max_connection_idle_ms", IDLE_MS),
        ("grpc.max_concurrent_streams", 4),
        ("grpc.max_metadata_size", 8 * 1024),
    ]


PROBE_SECONDS = 5.0


async def explain(address: str, peer: str, trust: Trust) -> str | None:
    """Return why a neighbour can't be reached, in words; None if nothing is wrong.

    A handshake of its own finds out: gRPC tells too little.
    """
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await _handshake(address, peer, trust)
    except TimeoutError:
        return f"no answer from {address} within {PROBE_SECONDS:g} s"
    except (OSError, ValueError, IdentityError) as error:
        return f"{address} can't be looked at ({error})"


async def _handshake(address: str, peer: str, trust: Trust) -> str | None:
    host, port = split_address(address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # Whoever answers is looked at, not trusted: nothing is said to it.
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    renewed = Identity.load(trust.folder) != trust.identity
    if not renewed:
        context.load_cert_chain(trust.folder / PRIVATE_FILE)
    try:
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLError as error:
        return f"{address} does not speak TLS as a node does ({error.reason})"
    except OSError as error:
        return f"{address} can't be reached ({error.strerror or error})"
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        judgement = _judge(shown, peer, trust)
        return judgement if judgement or renewed else await _refused(reader)
    finally:
        writer.transport.abort()


def _judge(shown: bytes, peer: str, trust: Trust) -> str | None:
    seen = Certificate(ssl.DER_cert_to_PEM_cert(shown).encode())
    pinned = trust.certificates(peer)
    if seen.der not in [one.der for one in pinned]:
        expected = " or ".join(one.fingerprint for one in pinned)
        return f"wrong certificate: saw {seen.fingerprint}, expected {expected}"
    if not seen.is_valid(datetime.now(UTC)):
        return f"its certificate is valid from {seen.not_before} to {seen.not_after} only"
    return None


async def _refused(reader: asyncio.StreamReader) -> str | None:
    """A server that does not know my certificate says so after the handshake, or hangs up."""
    try:
        if await reader.read(1):  # HTTP/2 begins with the server's settings.
            return None
    except OSError:
        pass
    return "it refuses my certificate: it has pinned another one for me, or mine has expired"
