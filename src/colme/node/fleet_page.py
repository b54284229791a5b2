"""A page over all nodes of a fleet, served on loopback while it runs.

It needs no token: a fleet's data are made up, and its nodes take no others.
"""

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from threading import Thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from colme.node.fleet import Member, Plan, ask
from colme.node.owner.gate import LocalOnly
from colme.node.owner.page import page_routes
from colme.pages.assets import CHARTS, STYLES

FLEET_SHELL = "fleet/page.html"
FLEET_PARTS = (*STYLES, *CHARTS, "components/elements.js", "owner/page.css", "fleet/page.js")
AT_ONCE = 4
"""Nodes that are asked at the same time: they compute, on the machine that they share."""
GRACE_SECONDS = 2


class FleetPage:
    """Serves the page from entering the block to leaving it, in a thread of its own."""

    def __init__(self, plan: Plan, members: Sequence[Member]) -> None:
        self._plan = plan
        self._members = members
        routes = [*page_routes(FLEET_SHELL, FLEET_PARTS), Route("/fleet", self._look)]
        self._server = uvicorn.Server(
            uvicorn.Config(
                LocalOnly(Starlette(routes=routes)),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._socket = socket.create_server(("127.0.0.1", 0))
        # A daemon: whatever ends the command, a page that is still asked must not hold it up.
        self._thread = Thread(target=self._server.run, args=([self._socket],), daemon=True)

    @property
    def address(self) -> str:
        """For a browser on this machine."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/"

    def __enter__(self) -> "FleetPage":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(2 * GRACE_SECONDS)
        self._socket.close()

    def _look(self, _request: Request) -> JSONResponse:
        """What the page shows: the plan, and of every node what its owner would see."""
        plan = asdict(self._plan)
        plan["epsilon"] = f"{self._plan.epsilon:g}"  # JSON has no infinity.
        with ThreadPoolExecutor(AT_ONCE) as at_once:
            nodes = list(at_once.map(_seen, self._members))
        return JSONResponse({"plan": plan, "nodes": nodes})


def _seen(member: Member) -> dict[str, Any]:
    assert member.config.owner is not None
    sight = ask(member, at_rest=True)
    return {
        "name": member.name,
        "page": f"http://{member.config.owner.listen}/",
        "truth": member.truth,
        "status": None if sight.status is None else asdict(sight.status),
        "estimate": sight.estimate,
    }
