"""colme: agents learn their own means faster together than alone, privately, with no server."""

from typing import TYPE_CHECKING, Any

from colme.graph import Graph
from colme.privacy.mechanism import SecureLaplace, SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.network import Network
from colme.protocol.rounds.paper import Paper
from colme.protocol.rounds.tracking import Tracking
from colme.protocol.settings import Settings
from colme.rules.decision import (
    Bernstein,
    DecisionRule,
    OptimisticDistance,
    Oracle,
    PowerTheta,
    ThresholdRule,
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
    "DecisionRule",
    "Graph",
    "Network",
    "Node",
    "OptimisticDistance",
    "Oracle",
    "Paper",
    "PowerTheta",
    "Profile",
    "Prospect",
    "Release",
    "SecureLaplace",
    "SeededLaplace",
    "Settings",
    "ThresholdRule",
    "TightBernstein",
    "Tracking",
    "paper_theta",
]


def __getattr__(name: str) -> Any:
    """`colme.Node`, imported when it is asked for: only it needs the packages of a node."""
    if name == "Node":
        from colme.node.node import Node

        return Node
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
