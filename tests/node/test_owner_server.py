"""The owner's server: durable answers, ends in time, and many clients that keep it waiting."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from logging import Handler, root

import pytest

from colme.errors import LocalProtocolError, NetworkError
from colme.node import config
from colme.node.log import configure
from colme.node.owner import server as owner
from colme.node.owner.server import REQUEST_SECONDS, OwnerServer
from support.logged import Logged, logging
from support.owned import STATUS, TOKEN, Client, KnownNode, served
from support.refusing import refused
from support.waiting import PATIENCE, later, until

ALLOWED = f"Authorization: Bearer {TOKEN}"
UNFINISHED = (
    f"POST /samples HTTP/1.1\r\nHost: localhost\r\n{ALLOWED}\r\n"
    "Content-Length: 99\r\nExpect: 100-continue\r\n\r\n[1"
).encode()


async def test_samples_are_confirmed_only_when_they_are_durable() -> None:
    asked, durable = asyncio.Event(), asyncio.Event()

    async def commit() -> None:
        asked.set()
        await durable.wait()

    async with served(KnownNode(before_taking=commit)) as client:
        heard = asyncio.create_task(client.ask("/samples", "POST", "1"))
        await asked.wait()
        assert (await client.ask("/livez")).code == 200
        assert not heard.done()
        durable.set()
        assert (await heard).code == 200


async def test_many_may_post_at_once() -> None:
    node = KnownNode()
    async with served(node) as client:
        bodies = [json.dumps([n, n + 0.5]) for n in range(40)]
        heard = await asyncio.gather(*(client.ask("/samples", "POST", b) for b in bodies))
    assert {one.code for one in heard} == {200}
    assert sorted(node.taken) == [n / 2 for n in range(80)]


async def test_a_port_in_use_is_an_error_that_says_so() -> None:
    async def starting() -> None:
        async with served(KnownNode()) as client:
            second = OwnerServer(KnownNode(), listen=f"127.0.0.1:{client.port}", token=TOKEN)
            with refused(NetworkError, "owner.listen"):
                await second.start()
            with refused(LocalProtocolError, "owner"):
                second.port  # noqa: B018 (it is the reading that is refused)
            await second.stop()
        await starting_again(client.port)

    async def starting_again(port: int) -> None:
        server = OwnerServer(KnownNode(), listen=f"localhost:{port}", token=TOKEN)
        await server.start()
        assert server.port == port
        await server.stop()
        await server.stop()

    await starting()


def test_signals_and_the_log_of_the_program_are_left_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that never set up logging hears nothing of uvicorn."""
    handlers: list[Handler] = []
    monkeypatch.setattr(root, "handlers", handlers)

    async def serving() -> None:
        before = signals()
        async with served(KnownNode()) as client:
            assert signals() == before
            reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
            writer.write(b"this is not HTTP\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 400")
            writer.close()
            await writer.wait_closed()

    def signals() -> list[object]:
        return [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]

    asyncio.run(serving())
    assert handlers == []
    assert capsys.readouterr().err == ""


async def test_who_does_not_finish_is_cut_off_when_the_node_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owner, "SECONDS_TO_STOP", 0.1)

    node = KnownNode()
    async with served(node) as client:
        silent = await asyncio.open_connection("127.0.0.1", client.port)
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(UNFINISHED)
        assert (await reader.readline()).startswith(b"HTTP/1.1 100")
    assert await silent[0].read() == b""
    await reader.read()
    for one in (silent[1], writer):
        one.close()
        await one.wait_closed()
    assert node.taken == []
    assert len(asyncio.all_tasks()) == 1


async def test_who_does_not_read_is_cut_off_when_the_node_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owner, "SECONDS_TO_STOP", 0.1)
    long = KnownNode(seen=replace(STATUS, privacy="x" * 30_000_000))

    async with served(long) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port, limit=1000)
        writer.write(f"GET /status HTTP/1.1\r\nHost: localhost\r\n{ALLOWED}\r\n\r\n".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert len(await reader.read()) < 30_000_000
    writer.close()
    await writer.wait_closed()


def test_a_client_that_hangs_up_in_the_middle_takes_nothing_in_and_harms_nobody(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def hanging_up() -> None:
        node = KnownNode()
        async with served(node) as client:
            reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
            writer.write(UNFINISHED)
            assert (await reader.readline()).startswith(b"HTTP/1.1 100")
            writer.close()
            await writer.wait_closed()
            assert (await client.ask("/livez")).code == 200
        assert node.taken == []

    configure(config.Log(format="json"), name="here")
    asyncio.run(hanging_up())
    assert capsys.readouterr().err == ""


MOST = 5
HEAD = f"POST /samples HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
HALF_A_HEAD = HEAD[:30].encode()
HALF_A_BODY = f"{HEAD}Content-Length: 99\r\n\r\n[1".encode()
UNREAD_BODY = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def logged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Logged]:
    monkeypatch.setattr(owner, "MOST_CLIENTS", MOST)
    with logging(capsys) as lines:
        yield lines


@asynccontextmanager
async def connected(client: Client, said: bytes = b"") -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
    try:
        writer.write(said)
        yield reader, writer
    finally:
        writer.transport.abort()


async def is_cut_off(reader: asyncio.StreamReader) -> bool:
    """Whether the node hangs up, whatever it said before."""
    try:
        async with asyncio.timeout(PATIENCE):
            await reader.read()
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


@pytest.mark.parametrize("said", [b"", HALF_A_HEAD, HALF_A_BODY], ids=["nothing", "head", "body"])
async def test_silent_ones_make_room_for_who_asks(said: bytes, logged: Logged) -> None:
    node = KnownNode()
    async with served(node) as client, AsyncExitStack() as held:
        first, _ = await held.enter_async_context(connected(client, said))
        for _ in range(4 * MOST):
            await held.enter_async_context(connected(client, said))
        assert (await client.ask("/livez", authorization=None)).code == 200
        assert (await client.ask("/samples", "POST", "1")).code == 200
        assert await is_cut_off(first)
    assert node.taken == [1.0]
    (line,) = logged.lines(event="an owner's connection was cut off")
    assert line["why"] == f"more than {MOST} connections"


@pytest.mark.parametrize("said", [b"", HALF_A_HEAD, HALF_A_BODY, UNREAD_BODY])
async def test_a_whole_request_has_to_come_in_time(said: bytes, logged: Logged) -> None:
    """A byte now and then does not prolong it."""

    async with served(KnownNode()) as client, connected(client, said) as (reader, writer):
        assert (await client.ask("/livez")).code == 200
        await later(0.6 * REQUEST_SECONDS)
        writer.write(b"x" if said else b"")
        await later(0.6 * REQUEST_SECONDS)
        assert await is_cut_off(reader)
    if said != UNREAD_BODY:
        (line,) = logged.lines(event="an owner's connection was cut off")
        assert line["why"] == "no whole request within 10 s"


async def test_a_client_that_does_not_read_is_cut_off(logged: Logged) -> None:
    long = KnownNode(seen=replace(STATUS, privacy="x" * 30_000_000))

    async with (
        served(long) as client,
        connected(client, HEAD.replace("POST /samples", "GET /status").encode() + b"\r\n") as (
            reader,
            _,
        ),
    ):
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        await later(REQUEST_SECONDS)
        assert await is_cut_off(reader)


async def test_requests_that_the_node_works_on_are_finished(logged: Logged) -> None:
    """However long the disk takes, and however many come meanwhile."""
    asked, durable = 0, asyncio.Event()

    async def commit() -> None:
        nonlocal asked
        asked += 1
        await durable.wait()

    async with served(KnownNode(before_taking=commit)) as client:
        posts = [asyncio.create_task(client.ask("/samples", "POST", "1")) for _ in range(MOST)]
        await until(lambda: asked == MOST)
        await later(10 * REQUEST_SECONDS)
        async with connected(client) as (reader, _):
            assert await is_cut_off(reader), "for want of room"
        durable.set()
        assert [(await one).code for one in posts] == [200] * MOST
