"""A page to play with: sliders, curves as they are computed, and a network of real agents."""

from colme.explore.choices import Choices, fitted
from colme.explore.export import as_toml
from colme.explore.server import ExplorerServer

__all__ = ["Choices", "ExplorerServer", "as_toml", "fitted"]
