"""A page to play with: sliders, curves as they are computed, and a network of real agents."""

from colme.explore.choices import Choices, as_toml, fitted
from colme.explore.server import ExplorerServer

__all__ = ["Choices", "ExplorerServer", "as_toml", "fitted"]
