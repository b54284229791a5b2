"""colme: agents learn their own means faster together than alone, privately, with no server."""

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

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Bernstein",
    "Graph",
    "Network",
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
