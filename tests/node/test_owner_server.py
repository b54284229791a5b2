"""The owner's server in a node's life: when it confirms, how it starts and how it ends."""

import asyncio
import json
import logging
import signal
from dataclasses import replace

import pytest

from colme.errors import LocalProtocolError, NetworkError
from colme.node import config
from colme.node.log import configure
from colme.node.owner import server as owner
from colme.node.owner.server import OwnerServer
from support.owned import STATUS, TOKEN, KnownNode, served
from support.refusing import refused

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
    handlers: list[logging.Handler] = []
    monkeypatch.setattr(logging.root, "handlers", handlers)

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
