"""What a browser may do with a page of ours, and whom a server on loopback listens to."""

from collections.abc import Mapping
from urllib.parse import urlsplit

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data: blob:",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
"""Nothing inline, nothing from elsewhere: text that somebody slipped in can't run."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer."""

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def is_own_host(host: str | None, port: int) -> bool:
    """Whether a request's Host header names this server on loopback.

    A page of elsewhere whose name was made to lead here (DNS rebinding) brings its own name.
    """
    if not host:
        return False
    try:
        parts = urlsplit(f"//{host}")
        found = parts.hostname, parts.port or 80
    except ValueError:  # a port that is no number
        return False
    return parts.netloc == host and found[0] in _LOOPBACK and found[1] == port


def is_own_origin(origin: str | None, host: str | None) -> bool:
    """Whether a WebSocket was opened by a page of the very server it was opened to.

    Browsers let any page open one anywhere, but say whose page it is.
    """
    return origin is not None and host is not None and origin == f"http://{host}"
