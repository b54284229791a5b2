"""Everything that a simulation depends on."""

from colme.sim.scenario.scenario import NAMES, AnyAlgorithm, Scenario

__all__ = ["NAMES", "AnyAlgorithm", "Scenario"]
