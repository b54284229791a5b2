"""Many connections to the owner's side, and clients that keep it waiting: it answers others."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from colme.node.owner import server as owner
from colme.node.owner.server import REQUEST_SECONDS
from support.logged import Logged, logging
from support.owned import STATUS, TOKEN, Client, KnownNode, served
from support.waiting import PATIENCE, later, until

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
