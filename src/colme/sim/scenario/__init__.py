"""Everything that a simulation depends on."""

from colme.sim.scenario.algorithms import NAMES
from colme.sim.scenario.distributions import Shape
from colme.sim.scenario.scenario import Scenario

__all__ = ["NAMES", "Scenario", "Shape"]
