"""Files that pages are made of: style, scripts, and the libraries that are not ours."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from colme.errors import InvalidValue, one_of

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
    return {name: Asset(name, content) for name, content in _walk(files(room), "")}


def asset(name: str, room: str = "colme.pages") -> Asset:
    """One of them."""
    found = assets(room)
    if name not in found:
        raise InvalidValue("asset", name, one_of(name, list(found)))
    return found[name]


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif PurePosixPath(entry.name).suffix in MEDIA_TYPES:
            yield f"{prefix}{entry.name}", entry.read_bytes()
