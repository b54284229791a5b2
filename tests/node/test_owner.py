"""The owner's side over real sockets: who is let in, what is taken in, and who makes it wait."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from logging import Handler, root
from math import inf

import pytest

from colme.errors import LocalProtocolError, NetworkError, SampleError, StoreError
from colme.node import config
from colme.node.log import configure
from colme.node.owner import server as owner
from colme.node.owner.client import STATUS as READER
from colme.node.owner.server import LARGEST_BODY, REQUEST_SECONDS, OwnerServer
from support.logged import Logged, logging
from support.owned import ANSWER, NO_SAMPLE, STATUS, TOKEN, Client, Heard, KnownNode, served
from support.refusing import refused
from support.waiting import PATIENCE, later, until

SECRET = 0.7310585786300049


def ask(path: str, node: KnownNode | None = None, **how: object) -> Heard:
    async def asking() -> Heard:
        async with served(node or KnownNode()) as client:
            return await client.ask(path, **how)  # type: ignore[arg-type]

    return asyncio.run(asking())


def post(body: object, node: KnownNode, *, kind: str | None = None) -> Heard:
    return ask("/samples", node, method="POST", body=body, kind=kind)


def test_the_estimate_comes_with_its_interval_and_what_it_would_be_alone() -> None:
    heard = ask("/estimate")
    assert heard.code == 200
    assert heard.headers["Cache-Control"] == "no-store"
    assert json.loads(heard.body) == {
        "value": ANSWER.value,
        "low": ANSWER.low,
        "high": ANSWER.high,
        "alone": ANSWER.alone,
        "samples": 41,
        "records": 12,
        "classes": 3,
        "oldest": 61.5,
        "why": None,
    }


def test_an_interval_without_end_is_still_json() -> None:
    heard = ask("/estimate", KnownNode(replace(ANSWER, low=-inf, high=inf)))
    heard_of = json.loads(heard.body)
    assert (heard_of["low"], heard_of["high"]) == (None, None)


def test_without_a_sample_there_is_no_estimate() -> None:
    heard = ask("/estimate", KnownNode(NO_SAMPLE))
    assert heard.code == 409
    assert json.loads(heard.body) == {"error": str(NO_SAMPLE)}


SHAPE = {
    "name": "here",
    "fingerprint": "ab:cd",
    "epoch": 2,
    "algorithm": "paper",
    "round": 7,
    "phase": "size",
    "rounds": "clock",
    "began": 1767225600.5,
    "ended": None,
    "samples": {"taken": 41, "released": 32, "waiting": 9, "clamped": 1, "refused": 0},
    "privacy": "epsilon = 1 for each sample",
    "class_size": 3,
    "trust": 0.875,
    "origin": "ab" * 16,
    "records": None,
    "board": None,
    "barred": [],
    "neighbours": [
        {
            "name": "there",
            "address": "10.0.0.2:7400",
            "connected": True,
            "round": 7,
            "last_error": None,
            "suspect": False,
            "accepted": True,
            "late": 4,
            "vouched_for": 0,
        }
    ],
    "troubles": [],
}
"""What owners' programs read: names, nesting and order."""


def test_status_is_the_nodes_own() -> None:
    heard = ask("/status")
    assert json.dumps(json.loads(heard.body)) == json.dumps(SHAPE)
    assert READER.validate_json(heard.body) == STATUS
    assert heard.headers["Cache-Control"] == "no-store"


def test_metrics_are_prometheus_text() -> None:
    heard = ask("/metrics")
    assert heard.headers["Content-Type"].startswith("text/plain; version=")
    assert b"\ncolme_epsilon 1.0\n" in heard.body


def test_a_supervisor_needs_no_token_and_learns_the_troubles() -> None:
    assert ask("/livez", authorization=None).body == b"ok"
    assert ask("/readyz", authorization=None).body == b"ready"
    troubled = KnownNode(seen=replace(STATUS, troubles=("the disk is full", "no neighbour")))
    heard = ask("/readyz", troubled, authorization=None)
    assert (heard.code, heard.body) == (503, b"the disk is full\nno neighbour")
    assert ask("/livez", troubled, authorization=None).code == 200


@pytest.mark.parametrize("path", ["/estimate", "/samples", "/status", "/metrics", "/nothing"])
@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"]
)
def test_nobody_else_is_let_in(path: str, authorization: str | None) -> None:
    node = KnownNode()
    method = "POST" if path == "/samples" else "GET"
    heard = ask(path, node, method=method, body="[1]", authorization=authorization)
    assert heard.code == 401
    assert heard.headers["WWW-Authenticate"].startswith("Bearer")
    assert "error" in json.loads(heard.body)
    assert node.taken == []


OTHER_HOSTS = ["evil.example", "evil.example:7401", "localhost.evil.example", "evil@localhost", ""]
OTHER_HOSTS += ["127.0.0.1.evil.example", "10.0.0.7:7401", "0.0.0.0:7401", "[::]:7401", "127.1"]
THIS_HOST = ["localhost", "LOCALHOST:7401", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:7401"]


async def test_who_asked_for_another_host_is_not_let_in() -> None:
    """A page whose name was made to lead to this machine asks by that name."""
    node = KnownNode()
    async with served(node) as client:
        for host in OTHER_HOSTS:
            for path in ("/estimate", "/livez", "/readyz"):
                heard = await client.ask(path, host=host)
                assert heard.code == 421, host
                assert json.loads(heard.body)["error"].startswith("Host: expected localhost")
            assert (await client.ask("/samples", "POST", "[1]", host=host)).code == 421
        assert node.taken == []
        for host in THIS_HOST:  # by whatever port: it may be forwarded
            assert (await client.ask("/estimate", host=host)).code == 200
            assert (await client.ask("/livez", host=host, authorization=None)).code == 200


@pytest.mark.parametrize("path", ["/page", "/nothing", "/docs", "/openapi.json", "/status/"])
def test_an_unknown_path_is_404(path: str) -> None:
    heard = ask(path)
    assert (heard.code, list(json.loads(heard.body))) == (404, ["error"])


def test_a_wrong_method_is_405_and_no_page_of_another_site_may_ask() -> None:
    heard = ask("/samples")
    assert (heard.code, heard.headers["Allow"]) == (405, "POST")
    heard = ask("/estimate", method="OPTIONS")
    assert (heard.code, list(json.loads(heard.body))) == (405, ["error"])
    assert not any(name.lower().startswith("access-control") for name in heard.headers)


@pytest.mark.parametrize(
    ("body", "kind", "samples"),
    [
        ("0.5", None, [0.5]),
        ("3", "application/json", [3.0]),
        ("[1, -2.5, 1e3]", "application/json; charset=utf-8", [1.0, -2.5, 1000.0]),
        ('{"samples": [1, 2]}', None, [1.0, 2.0]),
        ("1\n2.5\r\n-3\n", "text/plain", [1.0, 2.5, -3.0]),
        ("4", "Text/Plain; charset=utf-8", [4.0]),
    ],
)
def test_samples_arrive_as_json_or_as_lines(
    body: str, kind: str | None, samples: list[float]
) -> None:
    node = KnownNode()
    heard = post(body, node, kind=kind)
    assert (heard.code, json.loads(heard.body)) == (200, {"taken": len(samples)})
    assert node.taken == samples


BAD_BODIES = {
    "nothing": ("", None, "body"),
    "garbage": ("{[", None, "body"),
    "not utf-8": (b"\xff\xfe1", None, "body"),
    "a word": ('"1"', None, "body"),
    "null": ("null", None, "body"),
    "another object": ('{"values": [1]}', None, "body"),
    "more than samples": ('{"samples": [1], "to": 2}', None, "body"),
    "one sample, not in a list": ('{"samples": 1}', None, "body"),
    "deep": ("[" * 200_000, None, "body"),
    "deep and closed": ("[" * 200_000 + "]" * 200_000, None, "body"),
    "a number of 5,000 digits": ("9" * 5000, None, "samples[0]"),
    "no samples": ("[]", None, "samples:"),
    "nan": (f"[{SECRET}, NaN]", None, "samples[1]"),
    "infinity": (f"[{SECRET}, 1, -Infinity]", None, "samples[2]"),
    "overflow": (f"[{SECRET}, 1e999]", None, "samples[1]"),
    "whole overflow": (f"[{SECRET}, {10**400}]", None, "samples[1]"),
    "nested": (f"[{SECRET}, [{SECRET}]]", None, "samples[1]"),
    "a boolean": (f"[{SECRET}, true]", None, "samples[1]"),
    "only a boolean": ("true", None, "samples[0]"),
    "a string": (f'["{SECRET}"]', None, "samples[0]"),
    "a null": (f"[{SECRET}, null]", None, "samples[1]"),
    "no lines": ("\n\n", "text/plain", "samples:"),
    "a word among lines": (f"{SECRET}\n{SECRET}!\n1", "text/plain", "samples[1]"),
    "an empty line among lines": (f"{SECRET}\n\n1", "text/plain", "samples[1]"),
    "a nan among lines": (f"{SECRET}\nnan", "text/plain", "samples[1]"),
    "a number as in Python": (f"{SECRET}\n1_0", "text/plain", "samples[1]"),
    "lines that are not utf-8": (b"1\n\xff", "text/plain", "body"),
}


@pytest.mark.parametrize(("body", "kind", "place"), BAD_BODIES.values(), ids=list(BAD_BODIES))
def test_one_bad_value_refuses_all_and_is_named_but_not_quoted(
    body: str | bytes, kind: str | None, place: str
) -> None:
    node = KnownNode()
    heard = post(body, node, kind=kind)
    assert heard.code == 422
    assert json.loads(heard.body)["error"].startswith(place)
    assert str(SECRET).encode() not in heard.body
    assert node.taken == []
    assert node.metrics.samples_refused == 1


def in_parts(body: bytes) -> Iterator[bytes]:
    """Sent without saying how much there will be."""
    for start in range(0, len(body), 100_000):
        yield body[start : start + 100_000]


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_too_large_is_refused_and_one_just_small_enough_is_not(announced: bool) -> None:
    node = KnownNode()
    fits = b"[1" + b" " * (LARGEST_BODY - 3) + b"]"
    assert post(fits if announced else in_parts(fits), node).code == 200
    large = fits + b" "
    assert post(large if announced else in_parts(large), node).code == 413
    assert post(large * 4 if announced else in_parts(large * 4), node).code == 413
    assert node.taken == [1.0]
    assert b'samples_refused_total{reason="oversized"} 2.0' in node.metrics.text()


def raising(error: Exception) -> KnownNode:
    async def fail() -> None:
        raise error

    return KnownNode(error, before_taking=fail)


def test_what_the_node_refuses_is_told_by_the_code() -> None:
    full = raising(StoreError("state", "disk full", "a disk with room"))
    assert post("1", full).code == 503
    assert "a disk with room" in json.loads(post("1", full).body)["error"]
    assert post("1", raising(LocalProtocolError("source", "stdin", "http"))).code == 409
    heard = post("1", raising(SampleError("sample", SECRET, "a finite number")))
    assert heard.code == 422
    assert str(SECRET).encode() not in heard.body


def test_a_fault_of_the_node_is_logged_without_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    configure(config.Log(format="json"), name="here")
    node = raising(ZeroDivisionError(f"{SECRET}"))
    assert post("1", node).code == 500
    assert list(json.loads(ask("/estimate", node).body)) == ["error"]
    printed = capsys.readouterr().err
    line = json.loads(printed.splitlines()[0])
    assert (line["kind"], line["path"]) == ("ZeroDivisionError", "/samples")
    assert "in fail" in line["trace"]
    assert str(SECRET) not in printed


async def test_what_was_posted_shows_in_nothing_but_the_estimate() -> None:
    node = KnownNode()
    async with served(node) as client:
        await client.ask("/samples", "POST", f"[{SECRET}]")
        await client.ask("/samples", "POST", f"[{SECRET}, NaN]")
        await client.ask("/estimate")
        shown = [
            (await client.ask(path)).body for path in ("/metrics", "/status", "/livez", "/readyz")
        ]
    assert node.taken == [SECRET]
    for number in (SECRET, ANSWER.value, ANSWER.alone, ANSWER.low, ANSWER.high):
        assert not any(str(number)[:8].encode() in body for body in shown)


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
