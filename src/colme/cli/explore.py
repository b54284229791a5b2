"""`colme explore`: a page in the browser, on this machine alone."""

import sys
import webbrowser
from os import environ
from typing import Annotated

import typer

PORT = 8711
"""The same every day, so that links go on working."""


def explore(
    port: Annotated[
        int, typer.Option(help="Port on loopback; 0: any free port.", min=0, max=65535)
    ] = PORT,
    wanted: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Serve a page with sliders, curves and a network of real agents to play with.

    Only this machine can open it, and it needs no network. Ctrl-C ends it.
    """
    from colme.explore.server import ExplorerServer

    server = ExplorerServer(port)
    typer.echo(f"Open {server.address} in a browser on this machine. Ctrl-C ends it.")
    if wanted and not open_page(server.address):
        typer.echo("colme: found no browser. Open the address yourself.", err=True)
    server.run()


def open_page(address: str) -> bool:
    """Open a page in the browser of a desktop; return whether there is one.

    Without a desktop it would be a browser in the terminal, which draws over what the command
    prints and does not return.
    """
    desktop = sys.platform in ("darwin", "win32") or any(
        environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return desktop and webbrowser.open(address)
