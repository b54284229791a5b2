"""The session with a neighbour.

What is still said, what a neighbour answers, and what is told of one that can't be opened.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
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
from colme.node.clock import SystemClock
from colme.node.contact import Contact
from colme.node.node import Node
from colme.node.session import link as module
from colme.node.session.grpc_transport import Dialled
from colme.node.session.link import Link
from colme.node.trust.identity import PRIVATE_FILE, PUBLIC_FILE, Identity
from colme.node.trust.tls import Trust, explain
from colme.node.wire import neighbour_pb2 as pb
from colme.node.wire.codec import LARGEST_FRAME, Reason, Refused, reply_of
from colme.protocol.messages import ReleaseMessage
from support.logged import logging
from support.neighbours import Hearer, Neighbours, counted, hearing, welcome
from support.refusing import refused
from support.waiting import quiet, until


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
    return Link(Contact(name="b"), unused, Deaf(), random=Random(1), clock=SystemClock())  # type: ignore[arg-type]


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


async def test_a_certificate_without_a_name_is_told_of(tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(nameless(tmp_path))

    async with listening(hang_up, two.ports["b"], context):
        words = await explain(two.address("b"), "b", two.trust("a", "b"))
    assert "0 common names" in str(words)


@pytest.mark.parametrize("met", [hang_up, say_something])
async def test_a_service_without_tls_is_told_of(met: Any, tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    async with listening(met, two.ports["b"]):
        words = await explain(two.address("b"), "b", two.trust("a", "b"))
    assert str(words).startswith(two.address("b"))


@pytest.mark.parametrize("host", ["south..example", "a" * 300])
async def test_a_host_that_can_never_be_found_is_told_of(host: str, tmp_path: Path) -> None:
    two = Neighbours(tmp_path, "a", "b")
    words = await explain(f"{host}:7400", "b", two.trust("a", "b"))
    assert str(words).startswith(f"{host}:7400 can't be ")


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("no key")])
async def test_an_identity_that_can_not_be_read_any_more_is_told_of(
    damage: Any, tmp_path: Path
) -> None:
    two = Neighbours(tmp_path, "a", "b")
    trust = two.trust("a", "b")
    damage(two.identity("a") / PRIVATE_FILE)
    words = await explain(two.address("b"), "b", trust)
    assert "can't be looked at (identity: saw " in str(words)


def pinning_a_copy(two: Neighbours) -> Trust:
    """What b knows of a, which stays as it is when a renews."""
    pin = two.folder / "a.crt"
    copy(two.identity("a") / PUBLIC_FILE, pin)
    return Trust(Identity.load(two.identity("b")), two.identity("b"), {"a": pin})


async def test_an_identity_renewed_on_disk_is_not_taken_for_a_refusal(tmp_path: Path) -> None:
    """This process still speaks with the old one, which b knows."""
    two = Neighbours(tmp_path, "a", "b")
    known = pinning_a_copy(two)

    before = two.trust("a", "b")
    async with hearing(Hearer(two.config("a", "b")), known, two.address("b")):
        assert await explain(two.address("b"), "b", before) is None
        Identity.renew(two.identity("a"), now=datetime.now(UTC))
        assert await explain(two.address("b"), "b", before) is None
        # A process that has the new one is refused indeed.
        words = await explain(two.address("b"), "b", two.trust("a", "b"))
    assert str(words).startswith("it refuses my certificate")


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


def refusal(detail: str, reason: "pb.Reason" = pb.REASON_OLD_ROUND) -> bytes:
    return pb.Frame(refusal=pb.Refusal(reason=reason, detail=detail)).SerializeToString()


def last_error(node: Node) -> str:
    (other,) = node.status().neighbours
    return other.last_error or ""


def answering(folder: Path, says: Callable[[bytes], Sequence[bytes]], words: str) -> float:
    """Until a node has found out about a neighbour that says so; its commits in a session.

    `says` makes of a good hello what is said.
    """

    async def play() -> float:
        two = Neighbours(folder, "a", "b")
        config = two.config("a", "b")
        hearer = Hearer(config)
        hearer.answer = lambda: says(hearer.usual()[0])
        async with (
            hearing(hearer, two.trust("b", "a"), two.address("b")),
            Node(config) as node,
        ):
            await until(lambda: len(hearer.sessions) >= 2)
            await until(lambda: words in last_error(node))
            return counted(node.metrics, "commit_seconds_count") / len(hearer.sessions)

    return asyncio.run(play())


def test_a_welcome_is_taken_once_for_a_hello(tmp_path: Path) -> None:
    """Each is a commit, and 3,000 of them were 3,000."""
    words = "it sent a welcome for nothing that I said"
    assert answering(tmp_path, lambda hello: [hello, *[welcome()] * 300], words) <= 3


def test_a_refusal_is_taken_once_for_a_message(tmp_path: Path) -> None:
    stale = refusal("old", pb.REASON_STALE_STATE)
    words = "it sent a refusal for nothing that I said"
    says = [welcome(), *[stale] * 300]
    assert answering(tmp_path, lambda hello: [hello, *says], words) <= 3


def test_a_hello_said_again_is_no_commit(tmp_path: Path) -> None:
    words = "it sent a welcome for nothing that I said"
    says = [welcome(), welcome()]
    assert answering(tmp_path, lambda hello: [hello, welcome(), *[hello] * 300, *says], words) <= 3


def test_a_reply_has_the_limit_of_a_frame(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logging(capsys) as log:
        words = f"expected at most {LARGEST_FRAME}"
        answering(tmp_path, lambda hello: [hello, refusal("x" * 900_000)], words)
        assert sum(len(str(line)) for line in log.lines()) < 10_000


def test_a_long_refusal_is_cut_before_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logging(capsys) as log:
        long = refusal("x" * (LARGEST_FRAME - 100))
        answering(tmp_path, lambda hello: [hello, long], "turned away: xxx")
        (line,) = log.lines(event="refused by a neighbour")
        assert line["why"] == "x" * 500 + "..."
        assert all(len(str(line)) < 1000 for line in log.lines())


def test_my_own_refusal_fits_whatever_it_quotes() -> None:
    """Else the neighbour would learn that its reply is too large, and not what it did wrong."""
    error = Refused(Reason.OTHER_CONFIGURATION, "b", "agreed.rule", "\x00" * LARGEST_FRAME, "mine")
    reply = reply_of(error)
    assert len(reply) <= LARGEST_FRAME
    assert pb.Frame.FromString(reply).refusal.detail.startswith("agreed.rule: saw ")


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
