"""The owner's page: a form for the token, and what `/estimate` and `/status` say, to look at."""

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from structlog.typing import FilteringBoundLogger

from colme.node.owner.gate import Sessions, is_of_the_page
from colme.pages.assets import CHARTS, STYLES, asset

SHELL = "owner/page.html"
PARTS = (*STYLES, *CHARTS, "components/elements.js", "owner/page.css", "owner/page.js")
"""Files of the page. They are the same for everybody, and know nothing."""
LARGEST_FORM = 4096
WRONG = "token: expected what is in the file `token` of the node's state folder"


class OwnerPage:
    """Its files, and who comes and goes."""

    def __init__(self, sessions: Sessions, log: FilteringBoundLogger) -> None:
        self._sessions = sessions
        self._log = log
        self.routes = [
            *page_routes(SHELL, PARTS),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
        ]
        self.paths = frozenset(route.path for route in self.routes)

    async def _login(self, request: Request) -> Response:
        if not is_of_the_page(dict(request.scope["headers"])):
            raise HTTPException(403, "Origin: expected the page of this node")
        session = self._sessions.begin(await _token_of(request))
        if session is None:
            self._log.warning("a login at the page was refused", why="a wrong token")
            raise HTTPException(403, WRONG)
        self._log.info("the owner logged in at the page")
        response = JSONResponse({"key": session.key})
        # Not `secure`: a loopback address has no certificate, and no wire that one would protect.
        name = self._sessions.cookie_name
        response.set_cookie(name, session.cookie, httponly=True, samesite="strict")
        return response

    async def _logout(self, request: Request) -> Response:
        headers = dict(request.scope["headers"])
        session = self._sessions.find(headers) if is_of_the_page(headers) else None
        if session is None:
            raise HTTPException(401, "Cookie: expected that of a session that lasts")
        self._sessions.end(session)
        response = JSONResponse({})
        response.delete_cookie(self._sessions.cookie_name, httponly=True, samesite="strict")
        return response


def page_routes(shell: str, parts: Sequence[str]) -> list[Route]:
    """A page at `/`, and what it is made of: these files of the package, and no others."""
    return [
        Route("/", _serving(shell)),
        *(Route(f"/page/{name}", _serving(name)) for name in parts),
    ]


def _serving(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(_request: Request) -> Response:
        found = asset(name)
        return Response(found.content, headers={"Content-Type": found.media_type})

    return serve


async def body_of(request: Request, most: int) -> bytes:
    """Return a whole body; one that is larger is not even held."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise HTTPException(413, f"body: expected at most {most} bytes")
    return bytes(body)


async def _token_of(request: Request) -> str:
    """Of a form; never of the address, which browsers and logs remember."""
    body = await body_of(request, LARGEST_FORM)
    try:
        fields = parse_qs(body.decode(), max_num_fields=2)
    except ValueError:
        fields = {}
    return fields.get("token", [""])[0].strip()
