"""Scenarios that have a name, and the studies behind each figure: a module for each."""

from colme.sim.figures.comparison import GALANTES
from colme.sim.figures.figure1 import PAPER

PRESETS = {"paper": PAPER}
"""Scenarios by name."""

__all__ = ["GALANTES", "PAPER", "PRESETS"]
