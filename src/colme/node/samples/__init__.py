"""Where a node's samples come from."""

from colme.node.samples.feeds import Feed, Synthetic, make_feed, make_noise

__all__ = ["Feed", "Synthetic", "make_feed", "make_noise"]
