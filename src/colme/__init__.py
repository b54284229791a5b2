"""colme: agents learn their own means faster together than alone, privately, with no server."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from colme.graph import Graph
from colme.inference.answer import Own, Posterior, posterior
from colme.network import Network
from colme.privacy.mechanism import SecureLaplace, SeededLaplace
from colme.protocol.agent import Agent
from colme.protocol.rounds.paper import Paper
from colme.protocol.rounds.tracking import Tracking
from colme.protocol.settings import Settings
from colme.relay import Relay
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
    from colme.sim.scenario import Scenario
    from colme.sim.study import simulate
    from colme.studies import study

__version__ = "0.2.0"

__all__ = [
    "Agent",
    "Bernstein",
    "DecisionRule",
    "Graph",
    "Network",
    "Node",
    "OptimisticDistance",
    "Oracle",
    "Own",
    "Paper",
    "Posterior",
    "PowerTheta",
    "Profile",
    "Prospect",
    "Relay",
    "Release",
    "Scenario",
    "SecureLaplace",
    "SeededLaplace",
    "Settings",
    "ThresholdRule",
    "TightBernstein",
    "Tracking",
    "paper_theta",
    "posterior",
    "simulate",
    "study",
]


_LATER = {
    "Node": "colme.node.node",
    "Scenario": "colme.sim.scenario",
    "simulate": "colme.sim.study",
    "study": "colme.studies",
}
"""Imported when they are asked for: only they need the packages of a node, or of the simulator."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
