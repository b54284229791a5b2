"""A page in the browser of whoever typed the command, if there is one to see it in."""

import sys
import webbrowser
from os import environ


def open_page(address: str) -> None:
    """On a desktop. Elsewhere a browser in the terminal would draw over what the command says."""
    desktop = sys.platform in ("darwin", "win32") or any(
        environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if desktop and sys.stderr.isatty():
        webbrowser.open(address)
