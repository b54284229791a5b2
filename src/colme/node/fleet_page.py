"""A page over all nodes of a fleet, served on loopback while it runs.

It needs no token: a fleet's data are made up, and its nodes take no others.
"""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from threading import Thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from colme.errors import NodeError
from colme.node.fleet import Member, Plan
from colme.node.owner.client import OwnerClient
from colme.node.owner.gate import LocalOnly
from colme.node.owner.page import page_routes
from colme.pages.assets import CHARTS, STYLES

FLEET_SHELL = "fleet/page.html"
FLEET_PARTS = (*STYLES, *CHARTS, "components/elements.js", "owner/page.css", "fleet/page.js")
AT_ONCE = 4
"""Nodes that are asked at the same time: they compute, on the machine that they share."""
GRACE_SECONDS = 2


@dataclass
class _Looking:
    """Asks every node's owner's side, when the page asks."""

    plan: Plan
    members: Sequence[Member]
    _clients: dict[str, OwnerClient] = field(default_factory=dict)

    async def all(self, _request: Request) -> JSONResponse:
        """What the page shows: the plan, and of every node what its owner would see."""
        at_once = asyncio.Semaphore(AT_ONCE)

        async def one(member: Member) -> dict[str, Any]:
            async with at_once:
                return await asyncio.to_thread(self._look_at, member)

        plan = asdict(self.plan)
        plan["epsilon"] = f"{self.plan.epsilon:g}"  # JSON has no infinity.
        nodes = await asyncio.gather(*(one(member) for member in self.members))
        return JSONResponse({"plan": plan, "nodes": nodes})

    def _look_at(self, member: Member) -> dict[str, Any]:
        assert member.config.owner is not None
        told: dict[str, Any] = {
            "name": member.name,
            "page": f"http://{member.config.owner.listen}/",
            "truth": member.truth,
            "status": None,
            "estimate": None,
        }
        try:
            client = self._clients.get(member.name) or OwnerClient(member.config)
            self._clients[member.name] = client
            told["status"] = asdict(client.status())
            told["estimate"] = client.estimate()
        except NodeError:  # It is starting, or over: the page says that it is silent.
            pass
        return told


class FleetPage:
    """Serves the page from entering the block to leaving it, in a thread of its own."""

    def __init__(self, plan: Plan, members: Sequence[Member]) -> None:
        looking = _Looking(plan, members)
        routes = [*page_routes(FLEET_SHELL, FLEET_PARTS), Route("/fleet", looking.all)]
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
        self._thread = Thread(target=self._serve, daemon=True)

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

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))
