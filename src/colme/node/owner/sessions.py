"""Who has shown the token at the page: a few at a time, in memory, until they leave."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from time import monotonic

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
    """Of one node. `cookie_name` is its own: nodes at two ports of a host share a jar."""

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
