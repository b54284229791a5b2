"""Everything that a simulation depends on."""

from colme.sim.scenario.algorithms import NAMES, AnyAlgorithm
from colme.sim.scenario.fields import described
from colme.sim.scenario.legacy import label_of_today
from colme.sim.scenario.liars import Lying
from colme.sim.scenario.scenario import Scenario

__all__ = ["NAMES", "AnyAlgorithm", "Lying", "Scenario", "described", "label_of_today"]
