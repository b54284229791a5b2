"""Why a neighbour can't be reached, found out by a handshake of its own: gRPC tells too little."""

import asyncio
import ssl
from datetime import UTC, datetime

from colme.errors import IdentityError
from colme.node.config import split_address
from colme.node.trust.identity import PRIVATE_FILE, Certificate, Identity
from colme.node.trust.tls import Trust

PROBE_SECONDS = 5.0


async def explain(address: str, peer: str, trust: Trust) -> str | None:
    """What is wrong with the connection, in words; None if nothing is."""
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
