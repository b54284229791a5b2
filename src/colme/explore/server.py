"""The explorer's server: a page and a socket, on loopback, for pages of its own alone."""

import asyncio
import json
import socket
from contextlib import suppress
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from colme.config import validated
from colme.errors import ColmeError, ConfigError
from colme.explore.choices import Choices, as_toml, fitted
from colme.explore.session import Session
from colme.node.owner.gate import LocalOnly
from colme.pages.assets import Asset, assets, is_own_origin

HOST = "127.0.0.1"
LARGEST_MESSAGE = 2**14
MOST_PAGES = 8
"""Open at once: each of them computes."""
SECONDS_TO_STOP = 5
"""For what a page asked for last."""

PAGE = "colme.explore"
"""The package that has the page's own files, in a folder `page`."""


def explorer() -> ASGIApp:
    """Return the application, for a server on loopback."""
    routes = _Routes()
    pages = Starlette(
        routes=[
            Route("/", routes.page),
            Route("/scenario.toml", routes.scenario),
            Route("/{name:path}", routes.asset),
            WebSocketRoute("/socket", routes.socket),
        ]
    )
    return LocalOnly(pages)  # Around all of it, pages that do not exist included.


class _Routes:
    def __init__(self) -> None:
        self._open = 0

    async def page(self, _request: Request) -> Response:
        return _file(assets(PAGE)["page/index.html"])

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = assets().get(name) or assets(PAGE).get(name)
        return _file(found) if found else PlainTextResponse("there is no such file", 404)

    async def scenario(self, request: Request) -> Response:
        """The choices of a link as a scenario."""
        try:
            asked = dict(parse_qsl(request.url.query, keep_blank_values=True))
            content = as_toml(fitted(validated(Choices, asked)).choices)
        except ColmeError as error:
            return PlainTextResponse(str(error), 422)
        named = {"Content-Disposition": 'attachment; filename="scenario.toml"'}
        return Response(content, headers=named, media_type="application/toml")

    async def socket(self, socket: WebSocket) -> None:
        """One page of this server, for as long as it is open."""
        if not is_own_origin(socket.headers.get("origin"), socket.headers.get("host")):
            await socket.close(1008)
            return
        await socket.accept()
        if self._open >= MOST_PAGES:
            words = f"{MOST_PAGES} pages are open already: close one, then load this anew"
            await socket.send_json({"type": "refused", "words": words})
            await socket.close()
            return
        self._open += 1
        session = Session()
        teller = asyncio.create_task(_tell(socket, session))
        try:
            while True:
                await session.take(_parsed(await socket.receive_text()))
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes, where text was expected
            pass
        finally:
            self._open -= 1
            teller.cancel()
            session.close()


async def _tell(socket: WebSocket, session: Session) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # The page has gone.
        while True:
            await socket.send_json(await session.shown.get())


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _file(found: Asset) -> Response:
    return Response(found.content, headers={"Content-Type": found.media_type})


class ExplorerServer:
    """Bound when it is made, so that its address is known; `run` serves until it is interrupted."""

    def __init__(self, port: int) -> None:
        try:
            self._socket = socket.create_server((HOST, port))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            expected = f"a free port ({why}): another one, or 0 for any"
            raise ConfigError("port", port, expected) from None
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            explorer(),
            ws=WebSocketsSansIOProtocol,  # by its class: a missing package shows at the start
            ws_max_size=LARGEST_MESSAGE,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=SECONDS_TO_STOP,
        )
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """For a browser."""
        return f"http://{HOST}:{self.port}/"

    def run(self) -> None:
        """Serve; an interruption ends it."""
        with suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True
