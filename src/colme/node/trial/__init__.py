"""Trials on one machine: a fleet of real nodes on made-up data, and what a node costs."""

from typing import TYPE_CHECKING

from colme.node.later import when_asked
from colme.node.trial.fleet import (
    CONFIG,
    LOG,
    Fleet,
    Member,
    Outcome,
    Plan,
    Sight,
    outcome,
    prepare,
)

if TYPE_CHECKING:
    from colme.node.trial.speed import NodeSpeed, measure
    from colme.node.trial.watching import FleetPage
else:  # They need gRPC, SQLite or a server; a fleet's nodes are processes of their own.
    __getattr__ = when_asked(__name__, speed=("NodeSpeed", "measure"), watching=("FleetPage",))

__all__ = [
    "CONFIG",
    "LOG",
    "Fleet",
    "FleetPage",
    "Member",
    "NodeSpeed",
    "Outcome",
    "Plan",
    "Sight",
    "measure",
    "outcome",
    "prepare",
]
