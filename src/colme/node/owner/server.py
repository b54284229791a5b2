"""The owner's side of a node: HTTP on loopback, behind a token."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from math import isfinite
from traceback import format_tb

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from colme.errors import ColmeError, LocalProtocolError, NetworkError, SampleError, StoreError
from colme.node.config import split_address
from colme.node.files import bearable
from colme.node.log import logger
from colme.node.owner.answer import Owned
from colme.node.owner.bodies import json_of, lines_of, numbers
from colme.node.owner.connection import BoundedConnection
from colme.node.owner.gate import Gate, LocalOnly, refusal
from colme.node.owner.page import OwnerPage
from colme.node.owner.sessions import Sessions
from colme.node.wire.codec import Reason

LARGEST_BODY = 2**20
SECONDS_TO_STOP = 2
MOST_CLIENTS = 100
ACCEPTED_AT_ONCE = 8
"""asyncio accepts for a few turns before it shows the first: these come on top of the most."""
BACKLOG = 100
"""Those that the system holds until they are accepted; they take no descriptor."""

# Without a handler of any kind, Python prints a library's warnings to standard error.
_NOWHERE = logging.NullHandler()


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
            HTTPException: _refused,
            SampleError: _bad_sample,
            LocalProtocolError: _not_now,
            StoreError: _disk_fails,
            ClientDisconnect: _gone,
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
        body = await self._body_of(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        with self._counting(Reason.GARBAGE):
            values = lines_of(body) if kind == "text/plain" else json_of(body)
        with self._counting(Reason.INVALID_VALUE):
            samples = numbers(values)
        await self.owned.take(samples)
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

    async def _body_of(self, request: Request) -> bytes:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                self.owned.metrics.sample_refused(Reason.OVERSIZED)
                raise HTTPException(413, f"body: expected at most {LARGEST_BODY} bytes")
        return bytes(body)

    @contextmanager
    def _counting(self, reason: Reason) -> Iterator[None]:
        try:
            yield
        except SampleError:
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
    assert isinstance(error, HTTPException)
    return refusal(error.detail, error.status_code, dict(error.headers or {}))


async def _bad_sample(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ColmeError)
    return refusal(f"{error.field}: expected {error.expected}; nothing was taken in", 422)


async def _not_now(_request: Request, error: Exception) -> Response:
    return refusal(str(error), 409)


async def _disk_fails(_request: Request, error: Exception) -> Response:
    return refusal(str(error), 503)


async def _gone(_request: Request, _error_: Exception) -> Response:
    return Response(status_code=400)  # nobody is there to read it
