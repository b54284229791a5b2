"""The agent's rounds: when they begin, what goes into them, and that it is stored first."""

from colme.node.rounds.driver import Driver
from colme.node.rounds.pacing import Pacing, make_pacing

__all__ = ["Driver", "Pacing", "make_pacing"]
