"""Files that pages are made of: style, scripts, and the libraries that are not ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath

from colme.errors import InvalidValue, one_of

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


def is_own_origin(origin: str | None, host: str | None) -> bool:
    """Whether a WebSocket was opened by a page of the very server it was opened to.

    Browsers let any page open one anywhere, but say whose page it is.
    """
    return origin is not None and host is not None and origin == f"http://{host}"


MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Of what a page may be made of; nothing else is served."""

STYLES = ("vendored/uplot/uPlot.min.css", "components/style.css")
"""Of every page, in this order."""
CHARTS = ("vendored/uplot/uPlot.iife.min.js", "components/chart.js")
"""Scripts of a page with curves, in this order."""
FORCES = tuple(
    f"vendored/d3/d3-{part}.min.js" for part in ("dispatch", "quadtree", "timer", "force")
)
"""Scripts of a page that lays out a graph, in this order."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of a page."""

    name: str
    content: bytes

    @property
    def media_type(self) -> str:
        """As a browser is told."""
        return MEDIA_TYPES[PurePosixPath(self.name).suffix]

    @property
    def text(self) -> str:
        """Of its content: to put it into a page that is one file."""
        return self.content.decode()


@cache
def assets(room: str = "colme.pages") -> dict[str, Asset]:
    """All files of pages in a package, by their path in it: a name that is not there leads nowhere.

    So a path of a request is looked up, never opened.
    """
    folder = Path(str(files(room)))
    found = [path for path in folder.rglob("*") if path.suffix in MEDIA_TYPES]
    names = [path.relative_to(folder).as_posix() for path in found]
    return {name: Asset(name, path.read_bytes()) for name, path in zip(names, found, strict=True)}


def asset(name: str) -> Asset:
    """Return a file of the pages that come with the package."""
    found = assets()
    if name not in found:
        raise InvalidValue("asset", name, one_of(name, list(found)))
    return found[name]
