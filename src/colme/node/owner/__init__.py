"""The owner's side of a node: what it answers over loopback, and how to ask."""

from typing import TYPE_CHECKING

from colme.node.later import when_asked
from colme.node.owner.status import NeighbourStatus, SampleCounts, Status
from colme.node.owner.token import owner_token, read_token

if TYPE_CHECKING:
    from colme.node.owner.answer import Answer, Owned
    from colme.node.owner.answering import Answering
    from colme.node.owner.client import OwnerClient
    from colme.node.owner.gate import LocalOnly
    from colme.node.owner.page import page_routes
    from colme.node.owner.server import OwnerServer
else:  # To ask a node no server is needed, and to answer no client.
    __getattr__ = when_asked(
        __name__,
        answer=("Answer", "Owned"),
        answering=("Answering",),
        client=("OwnerClient",),
        gate=("LocalOnly",),
        page=("page_routes",),
        server=("OwnerServer",),
    )

__all__ = [
    "Answer",
    "Answering",
    "LocalOnly",
    "NeighbourStatus",
    "Owned",
    "OwnerClient",
    "OwnerServer",
    "SampleCounts",
    "Status",
    "owner_token",
    "page_routes",
    "read_token",
]
