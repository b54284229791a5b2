"""Who may ask what at the owner's side."""

from collections.abc import Collection
from hmac import compare_digest

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from colme.node.config import is_loopback, split_address
from colme.node.owner.sessions import Sessions
from colme.pages.assets import HEADERS, is_own_origin

OPEN = ("/livez", "/readyz")
"""What a supervisor asks without a token; it tells nothing of the data."""

SHOWN = ("/estimate", "/status")
"""What the page asks with its session: it reads, and there is nothing that it could write to."""


def refusal(text: str, code: int, headers: dict[str, str] | None = None) -> Response:
    """An error, in the shape that they all have."""
    return JSONResponse({"error": text}, code, headers)


class LocalOnly:
    """Lets in whoever asked for this machine, and tells browsers to keep others out.

    A page of another site can have its name lead here, and a browser would take both for one site;
    it asks by that name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *said]
            await send(message)

        headers = dict(scope["headers"])
        if _is_of_this_machine(headers.get(b"host", b"").decode("latin-1")):
            await self._app(scope, receive, guarded)
        else:
            expected = "Host: expected localhost or a loopback address, such as 127.0.0.1"
            await refusal(expected, 421)(scope, receive, guarded)


class Gate:
    """Lets in those with the token, and the page of one who has shown it to what it shows."""

    def __init__(
        self, app: ASGIApp, token: str, sessions: Sessions, unlocked: Collection[str]
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._sessions = sessions
        self._unlocked = unlocked
        """Paths of the page itself, which is the same for everybody and knows nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request for this machine."""
        headers = dict(scope["headers"])
        path = scope["path"]
        if path in OPEN or path in self._unlocked or self._admits(headers, scope):
            await self._app(scope, receive, send)
        else:
            expected = "Authorization: expected Bearer and the token of the node's state folder"
            response = refusal(expected, 401, {"WWW-Authenticate": 'Bearer realm="colme"'})
            await response(scope, receive, send)

    def _admits(self, headers: dict[bytes, bytes], scope: Scope) -> bool:
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer":
            return compare_digest(given.strip(), self._token)
        return (
            scope["path"] in SHOWN
            and scope["method"] in ("GET", "HEAD")
            and is_of_the_page(headers)
            and self._sessions.find(headers) is not None
        )


def is_of_the_page(headers: dict[bytes, bytes]) -> bool:
    """Whether a browser, if it is one that asks, asks for a page of this very origin.

    A page at another port of this machine is of the same *site*, and the cookie goes with it.
    """
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        return False
    if b"origin" not in headers:
        return True
    origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
    return is_own_origin(origin.lower(), host.lower())


def _is_of_this_machine(host: str) -> bool:
    """Whether a Host header has a name that leads here for everybody, with or without a port."""
    for address in (host, f"{host}:80"):
        try:
            return is_loopback(split_address(address)[0])
        except ValueError:
            continue
    return False
