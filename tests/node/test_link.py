"""My side of a session: what is still said, and what is told of one that can't be opened."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from shutil import copy
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from colme.errors import IdentityError
from colme.node.contact import Contact
from colme.node.session import link as module
from colme.node.session.grpc_transport import Dialled
from colme.node.session.link import Link
from colme.node.trust.identity import PRIVATE_FILE, PUBLIC_FILE, Identity
from colme.node.trust.tls import Trust, explain
from colme.node.wire import neighbour_pb2 as pb
from colme.protocol.messages import ReleaseMessage
from support.neighbours import Hearer, Neighbours, free_ports, hearing
from support.refusing import refused
from support.waiting import PATIENCE, quiet, until


@dataclass
class Slow:
    """A session on which every write waits to be let through."""

    peer: str = "b"
    begun: list[int] = field(default_factory=list)
    """The rounds of the frames whose write has begun."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, data: bytes) -> None:
        self.begun.append(pb.Frame.FromString(data).release.round)
        await self.gate.wait()


class Deaf:
    """Hears nothing of what a link tells."""

    def sent(self, peer: str) -> None:
        pass

    def parted(self, peer: str, why: str) -> None:
        pass


@asynccontextmanager
async def speaking(link: Link, session: Slow, *, round_: int = 0) -> AsyncIterator[None]:
    """The link speaks to a neighbour that is in this round."""
    link._outbox.open(pb.Welcome(standing=pb.Standing(epoch=1, round=round_)))
    here: Any = asyncio.current_task()
    talk: Any = module._Talk(session, True, asyncio.Lock(), here)  # type: ignore[arg-type]
    task = asyncio.create_task(link._speak(talk))
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def made_link() -> Link:
    unused: Any = None
    return Link(Contact(name="b"), unused, Deaf(), random=Random(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("answered", [True, False], ids=["hung up on", "not answered"])
async def test_an_attempt_that_was_not_answered_has_waited_already(
    monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    """So a neighbour that fell silent is met again as soon as one that hung up."""
    loop = asyncio.get_running_loop()
    passed, began = 0.0, list[float]()

    async def attempt() -> bool:
        nonlocal passed
        began.append(passed)
        passed += 0 if answered else module.ANSWER_SECONDS
        return False

    async def nap(seconds: float) -> None:
        nonlocal passed
        passed += seconds
        if len(began) == 20:
            raise asyncio.CancelledError

    link = made_link()
    monkeypatch.setattr(link, "_call", attempt)
    with monkeypatch.context() as slow:
        slow.setattr(loop, "time", lambda: passed)
        slow.setattr(asyncio, "sleep", nap)
        with pytest.raises(asyncio.CancelledError):
            await link.run()
    apart = [b - a for a, b in pairwise(began)][10:]
    assert max(apart) <= module.LONGEST_PAUSE + module.FIRST_PAUSE
    assert min(apart) >= module.LONGEST_PAUSE / 2, "nobody is called in a hurry for long"


def post(link: Link, *rounds: int) -> None:
    for number in rounds:
        link.post(ReleaseMessage(round=number, release=None))


async def test_what_is_dropped_while_a_frame_is_written_is_not_sent() -> None:
    link, call = made_link(), Slow()
    post(link, 1, 1, 2)
    async with speaking(link, call):
        await until(lambda: call.begun)
        link.drop()
        call.gate.set()
        await quiet()
        assert call.begun == [1]
        post(link, 3)
        await until(lambda: call.begun == [1, 3])


async def test_frames_of_rounds_before_the_neighbours_own_are_not_sent() -> None:
    link, call = made_link(), Slow()
    call.gate.set()
    post(link, 4, 5)
    async with speaking(link, call, round_=5):
        await until(lambda: call.begun)
        post(link, 4, 6)
        await until(lambda: 6 in call.begun)
        assert call.begun == [5, 6]


def nameless(folder: Path) -> Path:
    """A key and a certificate without a common name."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "nobody")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = folder / "nameless.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@asynccontextmanager
async def listening(
    met: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any],
    port: int,
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    server = await asyncio.start_server(met, "127.0.0.1", port, ssl=context)
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()


async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def say_something(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 welcome to another service\r\n")
    writer.close()


def explained(address: str, trust: Trust) -> str | None:
    async def ask() -> str | None:
        async with asyncio.timeout(PATIENCE):
            return await explain(address, "b", trust)

    return asyncio.run(ask())


def test_a_certificate_without_a_name_is_told_of(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(nameless(tmp_path))

    async def check() -> str | None:
        async with listening(hang_up, two.ports["b"], context):
            return await explain(two.address("b"), "b", two.trust("a", "b"))

    words = asyncio.run(check())
    assert words is not None
    assert "0 common names" in words


@pytest.mark.parametrize("met", [hang_up, say_something])
def test_a_service_without_tls_is_told_of(met: Any, tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")

    async def check() -> str | None:
        async with listening(met, two.ports["b"]):
            return await explain(two.address("b"), "b", two.trust("a", "b"))

    words = asyncio.run(check())
    assert words is not None
    assert words.startswith(two.address("b"))


@pytest.mark.parametrize("host", ["south..example", "a" * 300])
def test_a_host_that_can_never_be_found_is_told_of(host: str, tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    words = explained(f"{host}:7400", two.trust("a", "b"))
    assert words is not None
    assert words.startswith(f"{host}:7400 can't be ")


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("no key")])
def test_an_identity_that_can_not_be_read_any_more_is_told_of(damage: Any, tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    trust = two.trust("a", "b")
    damage(two.identity("a") / PRIVATE_FILE)
    words = explained(f"127.0.0.1:{free_ports(1)[0]}", trust)
    assert words is not None
    assert "can't be looked at (identity: saw " in words


def pinning_a_copy(two: Neighbours) -> Trust:
    """What b knows of a, which stays as it is when a renews."""
    pin = two.folder / "a.crt"
    copy(two.identity("a") / PUBLIC_FILE, pin)
    return Trust(Identity.load(two.identity("b")), two.identity("b"), {"a": pin})


def test_an_identity_renewed_on_disk_is_not_taken_for_a_refusal(tmp_path: Path) -> None:
    """This process still speaks with the old one, which b knows."""
    two = Neighbours(tmp_path, "a", "b")
    known = pinning_a_copy(two)

    async def ask(trust: Trust) -> str | None:
        async with hearing(Hearer(two.config("a", "b")), known, two.address("b")):
            return await explain(two.address("b"), "b", trust)

    before = two.trust("a", "b")
    assert asyncio.run(ask(before)) is None
    Identity.renew(two.identity("a"), now=datetime.now(UTC))
    assert asyncio.run(ask(before)) is None
    # A process that has the new one is refused indeed.
    words = asyncio.run(ask(two.trust("a", "b")))
    assert words is not None
    assert words.startswith("it refuses my certificate")


def test_a_certificate_is_one_nodes_alone(tmp_path: Path) -> None:
    three = Neighbours(tmp_path, "a", "b", "c")
    identity = Identity.load(three.identity("a"))
    a, b, c = (three.identity(name) / PUBLIC_FILE for name in "abc")

    def trust(**pins: Path) -> Trust:
        return Trust(identity, three.identity("a"), pins)

    trust(b=b, c=c)
    for pins, owner in (({"b": b, "c": b}, " of b'"), ({"b": b, "c": a}, " of this node itself'")):
        with refused(IdentityError, "certificate of c") as caught:
            trust(**pins)
        assert owner in str(caught.value)
    # Also where it is one of several.
    c.write_bytes(c.read_bytes() + b.read_bytes())
    with refused(IdentityError, "certificate of c"):
        trust(b=b, c=c)
    b.write_bytes(b.read_bytes() * 2)
    trust(b=b)


def test_a_server_gets_a_new_configuration_only_where_a_pin_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    fetchers: list[Callable[[], object]] = []

    def catch(_first: object, fetch: Callable[[], object], **_: object) -> None:
        fetchers.append(fetch)

    monkeypatch.setattr(grpc, "dynamic_ssl_server_credentials", catch)
    met: list[None] = []
    two.trust("b", "a").server_credentials(lambda: met.append(None))
    (fetch,) = fetchers
    pin = two.identity("a") / PUBLIC_FILE
    assert [fetch(), fetch()] == [None, None]
    Identity.renew(two.identity("a"), now=datetime.now(UTC))
    assert isinstance(fetch(), grpc.ServerCertificateConfiguration)
    assert fetch() is None
    pin.unlink()
    assert fetch() is None, "as last read"
    assert len(met) == 5


class Endless:
    """A call that never ends, and a channel."""

    async def done_writing(self) -> None:
        await asyncio.Event().wait()

    def cancel(self) -> None: ...

    async def close(self) -> None: ...


async def test_whoever_is_cancelled_while_it_closes_a_session_stays_cancelled() -> None:
    """gRPC cancels those who use a call that is over: that is another thing."""
    unused: Any = Endless()
    session = Dialled("b", unused, unused, unused)
    task = asyncio.create_task(session.close("over"))
    await quiet()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
