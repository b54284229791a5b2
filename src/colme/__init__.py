"""colme: agents learn their own means faster together than alone, privately, with no server."""

from typing import TYPE_CHECKING, Any

from colme.graph import Graph
from colme.privacy.mechanism import SecureLaplace, SeededLaplace
from colme.protocol.agent import Agent, Settings
from colme.protocol.network import Network
from colme.rules.decision import (
    Bernstein,
    OptimisticDistance,
    Oracle,
    PowerTheta,
    TightBernstein,
    paper_theta,
)
from colme.rules.release import Profile, Release
from colme.theory import Prospect

if TYPE_CHECKING:
    from colme.node.node import Node

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Bernstein",
    "Graph",
    "Network",
    "Node",
    "OptimisticDistance",
    "Oracle",
    "PowerTheta",
    "Profile",
    "Prospect",
    "Release",
    "SecureLaplace",
    "SeededLaplace",
    "Settings",
    "TightBernstein",
    "paper_theta",
]


def __getattr__(name: str) -> Any:
    """`colme.Node`, imported when it is asked for: only it needs the packages of a node."""
    if name == "Node":
        from colme.node.node import Node

        return Node
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
