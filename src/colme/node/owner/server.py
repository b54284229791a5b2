"""The owner's side of a node: HTTP on loopback, behind a token."""

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from math import isfinite
from traceback import format_tb
from typing import Any, Protocol

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from colme.errors import LocalProtocolError, NetworkError, SampleError, StoreError
from colme.node.config import split_address
from colme.node.files import bearable
from colme.node.log import logger
from colme.node.metrics import Metrics
from colme.node.owner.gate import Gate, LocalOnly, Sessions, refusal
from colme.node.owner.page import OwnerPage, body_of
from colme.node.owner.status import Answer, Status
from colme.node.state import RequestId
from colme.node.wire.codec import Reason


def json_of(body: bytes) -> list[object]:
    """Return the samples in a body of JSON: a number, a list or an object with `samples`.

    All are numbers, or none is taken.
    """
    try:
        # As floats: a whole number that is too large for one is infinite, and refused by its place.
        content = json.loads(body.decode(), parse_int=float)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and content.keys() == {"samples"}:
        content = content["samples"]
    elif isinstance(content, int | float):
        content = [content]
    if not isinstance(content, list):
        expected = 'a number, a list of numbers or {"samples": [numbers]} in JSON'
        raise SampleError("body", "something else", expected)
    return content


def lines_of(body: bytes) -> list[object]:
    """Return the samples in a body of text, a value a line."""
    try:
        text = body.decode().rstrip()
    except UnicodeDecodeError:
        raise SampleError("body", "something else", "text, one number a line") from None
    return [_as_number(line) for line in text.split("\n")] if text else []


def _as_number(line: str) -> object:
    try:
        return float(line.replace("_", "x"))  # Python's 1_000 is nobody else's number
    except ValueError:
        return line


def numbers(values: list[object]) -> list[float]:
    """All of them, or a SampleError that names the first bad one and never quotes it."""
    if not values:
        raise SampleError("samples", "none", "one number or more")
    samples = []
    for place, value in enumerate(values):
        if not (isinstance(value, float) and isfinite(value)):
            raise SampleError(f"samples[{place}]", type(value).__name__, "a finite number")
        samples.append(value)
    return samples


KEY = "Idempotency-Key"
LONGEST_KEY = 200


def request_of(key: str | None, body: bytes) -> RequestId | None:
    """What tells a request from others, its retry excepted; None without a key."""
    if key is None:
        return None
    if not 1 <= len(key) <= LONGEST_KEY:
        raise SampleError(KEY, f"{len(key)} characters", f"1 to {LONGEST_KEY} characters")
    return RequestId(key, sha256(body).digest())


REQUEST_SECONDS = 10.0
"""In which a client has to send a whole request, and to take in the answer."""


class BoundedConnection(H11Protocol):
    """A connection to the owner's side, one of `most`; none keeps the node waiting.

    Where one more comes, that ends whose client has been awaited longest.

    So whoever asks at once is answered, however many others hold a connection and are silent.
    `cut` is told why a connection was ended from here.
    """

    def __init__(self, *, most: int, cut: Callable[[str], None], **rest: Any) -> None:
        super().__init__(**rest)
        self._most = most
        self._cut = cut
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            self._make_room()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request, a whole one, or several."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """The client's turn again: it has as long for the next request."""
        self._stop_waiting()
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        self._stop_waiting()
        self._watch()

    def _watch(self) -> None:
        """Wait for the client, from the first moment on that it is its turn; a byte is no turn."""
        whole = self.conn.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)
        answering = self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY)
        if whole and answering and not self.flow.write_paused:
            self._stop_waiting()
        elif self._patience is None and self in self.connections:
            self._patience = self.loop.call_later(
                REQUEST_SECONDS, self._end, f"no whole request within {REQUEST_SECONDS:g} s"
            )

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _make_room(self) -> None:
        idle = {
            one: one._patience.when()
            for one in self.connections
            if isinstance(one, BoundedConnection) and one._patience is not None
        }
        # Where the node is at work for all others, it is the new one that has to go.
        longest = min(idle, key=idle.__getitem__, default=self)
        longest._end(f"more than {self._most} connections")

    def _end(self, why: str) -> None:
        self._cut(why)
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()


LARGEST_BODY = 2**20
SECONDS_TO_STOP = 2
MOST_CLIENTS = 100
ACCEPTED_AT_ONCE = 8
"""asyncio accepts for a few turns before it shows the first: these come on top of the most."""
BACKLOG = 100
"""Those that the system holds until they are accepted; they take no descriptor."""

REFUSED = (HTTPException, SampleError, LocalProtocolError, StoreError, ClientDisconnect)
"""What is wrong with a request, or with the disk. All else is a fault of the node."""

# Without a handler of any kind, Python prints a library's warnings to standard error.
_NOWHERE = logging.NullHandler()


class Owned(Protocol):
    """A node, as its owner sees it."""

    @property
    def name(self) -> str:
        """Who it is among its neighbours."""

    @property
    def metrics(self) -> Metrics:
        """What it counts."""

    async def estimate(self) -> Answer:
        """The latest; a LocalProtocolError while there is no sample."""

    async def take(self, samples: Sequence[float], request: RequestId | None = None) -> None:
        """Take in all samples or none; returns once they are durable.

        Those of a `request` that came before are not taken in a second time.
        SampleError: a value is bad. StoreError: the disk fails. LocalProtocolError: this node takes
        no samples from outside.
        """

    def troubles(self) -> list[str]:
        """Why it is not ready, in words; empty if it is."""

    def status(self) -> Status:
        """Counts and words only, never a sample, a mean or an estimate."""


def owner_app(owned: Owned, token: str) -> ASGIApp:
    """The application; everything but OPEN and the page needs `Authorization: Bearer TOKEN`.

    The page, once its owner has shown the token, needs its session.
    """
    routes = _Routes(owned)
    sessions = Sessions(token)
    page = OwnerPage(sessions, logger(node=owned.name))
    app = Starlette(
        routes=[
            Route("/estimate", routes.estimate),
            Route("/samples", routes.samples, methods=["POST"]),
            Route("/status", routes.status),
            Route("/metrics", routes.metrics),
            Route("/livez", routes.livez),
            Route("/readyz", routes.readyz),
            *page.routes,
        ],
        middleware=[Middleware(Gate, token=token, sessions=sessions, unlocked=page.paths)],
        exception_handlers={
            **dict.fromkeys(REFUSED, _refused),
            Exception: routes.unforeseen,
        },
    )
    app.router.redirect_slashes = False
    return LocalOnly(app)  # Around all of it, what answers for a fault of the node included.


@dataclass(frozen=True, slots=True)
class _Routes:
    owned: Owned

    async def estimate(self, _request: Request) -> Response:
        answer = asdict(await self.owned.estimate())
        content = {name: _finite_or_none(value) for name, value in answer.items()}
        return JSONResponse(content)

    async def samples(self, request: Request) -> Response:
        with self._counting(Reason.OVERSIZED):
            body = await body_of(request, LARGEST_BODY)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        with self._counting(Reason.GARBAGE):
            values = lines_of(body) if kind == "text/plain" else json_of(body)
        with self._counting(Reason.INVALID_VALUE):
            samples = numbers(values)
            await self.owned.take(samples, request_of(request.headers.get(KEY), body))
        return JSONResponse({"taken": len(samples)})

    async def status(self, _request: Request) -> Response:
        return JSONResponse(asdict(self.owned.status()))

    async def metrics(self, _request: Request) -> Response:
        metrics = self.owned.metrics
        return Response(metrics.text(), headers={"Content-Type": metrics.content_type})

    async def livez(self, _request: Request) -> Response:
        return PlainTextResponse("ok")

    async def readyz(self, _request: Request) -> Response:
        troubles = self.owned.troubles()
        return PlainTextResponse("\n".join(troubles) or "ready", 503 if troubles else 200)

    async def unforeseen(self, request: Request, error: Exception) -> Response:
        # Where, but not the error's text: it may quote a sample.
        logger(node=self.owned.name).error(
            "an owner's request failed",
            path=request.url.path,
            kind=type(error).__name__,
            trace="".join(format_tb(error.__traceback__)),
        )
        return refusal("a fault of the node: see its log", 500)

    @contextmanager
    def _counting(self, reason: Reason) -> Iterator[None]:
        try:
            yield
        except (SampleError, HTTPException):
            self.owned.metrics.sample_refused(reason)
            raise


class OwnerServer:
    """Serves an owner in the running loop, from `start` to `stop`."""

    def __init__(self, owned: Owned, *, listen: str, token: str) -> None:
        self._listen = listen
        most = bearable(MOST_CLIENTS)
        log = logger(node=owned.name)
        # Signals, loop and logs are the node's: of uvicorn, only its startup and shutdown are used.
        self._server = uvicorn.Server(
            uvicorn.Config(
                owner_app(owned, token),
                http=partial(  # type: ignore[arg-type]  # all that uvicorn does is to call it
                    BoundedConnection,
                    most=most,
                    cut=lambda why: log.warning("an owner's connection was cut off", why=why),
                ),
                backlog=ACCEPTED_AT_ONCE,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                timeout_graceful_shutdown=SECONDS_TO_STOP,
            )
        )
        self._socket: socket.socket | None = None

    @property
    def port(self) -> int:
        """The port it listens at, also where 0 was asked for."""
        if self._socket is None:
            raise LocalProtocolError("owner", "a server that does not run", "start first")
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def page(self) -> str:
        """Where its owner can look at it with a browser."""
        host, _ = split_address(self._listen)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    async def start(self) -> None:
        """Bind and serve; a NetworkError if the address is taken."""
        host, port = split_address(self._listen)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            expected = f"a free port; choose another, or stop who has it ({error.strerror})"
            raise NetworkError("owner.listen", self._listen, expected) from None
        logging.getLogger("uvicorn").addHandler(_NOWHERE)
        config = self._server.config
        config.load()
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(sockets=[self._socket])
        self._socket.listen(BACKLOG)  # asyncio had it as small as what it accepts at once.

    async def stop(self) -> None:
        """Take no more requests, finish those under way, cut off who does not end in time."""
        if self._socket is None:
            return
        listening, self._socket = self._socket, None
        await self._server.shutdown(sockets=[listening])
        state = self._server.server_state
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=SECONDS_TO_STOP)
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # for the transports to close


def _finite_or_none(value: object) -> object:
    """JSON has no infinity."""
    return None if isinstance(value, float) and not isfinite(value) else value


async def _refused(_request: Request, error: Exception) -> Response:
    match error:
        case HTTPException():
            return refusal(error.detail, error.status_code, dict(error.headers or {}))
        case SampleError():
            return refusal(f"{error.field}: expected {error.expected}; nothing was taken in", 422)
        case LocalProtocolError():
            return refusal(str(error), 409)
        case StoreError():
            return refusal(str(error), 503)
        case _:
            return Response(status_code=400)  # nobody is there to read it
