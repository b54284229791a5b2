"""Everything that a simulation depends on."""

from colme.sim.scenario.algorithms import NAMES, AnyAlgorithm
from colme.sim.scenario.liars import Lying
from colme.sim.scenario.scenario import Scenario

__all__ = ["NAMES", "AnyAlgorithm", "Lying", "Scenario"]
