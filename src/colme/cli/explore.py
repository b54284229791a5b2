"""`colme explore`: a page in the browser, on this machine alone."""

import webbrowser
from threading import Thread
from typing import Annotated

import typer

from colme.explore.server import ExplorerServer

PORT = 8711
"""If none is given, so that links go on working from one day to the next."""


def explore(
    port: Annotated[
        int, typer.Option(help="Of loopback; 0 takes any that is free.", min=0, max=65535)
    ] = PORT,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Play with it in a browser: sliders, curves as they come, a network of real agents.

    Served on loopback, to this machine alone; needs no network. Ctrl-C ends it.
    """
    server = ExplorerServer(port)
    typer.echo(f"Open {server.address} in a browser on this machine. Ctrl-C ends it.")
    if open_page:
        # In a thread: a browser in the terminal would not return.
        Thread(target=_open, args=(server.address,), daemon=True).start()
    server.run()


def _open(address: str) -> None:
    if not webbrowser.open(address):
        typer.echo("colme: there is no browser to open here: open the address yourself", err=True)
