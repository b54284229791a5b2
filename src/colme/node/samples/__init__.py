"""Where a node's samples come from."""

from colme.node.samples.sources import Source, SyntheticSource, make_noise, make_source

__all__ = ["Source", "SyntheticSource", "make_noise", "make_source"]
