"""Everything that a simulation depends on."""

from colme.sim.scenario.scenario import NAMES, AnyAlgorithm, Epsilon, Scenario

__all__ = ["NAMES", "AnyAlgorithm", "Epsilon", "Scenario"]
