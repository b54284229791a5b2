"""Who may ask what at the owner's side."""

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from time import monotonic

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from colme.node.config import is_loopback, split_address
from colme.pages.assets import HEADERS, is_own_origin

MOST = 16
"""At a time; one more ends the one that was silent longest."""
IDLE_SECONDS = 12 * 3600.0
"""Without a request, after which one has to log in again. A page that is open asks all the time."""


@dataclass(frozen=True, slots=True)
class Login:
    """Two secrets, since a browser sends a cookie to every port of a host.

    Whoever serves a page at another port of this machine is sent the cookie by the owner's browser;
    the key stays with the origin, port included, in the memory of one tab. Neither will do alone,
    and neither is the token.
    """

    cookie: str
    key: str


class Sessions:
    """Those who have shown the token at a node's page: a few, in memory, until they leave.

    `cookie_name` is its own: nodes at two ports of a host share a jar.
    """

    def __init__(self, token: str, *, clock: Callable[[], float] = monotonic) -> None:
        self._token = token.encode()
        self._clock = clock
        self._asked: dict[Login, float] = {}
        """When each has asked last; whoever has been silent longest is the first."""
        digest = sha256(b"colme: the name of a cookie\0" + self._token).hexdigest()
        self.cookie_name = f"colme-{digest[:12]}"

    def begin(self, token: str) -> Login | None:
        """A new session for who has the token, always; None for who does not.

        A wrong try costs a comparison and is not counted: a token can't be guessed, and to lock
        others out after some tries would be to lock the owner out.
        """
        if not compare_digest(token.encode("utf-8", "replace"), self._token):
            return None
        if len(self._asked) >= MOST:
            del self._asked[next(iter(self._asked))]
        session = Login(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        self._asked[session] = self._clock()
        return session

    def find(self, headers: dict[bytes, bytes]) -> Login | None:
        """Whose a request is that has both secrets; None if it is nobody's any more."""
        now = self._clock()
        given = list(self._cookies(headers.get(b"cookie", b"")))
        key = headers.get(b"x-colme-key", b"")
        for session, asked in list(self._asked.items()):
            if now - asked > IDLE_SECONDS:
                del self._asked[session]
            elif compare_digest(key, session.key.encode()) and any(
                compare_digest(cookie, session.cookie.encode()) for cookie in given
            ):
                del self._asked[session]  # to be put at the end
                self._asked[session] = now
                return session
        return None

    def end(self, session: Login) -> None:
        """It is logged out."""
        self._asked.pop(session, None)

    def _cookies(self, header: bytes) -> list[bytes]:
        """All of this node's name: another port may have set one of the same, in front of it."""
        pairs = (part.strip().partition(b"=") for part in header.split(b";"))
        return [value for name, _, value in pairs if name == self.cookie_name.encode()]


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
