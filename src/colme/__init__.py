"""colme: agents learn their own means faster together than alone, privately, with no server."""

__version__ = "0.1.0"
